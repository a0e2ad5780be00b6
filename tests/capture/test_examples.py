"""The Python of docs/how-to runs as it is written, and captures something."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from dumped import Dumped
from tensorflow.python.data.ops import debug_mode

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
EXAMPLES = [
    (f"{page.stem} {number}", code)
    for page in sorted(PAGES.glob("*.md"))
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S))
]
PRINTED = {  # what the page promises of examples that print
    "tap-fit 0": ("[0 1 2 3 4 5]\n",),
    "tap-loops-and-branches 0": (
        "while/cond/doubled:0 0 6.0\n",
        "while/cond/turned:0 1 -6.0\n",
        "while/cond/doubled:0 2 -12.0\n",
        "while/cond/turned:0 3 12.0\n",
    ),
    "tap-a-session 0": ("[ 8. 16.]\n",),
    "find-the-source-line 0": ("/MatMul shift\n",),
    "tap-several-devices 0": ("/Add:0 ",),
    "tap-several-devices 1": (" 0.0\n", " 2.0\n"),
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
        exec(compile(code, title, "exec"), {"__name__": "example"})
    (run,) = (tmp_path / "logs").iterdir()
    dumped = Dumped(run)
    assert dumped.rows
    printed = capsys.readouterr().out
    assert [text for text in PRINTED.get(title, ()) if text not in printed] == []
    if title == "find-the-source-line 0":
        assert dumped.graph().stacks and not dumped.graph().sources


def test_every_example_is_found() -> None:
    assert PRINTED.keys() <= {title for title, _ in EXAMPLES}
