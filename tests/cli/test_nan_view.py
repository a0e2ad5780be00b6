"""How a NaN report is worded, and how `tensortap nan` prints the elements upstream of one."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from tensortap.analysis.nonfinite.elements.trace import Element, ElementTrace
from tensortap.analysis.nonfinite.operand import Operand
from tensortap.analysis.nonfinite.report_text import exact_text, operand_text, tensor_text
from tensortap.cli.commands.analysis.nan import _print_trace


def lines(steps: int, most: int, *, cut: bool = False) -> list[str]:
    """Of a path of an origin and so many elements after it, numbered from 0, each with another value."""
    trail = [Element(f"t{n}:0", f"t{n}", "Mul", "", "", 0, (n,), float(n)) for n in range(-1, steps)]
    text = StringIO()
    _print_trace(ElementTrace(trail, None, cut=cut), Console(file=text, width=200), most)
    return [line.strip() for line in text.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("steps", "reported"),
    [
        (1, []),
        (3, ["t1:0 = 1", "t2:0 = 2"]),
        (4, ["t1:0 = 1", "t2:0 = 2", "t3:0 = 3"]),
        (5, ["t1:0 = 1", "t2:0 = 2", "… 1 more op", "t4:0 = 4"]),
        (90, ["t1:0 = 1", "t2:0 = 2", "… 86 more ops", "t89:0 = 89"]),
    ],
)
def test_what_is_skipped_of_a_long_way_is_counted(steps: int, reported: list[str]) -> None:
    found = [line.rpartition(" of ")[2] if "more" not in line else line for line in lines(steps, 3)[1:]]
    assert found == reported


def test_a_way_that_is_not_followed_to_its_end_says_so() -> None:
    assert lines(9, 3, cut=True)[-1] == "… backtrace truncated after 10 ops"
    assert len(lines(9, 0, cut=True)) == 1, "of further elements only the place is told"


def test_elements_are_written_with_the_digits_that_tell_them_apart() -> None:
    values = (1.0000004, 0.1, 300.0, 1.0000000000002, float("nan"), float("inf"))
    written = [exact_text(float(np.float32(value)) if value != values[3] else value) for value in values]
    assert written == ["1.0000004", "0.1", "300", "1.0000000000002", "nan", "inf"]


def test_an_input_of_a_origin_in_a_loop_names_its_visit() -> None:
    at_visit, at_once = (
        Operand("x:0", True, size=2, positive=2, min=0.5, max=1.0, visit=visit) for visit in (1, 0)
    )
    assert tensor_text(at_visit.tensor, at_visit.visit) == "x:0 (iteration 1)"
    assert tensor_text(at_once.tensor, at_once.visit) == "x:0"
    assert operand_text(at_once) == "2, 0.5 … 1"
