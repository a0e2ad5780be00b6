"""A Keras that differs inside costs what it hides, not the training."""

from __future__ import annotations

import warnings
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.tracing.layer_tracker import layer_paths
from tensortap.capture.watching.watch import Watch


def take_away(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    for each in owner.__mro__:
        if name in vars(each):  # a tap before has left it in a class that inherits it
            monkeypatch.delattr(each, name)


def test_nothing_is_missing_here(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tap(tmp_path / "r").close()


@pytest.mark.parametrize("name", ["apply", "_flatten_layers"])
def test_what_is_not_captured_is_reported_and_functions_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    owner = next(each for each in (keras.optimizers.Optimizer, keras.layers.Layer) if hasattr(each, name))
    kept = {"apply": "gradients and updates by optimizers", "_flatten_layers": "functions traced"}
    model = mlp()
    take_away(monkeypatch, owner, name)
    with pytest.warns(
        TapWarning, match=rf"with Keras {keras.__version__} .*{kept[name]}.*\.{name}\. Train"
    ) as reported:
        tap = Tap(tmp_path / "r", Watch(steps=1))
    assert len(reported) == 1
    assert tap.function(lambda x: tf.add(x, 1.0, name="more"))(tf.constant(1.0)) == 2.0
    tap.close()
    assert "more:0" in Dumped(tmp_path / "r").names
    assert layer_paths(model)[0] == "mlp"


def test_training_goes_on_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch, keras.Model, "make_predict_function")
    with pytest.warns(TapWarning, match="batches of predict are not captured"):
        tap = Tap(tmp_path / "r", Watch(kinds="loss", steps=1))
    x, y = data(batches=2)
    mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    tap.close()
    assert Dumped(tmp_path / "r").steps == [0, 1]
