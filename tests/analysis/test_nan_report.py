"""Every pattern, in a real TensorFlow program: found where it is made, explained, led back to its cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from analysis_runs import Get

from tensortap.analysis.nonfinite.nan_report import nan_report

SUPPORT = Path(__file__).resolve().parents[1] / "support"
SOURCES = [
    (SUPPORT / f"{name}.py").read_text(encoding="utf-8").splitlines()
    for name in ("nan_programs", "nan_special")
]

ORIGINS = {  # program -> op type, pattern
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
    "mean_of_nothing": ("Mean", "mean of an empty tensor"),
    "acos_outside": ("Acos", "outside the domain"),
    "in_a_loop": ("Exp", "exp overflow"),
    "through_ops": ("Log", "log of a negative"),
}
SPECIAL = {  # as ORIGINS, of nan_special.py
    "inf_over_inf": ("Exp", "exp overflow"),
    "inf_times_0_in_sums": ("Exp", "exp overflow"),
    "softmax_of_inf": ("Exp", "exp overflow"),
    "mean_of_both_infinities": ("Sinh", "exp overflow"),
    "cross_entropy_of_inf": ("Exp", "exp overflow"),
    "product_overflow": ("Prod", "product overflow"),
    "cumulative_product_overflow": ("Cumprod", "product overflow"),
    "division_overflow": ("RealDiv", "division overflow"),
    "reciprocal_of_0": ("Reciprocal", "division by 0"),
    "pow_of_0": ("Pow", "pow"),
    "pow_overflow": ("Pow", "pow"),
    "deviation_of_equals": ("RealDiv", "0/0"),
    "square_overflow": ("Square", "overflow"),
    "squared_difference_overflow": ("SquaredDifference", "overflow"),
    "addition_overflow": ("AddV2", "float16 overflow"),
    "remainder_of_0": ("FloorMod", "division by 0"),
    "truncated_remainder_of_0": ("TruncateMod", "division by 0"),
    "whole_division_by_0": ("FloorDiv", "division by 0"),
    "xdivy_by_0": ("Xdivy", "division by 0"),
    "xlogy_of_0": ("Xlogy", "log of 0"),
    "xlogy_of_negative": ("Xlogy", "log of a negative"),
    "asin_outside": ("Asin", "outside the domain"),
    "atanh_at_its_end": ("Atanh", "outside the domain"),
    "acosh_below_1": ("Acosh", "outside the domain"),
    "erfinv_outside": ("Erfinv", "outside the domain"),
    "ndtri_outside": ("Ndtri", "outside the domain"),
    "lgamma_at_a_pole": ("Lgamma", "outside the domain"),
    "digamma_at_a_pole": ("Digamma", "outside the domain"),
    "cosh_overflow": ("Cosh", "exp overflow"),
    "expm1_overflow": ("Expm1", "exp overflow"),
    "cholesky_of_indefinite": ("Cholesky", "singular matrix"),
    "log_determinant_of_singular": ("LogMatrixDeterminant", "singular matrix"),
    "triangular_solve_of_singular": ("MatrixTriangularSolve", "singular matrix"),
    "matrix_root_of_singular": ("MatrixSquareRoot", "singular matrix"),
    "float8_with_infinities": ("Cast", "float8_e5m2 overflow"),
    "float8_without_infinities": ("Cast", "float8_e4m3fn overflow"),
    "batch_norm_overflow": ("FusedBatchNormV3", "overflow"),
    "batch_norm_of_nothing": ("FusedBatchNormV3", "mean of an empty tensor"),
    "through_convolution": ("Exp", "exp overflow"),
    "through_strided_convolution": ("Exp", "exp overflow"),
    "through_dilated_convolution": ("Exp", "exp overflow"),
    "through_depthwise_convolution": ("Exp", "exp overflow"),
    "through_convolution_3d": ("Exp", "exp overflow"),
    "through_transposed_convolution": ("Exp", "exp overflow"),
    "through_max_pooling": ("Exp", "exp overflow"),
    "through_average_pooling": ("Exp", "exp overflow"),
    "convolution_overflow": ("Conv2D", "sum overflow"),
    "label_out_of_range": ("SparseSoftmaxCrossEntropyWithLogits", "label out of range"),
}
ORIGINS |= SPECIAL
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
    "cumulative_product_overflow": (0, 1),
    "pow_of_0": (1, 0),
    "truncated_remainder_of_0": (1, 0),
    "xlogy_of_negative": (1, 0),
    "ndtri_outside": (0, 1),
    "float8_with_infinities": (0, 1),
    "batch_norm_overflow": (1, 2),
    "convolution_overflow": (0, 1),
    **{program: (1, 2) for program in SPECIAL if program.startswith("through_")},
}


def marked_line(program: str) -> int | None:
    """The line that is marked in a program."""
    begin = f"def {program}("
    source, first = next((s, at) for s in SOURCES for at, line in enumerate(s) if line.startswith(begin))
    for at in range(first + 1, len(source)):
        if source[at].endswith("# origin"):
            return at + 1
        if re.match(r"\S", source[at]):
            return None
    return None


@pytest.mark.parametrize("program", ORIGINS)
def test_a_origin_is_found_and_explained(program: str, run_named: Get) -> None:
    report = nan_report(run_named(program))
    origin = report.origins[0]
    assert origin.explanation is not None
    assert (origin.op_type, origin.explanation.pattern) == ORIGINS[program]
    assert origin.verdict in ("origin", "inf_to_nan")
    assert origin.frame is not None
    assert marked_line(program) in (None, origin.frame.line)
    assert all(operand.known for operand in origin.inputs)
    assert report.chain[0].tensor == origin.tensor


@pytest.mark.parametrize(
    ("program", "pattern"),
    [
        ("zero_times_inf", "0 * inf"),
        ("inf_minus_inf", "inf - inf"),
        ("inf_over_inf", "inf/inf"),
        ("inf_times_0_in_sums", "0 * inf"),
        ("softmax_of_inf", "softmax of inf"),
        ("mean_of_both_infinities", "inf - inf"),
        ("cross_entropy_of_inf", "softmax of inf"),
    ],
)
def test_infinity_turns_into_nan(program: str, pattern: str, run_named: Get) -> None:
    turned = nan_report(run_named(program)).origins[1]
    assert turned.verdict == "inf_to_nan"
    assert turned.explanation is not None
    assert turned.explanation.pattern == pattern


@pytest.mark.parametrize("program", CAUSES)
def test_an_element_is_led_back_to_the_input(program: str, run_named: Get) -> None:
    trace = nan_report(run_named(program)).origins[0].elements[0]
    last = trace.trail[-1]
    assert (last.tensor, last.kind, last.index) == ("x:0", "input", CAUSES[program])
    assert trace.row == CAUSES[program][0]


def test_zeros_of_a_sum_over_the_batch_are_of_no_sample(run_named: Get) -> None:
    for trace in nan_report(run_named("deviation_of_equals")).origins[0].elements:
        assert any(element.op_type == "Mean" for element in trace.trail)
        assert trace.row is None


def test_an_element_proves_that_a_power_overflows(run_named: Get) -> None:
    explanation = nan_report(run_named("pow_overflow")).origins[0].explanation
    assert explanation is not None
    assert explanation.certain
    assert explanation.text.endswith("At [0, 0] it is 5e+19 ** 2.5.")


def test_a_loop_says_which_visit(run_named: Get) -> None:
    report = nan_report(run_named("in_a_loop"))
    origin = report.origins[0]
    assert origin.visit == 2
    assert [link.visit for link in report.chain[:3]] == [2, 2, 2]
    visits = [element.visit for element in origin.elements[0].trail if element.tensor == "while/mul:0"]
    assert visits == [1, 0]
    assert [(operand.tensor, operand.visit) for operand in origin.inputs] == [("while/Identity_3:0", 1)]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("attention_mask", "attention mask"),
        ("maximum_from_minus_inf", "neutral element"),
        ("initial_minimum", "neutral element"),
        ("guarded_division", "masks out the infinity"),
        (
            "deterministic_loss",
            "masks out the NaN",
        ),  # enable_op_determinism broadcasts a NaN that is never used
    ],
)
def test_what_is_meant_is_no_alarm(program: str, reason: str, run_named: Get) -> None:
    report = nan_report(run_named(program))
    assert report.origins == []
    assert reason in report.demoted[0].demoted


def test_the_chain_ends_at_the_loss_of_a_model(run_named: Get) -> None:
    report = nan_report(run_named("log_of_zero"))
    assert [link.op_type for link in report.chain[:2]] == ["Log", "Mul"]
    assert report.chain[-1].tensor == report.loss
    assert "div_no_nan" in report.chain[-1].tensor
    assert report.origins[0].ends.loss == report.loss
    first = report.origins[0].elements[0]
    assert first.trail[1].value == 0
    assert first.row == first.trail[0].index[0]
    assert first.trail[-1].kind == "input"


def test_a_later_step_says_that_the_weights_held_it(run_named: Get) -> None:
    report = nan_report(run_named("log_of_zero"), 5)
    assert report.origins[0].verdict == "from_variable"
    assert "already non-finite at the start of step 5" in report.notes[0]
