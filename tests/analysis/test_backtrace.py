"""The way back of an element: through splits, in the words of its axes, and to what made a difference 0."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from synthetic_runs import X, node, synthetic_run

from tensortap.analysis.nonfinite.elements.index_maps import Call, inputs_of_element
from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.analysis.nonfinite.report_text import place_text
from tensortap.cli.commands.analysis.nan import print_report

NODES = (
    X,
    replace(node("axis", "Const", dtype="int32"), attributes={"value": "int32() 1"}),
    replace(
        node("split", "Split", "axis", "x"),
        output_dtypes=["float32", "float32"],
        output_shapes=[[None, 2], [None, 2]],
    ),
    replace(node("relu", "Relu"), inputs=["split:1"]),
    node("log", "Log", "relu"),
    node("loss", "Sum", "log"),
)


def test_a_split_is_followed_to_the_input_and_the_trail_is_printed(tmp_path: Path) -> None:
    x = np.float32([[1, 2, 3, 4], [5, 6, 7, -8]])
    fed = [("x", x, 0), ("split:0", x[:, :2], 0), ("split:1", x[:, 2:], 0)]
    with np.errstate(divide="ignore"):
        fed += [("relu", np.maximum(x[:, 2:], 0), 0), ("log", np.log(np.maximum(x[:, 2:], 0)), 0)]
    report = nan_report(
        synthetic_run(tmp_path, NODES, [*fed, ("loss", np.float32(-np.inf), 0)], keep="value")
    )
    (trace,) = report.origins[0].elements
    assert [(e.tensor, e.index, e.value) for e in trace.trail] == [
        ("log:0", (1, 1), -np.inf),
        ("relu:0", (1, 1), 0.0),
        ("split:1", (1, 1), -8.0),
        ("x:0", (1, 3), -8.0),
    ]
    reported = StringIO()
    print_report(report, Console(file=reported, width=200))
    assert "from row 1, feature 1 of split:1 = -8" in reported.getvalue()
    assert "from row 1, feature 3 of x:0 = -8" in reported.getvalue()


@pytest.mark.parametrize(
    ("op_type", "integers", "slot", "wanted"),
    [
        ("Split", {0: 1}, 2, [(1, (4, 5))]),
        ("SplitV", {1: [1, -1, 2], 2: 1}, 1, [(0, (4, 2))]),
        ("SplitV", {1: [1, -1, 2], 2: 1}, 2, [(0, (4, 5))]),
        ("SplitV", {2: 1}, 2, []),
        ("Unpack", {}, 3, [(0, (3, 4, 1))]),
    ],
)
def test_index_maps_of_ops_with_several_outputs(
    op_type: str, integers: dict[int, object], slot: int, wanted: list[object]
) -> None:
    shapes = [(9, 6), (9, 6)]
    call = Call(
        op_type,
        shapes,
        (9, 2),
        lambda position, parts: np.array(integers[position]) if position in integers else None,
        slot=slot,
    )
    assert inputs_of_element(call, (4, 1)) == wanted


def test_both_operands_of_a_difference_that_is_0_are_reported(tmp_path: Path) -> None:
    nodes = (
        X,
        node("y", "Placeholder", kind="input"),
        node("sub", "Sub", "x", "y"),
        node("log", "Log", "sub"),
    )
    x, y = np.float32([3, 2]), np.float32([1, 2])
    with np.errstate(divide="ignore"):
        fed = [("x", x, 0), ("y", y, 0), ("sub", x - y, 0), ("log", np.log(x - y), 0)]
    report = nan_report(synthetic_run(tmp_path, nodes, fed, keep="value"))
    operand = report.origins[0].elements[0].trail[2]
    assert (operand.tensor, operand.value) == ("x:0", 2.0)
    assert operand.equal is not None
    assert (operand.equal.tensor, operand.equal.index, operand.equal.value) == ("y:0", (1,), 2.0)
    reported = StringIO()
    print_report(report, Console(file=reported, width=200))
    assert "row 1 of x:0 = 2, equal to row 1 of y:0, so the difference is 0" in reported.getvalue()


@pytest.mark.parametrize(
    ("maker", "attributes", "place"),
    [
        ("Conv2D", {}, "row 1, y 0, x 2, channel 0"),
        ("Conv2D", {"data_format": "NCHW"}, "row 1, channel 0, y 2, x 0"),
        ("BatchMatMulV2", {}, "row 1, [0, 2, 0]"),
    ],
)
def test_words_of_an_image_are_for_images(
    maker: str, attributes: dict[str, str], place: str, tmp_path: Path
) -> None:
    made = replace(node("made", maker, "x", "x"), attributes=attributes)
    nodes = (X, made, node("biased", "AddV2", "made", "x"), node("log", "Log", "biased"))
    value = np.ones((2, 1, 3, 1), np.float32)
    value[1, 0, 2, 0] = 0
    with np.errstate(divide="ignore"):
        fed = [("x", value, 0), ("made", value, 0), ("biased", value, 0), ("log", np.log(value), 0)]
    trace = nan_report(synthetic_run(tmp_path, nodes, fed, keep="value")).origins[0].elements[0]
    assert place_text(trace.trail[1], 1) == place


def test_constants_are_not_counted_as_origins(tmp_path: Path) -> None:
    """GIVEN a mask of -inf that the program holds, and a row of a softmax that is masked as a whole."""
    mask = replace(node("mask", "Const"), attributes={"value": "float32(1, 2) [[-inf, -inf]]"})
    nodes = (X, mask, node("masked", "AddV2", "x", "mask"), node("soft", "Softmax", "masked"))
    inf, nan = np.full((1, 2), -np.inf, np.float32), np.full((1, 2), np.nan, np.float32)
    fed = [("x", np.ones((1, 2), np.float32), 0), ("masked", inf, 0), ("soft", nan, 0)]
    reported = StringIO()
    print_report(nan_report(synthetic_run(tmp_path, nodes, fed)), Console(file=reported, width=200))
    assert "1 constant at this step" in reported.getvalue()
    assert "2 non-finite tensors at step 0 of step: 1 origin, 1 constant." in reported.getvalue()
