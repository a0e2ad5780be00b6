"""Accuracy of each node of a recorded call, run alone: against float64, and with inputs moved by one ULP."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import ml_dtypes
import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.progress import Notice, ignore_notice
from tensortap.dump.recording.recording import Recording

from ..execution.float_arrays import largest_finite, mask_values
from ..execution.loaded_call import LoadedCall
from ..execution.node_selection import NodeKey, SelectedNodes, Visits
from ..execution.single_node import IsolatedNodes, why_not_isolated

Judgement = Literal["exact", "low precision", "ill-conditioned", "bug in the kernel"]
ORDER: tuple[Judgement, ...] = ("bug in the kernel", "ill-conditioned", "low precision", "exact")
"""Worst first."""

ACCURACY_RTOL = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-8}
"""What msprobe acc_check accepts as relative error, by dtype."""
_MOST_ULP = 64  # msprobe acc_check: float32 below 64 ULP in the mean


@dataclass(frozen=True, slots=True)
class NodeAccuracy:
    """Accuracy of one output of a node.

    Attributes:
        error: largest |recorded - float64|; infinite where only one of them is finite.
        scale: largest |float64|.
        moved: largest change of the float64 result when every input moves by one ULP of its dtype; elements
            whose inputs leave the op's domain by that, as 0 below a square root, are skipped.
        note: what of the output is not finite, and why; empty if all is.
        visit: the visit that these numbers are of, the worst one.
        visits: how many there were.
    """

    tensor: str
    op_type: str
    dtype: str
    judgement: Judgement
    error: float
    scale: float
    moved: float
    note: str = ""
    visit: int = 0
    visits: int = 1

    @property
    def relative(self) -> float:
        """The error relative to the tensor's scale; the relative error of a single element lacks the
        scale."""
        return self.error / self.scale if self.scale else (np.inf if self.error else 0.0)


def judge_nodes(
    recording: Recording, pattern: re.Pattern[str], progress: Notice = ignore_notice
) -> tuple[list[NodeAccuracy], dict[str, int]]:
    """Judges the nodes with matching tensor names: worst first, the worst visit of each. Also counts the
    nodes that were not judged, by reason.

    The tensors that the chosen nodes read and give are held in memory at once.
    """
    skipped: Counter[str] = Counter()
    with LoadedCall(recording) as call:
        chosen = SelectedNodes(call, pattern)
        progress(f"computing inputs and outputs of {len(chosen.operations):,} nodes")
        values = chosen.values()
        inputs: dict[NodeKey, list[list[Array]]] = {}
        for key, operation in chosen.operations.items():
            read = chosen.inputs(key, values)
            why = why_not_isolated(operation) or (
                "" if read else "not run, or with an input that was not run"
            )
            if why:
                skipped[why] += 1
            elif read:
                inputs[key] = read
        judged = {key: operation for key, operation in chosen.operations.items() if key in inputs}
        progress(f"running {len(judged):,} nodes alone in float64")
        with IsolatedNodes(judged, "float64") as alone:
            worst: dict[str, NodeAccuracy] = {}
            refused = set(alone.lacking)
            for visit in range(max(map(len, inputs.values()), default=0)):
                at_visit = {key: read[visit] for key, read in inputs.items() if visit < len(read)}
                for verdict in _node_verdicts(alone, chosen, values, at_visit, visit, refused):
                    worst[verdict.tensor] = _worse(worst.get(verdict.tensor), verdict)
    for key in refused:
        skipped[f"no float64 kernel ({judged[key].type})"] += 1
    return sorted(worst.values(), key=_badness), dict(skipped)


def _node_verdicts(
    alone: IsolatedNodes[NodeKey],
    chosen: SelectedNodes,
    values: Visits,
    inputs: Mapping[NodeKey, list[Array]],
    visit: int,
    refused: set[NodeKey],
) -> Iterator[NodeAccuracy]:
    wide = alone.run(inputs)
    types = {key: chosen.operations[key].type for key in wide}
    nudged = alone.run({key: move_inputs(types[key], inputs[key]) for key in wide})
    refused |= inputs.keys() - nudged.keys()
    for key in nudged:
        for name, there, moved in zip(chosen.outputs(key), wide[key], nudged[key], strict=True):
            visits = values.get(name, ())
            if visit >= len(visits) or str(visits[visit].dtype) not in ACCURACY_RTOL:
                continue
            if visits[visit].shape == there.shape == moved.shape:
                candidate = chosen.candidates[name]
                found = judge_output(visits[visit], there, moved, inputs[key])
                note = describe_nonfinite(visits[visit], there)
                yield NodeAccuracy(name, candidate.op_type, candidate.dtype, *found, note, visit, len(visits))


def _worse(one: NodeAccuracy | None, other: NodeAccuracy) -> NodeAccuracy:
    return other if one is None else min(one, other, key=_badness)


def _badness(verdict: NodeAccuracy) -> tuple[int, float]:
    return ORDER.index(verdict.judgement), -verdict.relative


def move_by_one_ulp(array: Array) -> Array:
    """Moves every element of a float tensor to one of its two neighbours (drawn with a fixed seed)."""
    if array.dtype.kind != "f" and array.dtype != ml_dtypes.bfloat16:
        return array
    up = np.random.default_rng(0).integers(0, 2, array.shape, dtype=np.int8).astype(bool)
    limit = np.where(up, np.array(np.inf, array.dtype), np.array(-np.inf, array.dtype))
    return np.asarray(np.nextafter(array, limit))


def move_inputs(op_type: str, inputs: Sequence[Array]) -> list[Array]:
    """Moves all inputs of a node by one ULP, but for whole exponents of negative numbers."""
    moved = [move_by_one_ulp(array) for array in inputs]
    if op_type == "Pow" and len(inputs) == 2 and bool((inputs[0] < 0).any()):
        with np.errstate(all="ignore"):
            whole = inputs[1] == np.floor(inputs[1])
        moved[1] = np.where(whole, inputs[1], moved[1])
    return moved


def describe_nonfinite(recorded: Array, wide: Array) -> str:
    """Describes which numbers of an output are not finite, and whether they are in float64; may be empty."""
    own = recorded.astype(np.float64)
    bad = ~np.isfinite(own)
    overflow = np.isinf(own) & np.isfinite(wide) & (np.abs(wide) > largest_finite(recorded))
    same = bad & ~np.isfinite(wide)
    found = {
        f"Inf: overflow of {recorded.dtype.name}": overflow,
        "NaN also in float64": same & np.isnan(own),
        "Inf also in float64": same & np.isinf(own),
        "non-finite, but finite in float64": bad & ~overflow & ~same,
    }
    return ", ".join(f"{int(each.sum()):,} {text}" for text, each in found.items() if each.any())


def judge_output(
    recorded: Array, wide: Array, nudged: Array, inputs: Sequence[Array]
) -> tuple[Judgement, float, float, float]:
    """Judgement, error, scale and moved of one output (see `NodeAccuracy`).

    *exact*: the error is at most `ACCURACY_RTOL` of the scale. *ill-conditioned*: moving the inputs by one
    ULP moves the result by more than that, and explains the error. *low precision*: the error is what summing
    that many terms in this dtype may give, n u (Higham, Accuracy and Stability of Numerical Algorithms, 4.2),
    at least 64 ULP, or the dtype cannot hold the number. *bug in the kernel*: none of these explains it.
    Elements set by a mask are judged separately; the worse of both counts.

    Args:
        recorded: in its own dtype.
        wide, nudged: float64 results from the recorded inputs and from those moved by one ULP.
    """
    terms = max(_MOST_ULP, sum(array.size for array in inputs) // max(recorded.size, 1))
    mask = mask_values(wide)
    found = [
        _judge_part(recorded[each], wide[each], nudged[each], terms)
        for each in (~mask, mask)
        if each.any() or not mask.size
    ]
    return min(found, key=lambda each: ORDER.index(each[0]))


def _judge_part(
    recorded: Array, wide: Array, nudged: Array, terms: int
) -> tuple[Judgement, float, float, float]:
    info = ml_dtypes.finfo(recorded.dtype)  # type: ignore[no-untyped-call]
    own = recorded.astype(np.float64)
    scale = _largest(wide[np.isfinite(wide)])
    too_large = np.abs(wide) > float(info.max)
    with np.errstate(all="ignore"):
        error = _largest(_difference(own, np.where(too_large, own, wide)))
        inside = ~np.isnan(nudged) | np.isnan(wide)
        moved = _largest(_difference(nudged, wide)[inside])
    least = ACCURACY_RTOL[str(recorded.dtype)] * scale + float(info.smallest_subnormal)
    if error <= least:
        return ("low precision" if (too_large & np.isfinite(wide)).any() else "exact"), error, scale, moved
    if moved > least and error <= terms * moved:
        return "ill-conditioned", error, scale, moved
    if error <= terms * float(info.eps) * scale:
        return "low precision", error, scale, moved
    return ("ill-conditioned" if error <= terms * moved else "bug in the kernel"), error, scale, moved


def _difference(one: Array, other: Array) -> Array:
    """|one - other|; 0 where both are NaN or the same infinity, infinite where only one is finite."""
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    difference = np.abs(one - other)
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
