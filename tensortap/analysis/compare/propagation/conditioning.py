"""Ill-conditioned ops and cancelling sums: outputs that differ more than their inputs because of rounding."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tensortap.core.text import number_text

from ...model_graph.op_types import ADDITIVE_REDUCTIONS, MATRIX_PRODUCTS, VARIABLE_READS, ops
from ...model_graph.roles import roles_of
from ...run_view.step_tensors import StepTensors
from ..comparison_records import TensorDifference
from ..matching.flow_graph import writers
from ..matching.node_matching import Matching
from ..matching.program_diff import input_differences, own_differences
from ..metrics.distances import RTOL
from ..metrics.ulp import common_dtype
from .recompute import Recomputed, recomputed

Flow = tuple[Matching, StepTensors, StepTensors]
# Not Sub and Add: cancellation in the program's own formula is a bug worth finding. But of what cancelled
# before, they keep the rounding; so do variables assigned from it.
_KEEP = ops("Sub Add AddV2 ReadVariableOp")
_SCALE = ops(
    "Reshape Transpose Identity IdentityN Squeeze ExpandDims StopGradient Cast Neg Mul RealDiv Sqrt Tile "
    "BroadcastTo Snapshot"
)
_SQUARE = 2.0  # times the relative error of x is that of x²


def reclassify_ill_conditioned(flow: Flow, entry: TensorDifference) -> TensorDifference:
    """Reclassifies a tensor that diverges with different inputs as `amplified` if both outputs are correct
    for their own inputs: the op is the same and ill-conditioned there. Not if the programs feed it different
    inputs, such as another constant, which is a separate difference."""
    if entry.verdict != "diverges" or not entry.before > 0:
        return entry
    if programs_differ(flow, entry):
        return entry
    sides = both(flow, entry)
    if sides is not None and all(side.right for side in sides):
        return replace(entry, verdict="amplified")
    return entry


def both(flow: Flow, entry: TensorDifference) -> tuple[Recomputed, Recomputed] | None:
    """Both sides of a tensor, recomputed; None if that is impossible."""
    matching, a, b = flow
    row, slot = matching.a.rows[entry.node], int(entry.tensor.rpartition(":")[2])
    left = recomputed(a, (row, slot), entry.visit)
    right = None if left is None else recomputed(b, (matching.partner[row], slot), entry.visit)
    return None if left is None or right is None else (left, right)


def condition_text(flow: Flow, entry: TensorDifference) -> str:
    """Why a correct op's output differs so much more than its inputs: with the worst element on both sides;
    empty where it cannot be shown."""
    sides = both(flow, entry)
    if (
        sides is None
        or not all(side.right for side in sides)
        or sides[0].output.shape != sides[1].output.shape
    ):
        return ""
    a, b = sides
    apart = np.abs(a.output - b.output)
    index = tuple(int(at) for at in np.unravel_index(int(np.argmax(np.nan_to_num(apart))), apart.shape))
    place = f"[{', '.join(map(str, index))}]"
    parts = [
        f"{_call(entry.op_type, side, index)}{number_text(side.output[index])} in {name}"
        for side, name in ((a, "A"), (b, "B"))
    ]
    return (
        f"Ill-conditioned here, but correct: its inputs differ by {number_text(entry.before)} of their "
        f"scale, its output by {number_text(entry.metrics.relative)}; recomputing {entry.op_type} from the "
        f"inputs reproduces both runs. At {place}: {', '.join(parts)}."
    )


def _call(op_type: str, side: Recomputed, index: tuple[int, ...]) -> str:
    """`RealDiv(1, 2) = `; empty for an op that takes more than one element of each input."""
    inputs = ", ".join(number_text(value[index]) for value in side.inputs)
    return f"{op_type}({inputs}) = " if inputs else ""


def rounding_origin(flow: Flow, entry: TensorDifference, tensors: list[TensorDifference]) -> TensorDifference:
    """The earliest ancestor of a tensor whose difference exceeds one rounding of its dtype; else the earliest
    that differs; else the tensor itself."""
    graph = flow[0].a
    rows = ancestors(graph.rows[entry.node], flow)
    found = [
        other
        for other in tensors
        if other.graph == entry.graph and other.verdict != "same" and graph.rows[other.node] in rows
    ]
    beyond = [e for e in found if e.metrics.relative > RTOL.get(common_dtype(e.dtype_a, e.dtype_b), 0.0)]
    return min(beyond or found or [entry], key=lambda other: other.order)


def differing_program(
    flow: Flow, entry: TensorDifference, tensors: list[TensorDifference]
) -> TensorDifference | None:
    """The earliest ancestor of a tensor whose difference exceeds rounding where the programs differ. Such a
    tensor may count as noise elsewhere, because it is less than ten times the difference of its inputs."""
    graph = flow[0].a
    rows = ancestors(graph.rows[entry.node], flow)
    found = (
        other
        for other in sorted(tensors, key=lambda other: other.order)
        if other.graph == entry.graph
        and other.metrics.relative > other.limit
        and graph.rows[other.node] in rows
    )
    return next((other for other in found if programs_differ(flow, other)), None)


def programs_differ(flow: Flow, entry: TensorDifference) -> bool:
    """Whether the programs have the op of a tensor take something else."""
    row = flow[0].a.rows[entry.node]
    return bool(own_differences(flow[0], row) or input_differences(flow[0], row, lambda side, node: None))


def ancestors(row: int, flow: Flow) -> set[int]:
    """All ancestors of a node of A, also through variables that the step assigned before."""
    graph = flow[0].a
    roles, seen = roles_of(graph), {row}
    waiting = deque(seen)
    while waiting:
        at = waiting.popleft()
        sources = [source for source, _, _ in roles.inputs(at)]
        if graph.op_type[at] in VARIABLE_READS:
            sources += writers(graph, at)
        new = set(sources) - seen
        seen |= new
        waiting += new
    return seen - {row}


class Magnitude(NamedTuple):
    """The scale of a tensor that differs (0: equal or unknown), and the largest magnitude among its
    summands."""

    scale: float = 0.0
    terms: float = 0.0


NO_MAGNITUDE = Magnitude()


def cancellation_factor(op_type: str, taken: Sequence[Magnitude], scale: float) -> float:
    """Ratio of the rounding error of a tensor to the error expected from its scale; 1 without cancellation.

    The rounding of a sum is bounded by the magnitudes of its terms (Higham 2002, Accuracy and Stability of
    Numerical Algorithms, 4.2): a sum that is 0 by mathematics consists of it. Copies and products keep the
    ratio of their inputs, a square doubles it; of other ops nothing is said.

    Args:
        taken: of the op's inputs. scale: of its output.
    """
    if not scale > 0 or not taken:
        return 1.0
    if op_type in ADDITIVE_REDUCTIONS:
        return max(1.0, max(each.terms for each in taken) / scale)
    if op_type in MATRIX_PRODUCTS:
        return max(1.0, math.prod(each.terms for each in taken[:2]) / scale)
    if op_type in _KEEP:
        return max([1.0, *(each.terms / scale for each in taken if each.terms > each.scale > 0)])
    ratio = max([1.0, *(each.terms / each.scale for each in taken if each.scale > 0)])
    if op_type in _SCALE:
        return ratio
    if op_type == "Square":
        return _SQUARE * ratio
    return 1.0
