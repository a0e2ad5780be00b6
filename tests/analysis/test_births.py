"""Every pattern, in a real TensorFlow program: found where it is made, explained, led back to its cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from analysis_runs import Get

from tensortap.analysis import nan_report

SOURCE = (Path(__file__).resolve().parent.parent / "nan_programs.py").read_text(encoding="utf-8").splitlines()

BORN = {  # program -> op type, pattern
    "log_of_0": ("Log", "log of 0"),
    "log_of_negative": ("Log", "log of a negative"),
    "log1p_of_minus_1": ("Log1p", "log of 0"),
    "division_by_0": ("RealDiv", "division by 0"),
    "zero_by_zero": ("RealDiv", "0/0"),
    "exp_overflow": ("Exp", "exp overflow"),
    "sqrt_of_negative": ("Sqrt", "sqrt of a negative"),
    "rsqrt_of_0": ("Rsqrt", "rsqrt of 0"),
    "zero_times_inf": ("Exp", "exp overflow"),
    "inf_minus_inf": ("Exp", "exp overflow"),
    "float16_product": ("Mul", "float16 overflow"),
    "float16_cast": ("Cast", "float16 overflow"),
    "bfloat16_overflow": ("Mul", "bfloat16 overflow"),
    "sum_overflow": ("Sum", "float16 sum overflow"),
    "matmul_overflow": ("MatMul", "sum overflow"),
    "pow_of_negative": ("Pow", "pow"),
    "softmax_of_nothing": ("Softmax", "softmax of all -inf"),
    "norm_gradient_at_0": ("SqrtGrad", "norm gradient at 0"),
    "mean_of_nothing": ("Mean", "mean of nothing"),
    "acos_outside": ("Acos", "outside the domain"),
    "in_a_loop": ("Exp", "exp overflow"),
    "through_ops": ("Log", "log of a negative"),
}
CAUSES = {  # program -> the input's element that the first bad element is led back to
    "log_of_0": (1, 0),
    "log_of_negative": (1, 0),
    "division_by_0": (1, 0),
    "exp_overflow": (1, 2),
    "sqrt_of_negative": (1, 1),
    "float16_cast": (0, 1),
    "matmul_overflow": (0, 2),
    "in_a_loop": (0, 2),
    "through_ops": (1, 0),
}


def marked_line(program: str) -> int | None:
    """The line that is marked in a program."""
    first = next(at for at, line in enumerate(SOURCE) if line.startswith(f"def {program}("))
    for at in range(first + 1, len(SOURCE)):
        if SOURCE[at].endswith("# born here"):
            return at + 1
        if re.match(r"\S", SOURCE[at]):
            return None
    return None


@pytest.mark.parametrize("program", BORN)
def test_a_birth_is_found_and_explained(program: str, run_named: Get) -> None:
    report = nan_report(run_named(program))
    birth = report.births[0]
    assert birth.explanation is not None
    assert (birth.op_type, birth.explanation.pattern) == BORN[program]
    assert birth.verdict in ("born", "turned")
    assert birth.frame is not None
    assert marked_line(program) in (None, birth.frame.line)
    assert all(operand.known for operand in birth.inputs)
    assert report.chain[0].tensor == birth.tensor


@pytest.mark.parametrize(
    ("program", "pattern"), [("zero_times_inf", "0 * inf"), ("inf_minus_inf", "inf - inf")]
)
def test_infinity_turns_into_nan(program: str, pattern: str, run_named: Get) -> None:
    turned = nan_report(run_named(program)).births[1]
    assert turned.verdict == "turned"
    assert turned.explanation is not None
    assert turned.explanation.pattern == pattern


@pytest.mark.parametrize("program", CAUSES)
def test_an_element_is_led_back_to_the_input(program: str, run_named: Get) -> None:
    trace = nan_report(run_named(program)).births[0].elements[0]
    last = trace.trail[-1]
    assert (last.tensor, last.kind, last.index) == ("x:0", "input", CAUSES[program])
    assert trace.row == CAUSES[program][0]


def test_a_loop_says_which_visit(run_named: Get) -> None:
    birth = nan_report(run_named("in_a_loop")).births[0]
    assert birth.visit == 2
    visits = [element.visit for element in birth.elements[0].trail if element.tensor == "while/mul:0"]
    assert visits == [1, 0]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("attention_mask", "attention mask"),
        ("maximum_from_minus_inf", "neutral element"),
        ("initial_minimum", "neutral element"),
        ("guarded_division", "leaves the infinity out"),
        (
            "deterministic_loss",
            "leaves the NaN out",
        ),  # enable_op_determinism broadcasts a NaN that is never used
    ],
)
def test_what_is_meant_is_no_alarm(program: str, reason: str, run_named: Get) -> None:
    report = nan_report(run_named(program))
    assert report.births == []
    assert reason in report.demoted[0].demoted


def test_the_chain_ends_at_the_loss_of_a_model(run_named: Get) -> None:
    report = nan_report(run_named("log_of_zero"))
    assert [link.op_type for link in report.chain[:2]] == ["Log", "Mul"]
    assert report.chain[-1].tensor == report.loss
    assert "div_no_nan" in report.chain[-1].tensor
    assert report.births[0].ends.loss == report.loss
    first = report.births[0].elements[0]
    assert first.trail[1].value == 0
    assert first.row == first.trail[0].index[0]
    assert first.trail[-1].kind == "input"


def test_a_later_step_says_that_the_weights_held_it(run_named: Get) -> None:
    report = nan_report(run_named("log_of_zero"), 5)
    assert report.births[0].verdict == "carried"
    assert "already when step 5 began" in report.notes[0]
