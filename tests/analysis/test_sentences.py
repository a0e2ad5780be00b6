"""What is written of numbers and nodes in explanations."""

from __future__ import annotations

import pytest

from tensortap.analysis.nonfinite.expected import _sentence
from tensortap.analysis.nonfinite.explanation import explain_input_data
from tensortap.analysis.nonfinite.operand import Operand
from tensortap.analysis.nonfinite.patterns.binary import multiply, power
from tensortap.analysis.nonfinite.patterns.unary import beyond
from tensortap.analysis.nonfinite.reach import RecoveryOp
from tensortap.core.text import number_beside, number_text


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (1.00009, 1.0, "1.0001"),
        (1.0, 1.0, "1"),
        (-1.0000001, -1.0, "-1.0000001"),
        (88.7229, 88.72284, "88.72"),
        (39641.5, 88.72284, "39600"),
    ],
)
def test_a_value_is_reported_from_its_limit(value: float, limit: float, text: str) -> None:
    assert number_beside(value, limit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123456, "0.0123"),
        (65504.0, "65504"),
        (65503.9, "65500"),
        (-0.0, "-0"),
        (1.23456e-8, "1.23e-08"),
        (3.4028235e38, "3.4e+38"),
        (float("nan"), "nan"),
    ],
)
def test_a_number_has_three_digits_unless_it_is_whole(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_value_that_is_just_beyond_is_not_rounded_to_the_limit() -> None:
    operand = Operand("x:0", True, "float32", size=8, max=1.00009, abs_max=1.00009)
    found = beyond(1.0, "acos")([operand], operand)
    assert found is not None
    assert found.text == "acos is not finite outside its domain: |x:0| goes up to 1.0001."


@pytest.mark.parametrize(
    ("how", "begin"), [("masked", "compile_loss/Select (Sel"), ("compared", "It is only")]
)
def test_names_of_nodes_are_written_as_they_are(how: str, begin: str) -> None:
    recoveries = [RecoveryOp("compile_loss/Select:0", "compile_loss/Select", "Select", how)]
    assert _sentence(recoveries, nan=True, expected=False).startswith(begin)


@pytest.mark.parametrize(
    ("shape", "nan", "end"),
    [
        ((2, 3), 1, "and a:0 is 0 at 1 of them."),
        ((2, 3), 2, "where a:0 is 0."),
        ((3,), 1, "at some of them."),
    ],
)
def test_how_many_infinities_meet_a_zero(shape: tuple[int, ...], nan: int, end: str) -> None:
    zeros = Operand("a:0", True, "float32", shape=shape, size=6, zero=4, positive=2)
    infinite = Operand("b:0", True, "float32", shape=(2, 3), size=6, neg_inf=2, negative=4)
    found = multiply([zeros, infinite], Operand("c:0", True, "float32", shape=(2, 3), size=6, nan=nan))
    assert found is not None
    assert found.text.startswith("0 * inf = NaN: 2 elements of b:0 are infinite, ")
    assert found.text.endswith(end)


@pytest.mark.parametrize("known", [True, False])
def test_a_negative_base_is_the_only_way_to_nan_of_finite_numbers(known: bool) -> None:
    base = Operand("x:0", True, "float32", size=8, negative=3, positive=5, min=-0.6, max=2, abs_max=2)
    exponent = Operand("y:0", known, "float32", size=int(known), positive=int(known), min=0.5, max=0.5)
    found = power([base, exponent], Operand("z:0", True, "float32", size=8, nan=3))
    assert found is not None
    assert found.certain == known


def test_data_that_are_not_finite_are_counted() -> None:
    found = explain_input_data(Operand("x:0", True, "float32", size=96, nan=1, pos_inf=2))
    assert found.text == "The input data contain NaN or Inf: 3 elements of x:0 are not finite."
    assert "np.isfinite" in found.help
