"""The examples of docs/capture_examples.md run as they are written, and capture something."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from dumped import Dumped
from tensorflow.python.data.ops import debug_mode

DOCUMENT = Path(__file__).parents[2] / "docs" / "capture_examples.md"
EXAMPLES = re.findall(
    r"^## ([^\n]*)\n\n```python\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    tf.compat.v1.enable_control_flow_v2()
    debug_mode.toggle_debug_mode(False)


@pytest.mark.parametrize(("title", "code"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_example(title: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of Keras; what is captured is looked at below
        exec(compile(code, f"{DOCUMENT.name}: {title}", "exec"), {"__name__": "example"})
    (run,) = (tmp_path / "logs").iterdir()
    assert Dumped(run).rows


def test_every_example_is_found() -> None:
    assert len(EXAMPLES) == DOCUMENT.read_text("utf-8").count("\n## ")
