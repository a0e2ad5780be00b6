"""The ledger of dead layers: which gradients are exactly zero, where along the backward pass the zeros begin,
and which updates vanish in the rounding of the weights."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.index import RunIndex

from .cuts import cut_of
from .fired import Zeros, ZerosOf, counted_of
from .growing import remembered
from .kept_values import kept_values
from .ops import ops
from .roles import Roles
from .rows import Rows
from .tensor_role import TensorRole
from .view import RunView

Array = np.ndarray[Any, np.dtype[Any]]
_PAIRS = 4  # pairs of neighbouring steps whose values are compared, a variable
_MAX_WALK = 400  # nodes that are walked back from one gradient
_HANDING_ON = ("_Arg", "Identity", "IdentityN", "Reshape")
_COMPUTED = ("moving_mean", "moving_variance")  # batch normalization sets them, no gradient does
_FLOATS = ("float", "bfloat", "complex")
Advance = Callable[[int, int, str], None]

_WHY = (
    (
        ops("ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad"),
        "dead activation",
        "the ReLU passes nothing on",
    ),
    (ops("TanhGrad SigmoidGrad SoftplusGrad"), "saturated activation", "the activation is stuck at an end"),
    (ops("Cast"), "cast", "the numbers are too small for the dtype they are cast to"),
    (
        ops("Select SelectV2 Mul MulNoNan ZerosLike Pad PadV2"),
        "mask",
        "a mask or a factor of 0 takes them out",
    ),
    (
        ops(
            "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2DBackpropFilter Conv2DBackpropInput "
            "Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter"
        ),
        "dead input",
        "the other factor (what the layer was given) is zero",
    ),
)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One trained variable, or one that should be.

    Attributes:
        variable, tensor, node, graph, layer: the gradient; the weight itself where there is no gradient.
        steps, zero_steps: steps with the gradient, and those where all of it was exactly 0; first_zero_step.
        zero_share: share of exact zeros among all elements, of all steps together.
        reason: `dead activation`, `saturated activation`, `cast`, `mask`, `dead input`, `zero weights`,
            `disconnected`, or empty, `unknown` where no reason can be told; why: a sentence; begins: the
            tensor at which the zeros begin, as far as they could be followed.
        cut_by: type of the op that lets no gradient through to a disconnected variable, or empty.
        absorbed: share of the elements with a gradient that did not change although they were updated
            (w + update == w in the dtype of w), None where it cannot be told; absorbed_steps: over how many
            pairs of neighbouring steps.
    """

    variable: str
    tensor: str
    node: str
    graph: str
    layer: str
    steps: int
    zero_steps: int
    first_zero_step: int | None
    zero_share: float
    reason: str
    why: str
    begins: str
    absorbed: float | None
    absorbed_steps: int
    cut_by: str = ""


def dead_layer_ledger(
    run: RunIndex, view: RunView | None = None, advance: Advance = lambda done, total, doing: None
) -> list[LedgerEntry]:
    """An entry for each variable of a layer in a graph that computes gradients, the deadest first.

    Args:
        view: of the run, where there is one already.
        advance: told how far it is; what it raises ends the work.
    """
    if view is None:
        with remembered(run) as memory:
            return dead_layer_ledger(run, RunView(run, memory), advance)
    gradients = view.of_kind("gradient")
    weights = {(weight.graph, weight.variable): weight for weight in reversed(view.of_kind("weight"))}
    entries = []
    zeros = view.growing("zeros", Zeros, gradients, Zeros.add)
    for number, tensor in enumerate(gradients):
        advance(number, len(gradients), tensor.variable)
        weight = weights.get((tensor.graph, tensor.variable))
        entries.append(_entry(view, tensor, zeros.of(tensor.code), weight))
    graphs = {tensor.graph for tensor in gradients}
    known = {(tensor.graph, tensor.variable) for tensor in gradients}
    told: set[tuple[str, str]] = set()
    for weight in sorted(view.of_kind("weight"), key=lambda weight: weight.order):  # as it is read first
        key = (weight.graph, weight.variable)
        wanted = weight.layer and weight.variable.rpartition("/")[2] and weight.graph in graphs
        if wanted and key not in known | told and not weight.variable.endswith(_COMPUTED):
            told.add(key)
            entries.append(_disconnected(view, weight))
    return sorted(entries, key=lambda entry: (not entry.reason, -entry.zero_share, entry.variable))


def _disconnected(view: RunView, weight: TensorRole) -> LedgerEntry:
    steps = counted_of(view).steps(weight.code)
    cut, begins = cut_of(view.run, view.roles(weight.graph), weight.variable), weight.name
    why = "the step computes no gradient for it: not trainable, or nothing that the loss needs depends on it"
    if cut is not None:
        line = f", {cut.source}" if cut.source else ""
        why = f"{cut.node} ({cut.op_type}{line}) lets no gradient of the loss through"
        begins = f"{cut.node}:0"
    op_type = "" if cut is None else cut.op_type
    place = (weight.variable, weight.name, weight.node, weight.graph, weight.layer)
    return LedgerEntry(*place, steps, 0, None, 0.0, "disconnected", why, begins, None, 0, op_type)


