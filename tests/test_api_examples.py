"""Every public name of `tensortap` has a docstring with an example, and the examples run."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from textwrap import dedent

import keras
import numpy as np
import pytest

import tensortap

NAMES = [name for name in tensortap.__all__ if name != "__version__"]
EXAMPLE = re.compile(r"^Example:\n    ```python\n(.*?)^    ```", re.MULTILINE | re.DOTALL)


def example_of(name: str) -> str:
    found = EXAMPLE.search(inspect.getdoc(getattr(tensortap, name)) or "")
    return dedent(found[1]) if found else ""


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a run and a small model WHEN the example is run as it is written THEN it raises nothing."""
    example = example_of(name)
    assert example, "add an Example section"
    monkeypatch.chdir(tmp_path)
    with tensortap.DumpWriter("logs", run="numpy") as writer:
        writer.log("weights:0", np.ones((2, 3)), step=0, keep="value")
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    names = {"tensortap": tensortap, "np": np, "model": model, "x": np.ones((8, 3)), "y": np.ones((8, 1))}
    with tensortap.Tap("logs/tap", on=tensortap.NonFinite()) as tap:
        exec(example, names | {"tap": tap})
