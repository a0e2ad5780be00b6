"""What is noted of a step that raised: the message, without what is put before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.tap import Tap
from tensortap.capture.triggers.firing import failure_facts
from tensortap.capture.watching.watch import Watch


def test_an_error_while_a_function_is_traced_is_told_in_its_own_words(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=1))

    @tap.function
    def program(x: Any) -> Any:
        return x.no_such

    with pytest.raises(AttributeError), tap.step(0):
        program(tf.constant(1.0))
    tap.close()
    (raised,) = Dumped(tmp_path / "r").events("raised")
    assert raised["error"] == "AttributeError: 'SymbolicTensor' object has no attribute 'no_such'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no such thing\n  at all", "ValueError: no such thing"),
        ("", "ValueError"),
        ('in user code:\n\n    File "a.py", line 5, in f  *\n        raise x\n', "ValueError"),
        (
            'in user code:\n\n    File "a.py", line 5, in f  *\n        g(y)\n\n    KeyError: 3\n',
            "KeyError: 3",
        ),
        ('in user code:\n\n    File "a.py", line 5, in f  *\n\n    Mine: broken\n', "Mine: broken"),
        (
            "Exception encountered when calling L.call().\n\n\x1b[1mCould not infer. Error encountered:\n\n"
            "no attribute\x1b[0m\n\nArguments received by L.call():",
            "ValueError: no attribute",
        ),
        (
            'in user code:\n\n    File "a.py", line 5, in f\n        g(y)\n\n    ValueError: Exception '
            "encountered when calling L.call().\n    \n    in user code:\n    \n"
            '        File "b.py", line 1, in call\n            x.foo\n    \n        TypeError: not that\n',
            "TypeError: not that",
        ),
    ],
)
def test_what_is_put_before_a_message_is_left_out(text: str, told: str) -> None:
    assert failure_facts(ValueError(text)) == {"error": told}
