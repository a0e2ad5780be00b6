"""The examples of docs/capture.md run as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from documents import python_of
from small_models import BATCH, data, mlp

import tensortap
from tensortap.__main__ import main


def test_triggers_samples_and_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = python_of("capture.md")
    assert len(examples) == 4
    x, y = data(batches=4)
    x[2 * BATCH] = np.nan
    files = np.array([f"part-{n // BATCH}.csv" for n in range(len(x))])
    samples = {"id": np.arange(len(x)), "file": files, "x": x, "y": y}
    dataset = tf.data.Dataset.from_tensor_slices(samples).batch(BATCH)
    names: dict[str, Any] = {"tensortap": tensortap, "model": mlp(), "x": x, "y": y, "dataset": dataset}

    for word in ("logs/baseline", "from_json", "FlightRecorder", "trace_batches"):
        (example,) = [example for example in examples if word in example]
        if word == "trace_batches":
            names["tap"] = tensortap.Tap("logs/traced", tensortap.Watch(kinds="loss"))
            example = example.replace("model.fit(dataset,", "model.fit(dataset, shuffle=False,")
        exec(example, names)
        names["tap"].close() if "tap" in names else None

    assert "NonFinite() fired at step" in capsys.readouterr().out
    assert tensortap.open("logs").runs["traced"].steps_of(file="part-2.csv") == [2]
    assert main(["info", "logs/traced", "--batch", "2"]) == 0
    assert "part-2.csv" in capsys.readouterr().out
    assert main(["info", "logs/traced", "--saw", "part-2.csv"]) == 0
    assert capsys.readouterr().out == "1 step: 2\n"
    assert main(["info", "logs/hunt"]) == 0
    assert "NonFinite(): " in capsys.readouterr().out