def _entry(view: RunView, tensor: TensorRole, zeros: ZerosOf, weight: TensorRole | None) -> LedgerEntry:
    reason = why = begins = ""
    if zeros.steps:
        reason, why, begins = _reason(view, tensor, zeros.last)
    absorbed, pairs = _absorbed(view, tensor, weight)
    return LedgerEntry(
        variable=tensor.variable,
        tensor=tensor.name,
        node=tensor.node,
        graph=tensor.graph,
        layer=tensor.layer,
        steps=counted_of(view).steps(tensor.code),
        zero_steps=zeros.steps,
        first_zero_step=zeros.first if zeros.steps else None,
        zero_share=zeros.share,
        reason=reason,
        why=why,
        begins=begins,
        absorbed=absorbed,
        absorbed_steps=pairs,
    )


def _reason(view: RunView, tensor: TensorRole, step: int) -> tuple[str, str, str]:
    """(reason, sentence, tensor) of where the zeros of a gradient begin at a step: the first node, backwards,
    whose output is all zeros while what it takes from the backward pass is not; `unknown` where that, or a
    factor, was not captured."""
    roles = view.roles(tensor.graph)
    zeros = _zeros_at(view, tensor.graph, step)
    row, seen = tensor.row, set[int]()
    while row not in seen and len(seen) < _MAX_WALK:
        seen.add(row)
        backward = [s for s in _float_inputs(roles, row, zeros) if zeros.get(s) and roles.is_backward(s)]
        if not backward:
            break
        row = backward[0]
    name, op_type = roles.graph.names[row], roles.graph.op_type[row]
    reason, why = next(((reason, why) for kinds, reason, why in _WHY if op_type in kinds), ("unknown", ""))
    inputs = _float_inputs(roles, row, zeros)
    told = [zeros.get(source) for source in inputs]
    if reason == "dead input" and not any(told):
        reason, why = "mask", "its factors are zero in turn"
        sure = None not in told
    else:
        unseen = [source for source in inputs if zeros.get(source) is None]
        sure = reason == "dead input" or not any(map(roles.is_backward, unseen))
    zero = [source for source in inputs if zeros.get(source)]
    if reason == "dead input" and zero and all(roles.kind.get(source) == "weight" for source in zero):
        reason, why = (
            "zero weights",
            f"its other factor, {roles.variable.get(zero[0], 'the weights')}, is zero",
        )
    if not sure:
        why = f"it is zero already at {name} ({op_type}), and what that takes was not captured"
        return "unknown", why, f"{name}:0"
    return reason, f"the zeros begin in {name} ({op_type})" + (f": {why}" if why else ""), f"{name}:0"


def _float_inputs(roles: Roles, row: int, captured: Container[int]) -> list[int]:
    """Rows of the nodes whose numbers a node takes, through what only hands them on and was not captured;
    shapes, axes and handles are no such numbers."""
    found, waiting = dict[int, None](), deque((source, slot) for source, slot, _ in roles.inputs(row))
    while waiting and len(found) < _MAX_WALK:
        source, slot = waiting.popleft()
        texts = roles.graph.slot_texts(source)
        dtype = texts[slot][0] if slot < len(texts) else ""
        if source in found or (dtype and not dtype.startswith(_FLOATS)):
            continue
        hands_on = source not in captured and roles.graph.op_type[source] in _HANDING_ON
        further = roles.inputs(source) if hands_on else []
        if further:
            waiting += [(behind, behind_slot) for behind, behind_slot, _ in further]
        else:
            found[source] = None
    return list(found)


def _zeros_at(view: RunView, graph: str, step: int) -> dict[int, bool]:
    """Row of each captured node of a graph -> whether all its first output was 0 at a step."""

    def find() -> dict[int, bool]:
        rows = view.rows_at(step)
        zero = (rows["zero"] == rows["size"]) & (rows["size"] > 0)
        found: dict[int, bool] = {}
        for code, flag in zip(rows.tensor.tolist(), zero.tolist(), strict=True):
            tensor = view.tensors[code]
            if tensor.graph == graph and tensor.slot == 0 and tensor.row >= 0:
                found[tensor.row] = found.get(tensor.row, True) and flag
        return found

    return view.once(f"zeros of {graph} at {step}", find)


def _absorbed(view: RunView, tensor: TensorRole, weight: TensorRole | None) -> tuple[float | None, int]:
    """(share, pairs of steps): of the elements whose gradient is not 0, those whose weight is the same a step
    later. Needs values of the weight at neighbouring steps, and of the gradient at the first of them."""
    kept = view.run.catalog.tensors.kept
    if weight is None or not kept.of(tensor.code) or not kept.of(weight.code):
        return None, 0
    grads, weights = _kept_by_step(view.rows([tensor])), _kept_by_step(view.rows([weight]))
    pairs = [step for step in grads if step in weights and step + 1 in weights]
    same = moved = used = 0
    for step in pairs[:: max(len(pairs) // _PAIRS, 1)][:_PAIRS]:
        wanted = [grads[step], weights[step], weights[step + 1]]
        values = [value for _, value in kept_values(view.run, wanted)]
        if len(values) == 3 and len({value.shape for value in values}) == 1:
            gradient_value, before, after = values
            pushed = gradient_value != 0
            same += int(np.count_nonzero(pushed & (before == after)))
            moved += int(np.count_nonzero(pushed))
            used += 1
    return (same / moved if moved else None), used


def _kept_by_step(rows: Rows) -> dict[int, int]:
    kept = rows.kept
    return dict(zip(rows.step[kept].tolist(), rows.rows[kept].tolist(), strict=True))
