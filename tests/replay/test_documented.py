"""The Python of docs/replay.md, run in order as it is written, and its bundles, the last part reads one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
from documents import blocks, python_of

import tensortap
from tensortap.__main__ import main

STEPS = 101


def build_model() -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(4, "relu", name="hidden"), keras.layers.Dense(3, name="digits")]
    model = keras.Sequential([keras.layers.Input((5,)), *layers], name="net")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def weights(model: keras.Model) -> list[Any]:
    return [np.asarray(weight) for weight in model.weights]


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    record, read, restore = python_of("replay.md")
    random = np.random.default_rng(0)
    x, y = random.random((32 * STEPS, 5), np.float32), random.integers(0, 3, 32 * STEPS)
    model = build_model()
    names: dict[str, Any] = {"tensortap": tensortap, "model": model, "x": x, "y": y}
    exec(record, names)
    after = weights(model)

    exec(read, names)
    assert "Relu:0 0 (32, 4)" in capsys.readouterr().out

    lines = "".join(block.text for block in blocks("replay.md")).splitlines()
    bundles = [line.split()[1:] for line in lines if line.startswith("tensortap bundle ")]
    assert [main(arguments) for arguments in bundles] == [0, 0]
    assert Path("step.py").exists()
    names["my_program"] = SimpleNamespace(build_model=build_model)
    exec(restore, names)
    (argument,) = [each for each in names["recording"].arguments if each.kind == "iterator"]
    names["model"].fit(*argument.arrays, batch_size=32, shuffle=False, verbose=0)
    assert all(map(np.array_equal, weights(names["model"]), after))
