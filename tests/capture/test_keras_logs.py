"""Loss, metrics and learning rate of a training, as Keras logs them."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np

import tensortap
from tensortap.index.logdir_index import LogIndex
from tensortap.index.series.training_logs import training_logs


def train(folder: Path, *, factor: float = 1.0) -> None:
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    x = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32) * factor
    with tensortap.Tap(folder, watch=tensortap.Watch(steps=tensortap.every(1))) as tap:
        callbacks = [tap.callback()]
        model.fit(x, x[:, :1], batch_size=8, epochs=2, validation_split=0.2, callbacks=callbacks, verbose=0)


def test_a_fit_notes_loss_metrics_and_learning_rate_of_each_captured_step(tmp_path: Path) -> None:
    train(tmp_path / "r")
    log = LogIndex(tmp_path)
    log.refresh()
    found = training_logs(log.runs[0])
    assert [row.step for row in found.rows] == list(range(8))
    assert [row.epoch for row in found.rows] == [0] * 4 + [1] * 4
    assert set(found.names) == {"loss", "mae", "learning_rate"}
    np.testing.assert_allclose(found.column("learning_rate"), 0.01, rtol=1e-6)
    assert [(logs.epoch, logs.step) for logs in found.epochs] == [(0, 3), (1, 7)]
    assert all("val_loss" in logs.values for logs in found.epochs)


def test_a_loss_that_is_not_finite_is_noted(tmp_path: Path) -> None:
    train(tmp_path / "r", factor=1e30)
    (file,) = (tmp_path / "r").glob("*/events-*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert "nan" in [line["values"]["loss"] for line in lines if line["kind"] == "logs"]
    log = LogIndex(tmp_path)
    log.refresh()
    assert np.isnan(training_logs(log.runs[0], limit=2).column("loss")).any()
