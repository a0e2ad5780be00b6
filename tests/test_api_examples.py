"""Every entry of the Python API reference has a docstring with one example, and the examples run."""

from __future__ import annotations

import inspect
import re
import runpy
import shutil
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import keras
import numpy as np
import pytest
from documents import CHECKOUT

import tensortap

API_PAGE: str = runpy.run_path(str(CHECKOUT / ".ci" / "docs_site.py"))["api_page"]()
ENTRIES = re.findall(r"^::: (tensortap\.\S+)$", API_PAGE, re.MULTILINE)
EXAMPLE = re.compile(r"^Example:\n    ```python\n(.*?)^    ```", re.MULTILINE | re.DOTALL)


def entry(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


@pytest.fixture(scope="module")
def model() -> keras.Model:
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    return model


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, model: keras.Model) -> Path:
    """The runs that examples read: `numpy`, and `recorded` with a recorded step."""
    folder = tmp_path_factory.mktemp("examples") / "logs"
    with tensortap.DumpWriter(folder, run="numpy") as writer:
        writer.log("weights:0", np.ones((2, 3)), step=0, keep="value")
    with tensortap.Tap(folder / "recorded", tensortap.Watch(steps=1), record=tensortap.every(1)) as tap:
        model.fit(np.ones((8, 3)), np.ones((8, 1)), verbose=0, callbacks=[tap.callback()])
    return folder


def test_the_reference_has_all_public_names() -> None:
    assert {f"tensortap.{name}" for name in tensortap.__all__} - set(ENTRIES) == {"tensortap.__version__"}


@pytest.mark.parametrize("name", ENTRIES)
def test_the_example_of_an_entry(
    name: str, logs: Path, model: keras.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN runs and a small model WHEN the example is run as it is written THEN it raises nothing."""
    examples = EXAMPLE.findall(inspect.getdoc(entry(name)) or "")
    assert len(examples) == 1, "add an Example section"
    shutil.copytree(logs, tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    names = {"tensortap": tensortap, "np": np, "model": model, "x": np.ones((8, 3)), "y": np.ones((8, 1))}
    with tensortap.Tap("logs/tap", on=tensortap.NonFinite()) as tap:
        exec(dedent(examples[0]), names | {"tap": tap})


@pytest.mark.parametrize("name", [name for name in ENTRIES if inspect.isclass(entry(name))])
def test_methods_are_documented(name: str) -> None:
    """Those that override a documented one may rely on its docstring."""
    members = [
        (key, inspect.getdoc(getattr(entry(name), key)))
        for key, member in vars(entry(name)).items()
        if not key.startswith("_") and (callable(member) or isinstance(member, property))
    ]
    assert [key for key, docstring in members if not docstring] == []
