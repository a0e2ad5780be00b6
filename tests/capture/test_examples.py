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

PRINTED = {  # what the page promises of examples that print
    "fit, evaluate, predict": ("[0 1 2 3 4 5]\n",),
    "Loops and branches: a visit for each iteration": (
        "while/cond/doubled:0 0 6.0\n",
        "while/cond/turned:0 1 -6.0\n",
        "while/cond/doubled:0 2 -12.0\n",
        "while/cond/turned:0 3 12.0\n",
    ),
    "A version 1 session": ("[ 8. 16.]\n",),
    "Where a node comes from": ("/MatMul shift\n",),
    "Several replicas": ("/Add:0 ",),
    "Several processes, one run": (" 0.0\n", " 2.0\n"),
}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    tf.compat.v1.enable_control_flow_v2()
    debug_mode.toggle_debug_mode(False)


@pytest.mark.parametrize(("title", "code"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_example(
    title: str,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of Keras; what is captured is looked at below
        exec(compile(code, f"{DOCUMENT.name}: {title}", "exec"), {"__name__": "example"})
    (run,) = (tmp_path / "logs").iterdir()
    dumped = Dumped(run)
    assert dumped.rows
    printed = capsys.readouterr().out
    assert [text for text in PRINTED.get(title, ()) if text not in printed] == []
    if title == "Where a node comes from":
        assert dumped.graph().stacks and not dumped.graph().sources


def test_every_example_is_found() -> None:
    assert PRINTED.keys() <= {title for title, _ in EXAMPLES}
    assert len(EXAMPLES) == DOCUMENT.read_text("utf-8").count("\n## ")
