"""Expected infinities and NaN: why an origin is not a fault."""

from __future__ import annotations

from tensortap.core.names import LOSS_SCALES
from tensortap.core.text import counted

from ..model_graph.op_types import ops
from ..model_graph.roles import Slot
from .nonfinite_flow import FlowTensor, NonfiniteFlow
from .reach import Reached, RecoveryOp

_DIVISIONS = ops("RealDiv Div DivNoNan Xdivy Reciprocal Inv")
_UNTOUCHED = "It does not reach the loss, gradients or weights."
_RESERVED = {  # slots that only the gradient op reads; TensorFlow's enable_check_numerics skips them too
    "FusedBatchNorm": (1, 2, 3, 4),
    "FusedBatchNormV2": (1, 2, 3, 4),
    "FusedBatchNormV3": (1, 2, 3, 4, 5),
}


def expected_reason(flow: NonfiniteFlow, origin: FlowTensor, reached: Reached) -> str:
    """Why the non-finite values that `origin` began are expected, a sentence; empty if they are not, or if
    it is unknown."""
    ends = reached.ends
    graph = flow.tensors.graph
    op_type = graph.op_type[origin.slot[0]]
    if origin.slot[1] in _RESERVED.get(op_type, ()) and not ends.affects_training:
        return f"Output {origin.slot[1]} of {op_type} is scratch space for the gradient."
    if ends.loss is None and ends.gradients and not ends.returned and _scales_loss(flow):
        return "The loss is scaled dynamically: a step whose scaled gradients overflow is skipped."
    if ends.affects_training or not ends.healers or reached.open or _vanishes(flow, reached.slots):
        return ""
    if flow.downstream_of_gradients(reached.slots) and flow.may_update(origin.slot):
        return ""
    if recovery_text(flow, origin, reached) or _is_stored(flow, reached):
        return ""
    nan = _any_nan(flow, reached.slots)
    return _sentence(ends.healers, nan=nan, expected=_is_expected(origin))


def recovery_text(flow: NonfiniteFlow, origin: FlowTensor, reached: Reached) -> str:
    """How an unexpected infinity becomes finite again, a sentence: an op made it of finite numbers,
    and a division or another op that neither masks nor compares hides it. Empty if it is not so."""
    if (
        reached.ends.affects_training
        or reached.open
        or _is_expected(origin)
        or origin.verdict not in ("origin", "suspected")
    ):
        return ""
    if _any_nan(flow, reached.slots) or _is_stored(flow, reached):
        return ""
    recovery = next((recovery for recovery in reached.ends.healers if recovery.how == "recovered"), None)
    if recovery is None:
        return ""
    if recovery.op_type in _DIVISIONS:
        what = f"dividing by it gives 0 in {recovery.node} ({recovery.op_type})"
    else:
        what = f"it becomes finite again in {recovery.node} ({recovery.op_type})"
    return f"{_UNTOUCHED.removesuffix('.')}, but it looks unintended: {what}."


def discard_text(flow: NonfiniteFlow, origin: FlowTensor, reached: Reached) -> str:
    """A sentence about how the program discards NaN and infinities of the backward pass; empty if it does
    not, or if that is unknown. It does if all gradients that `origin` reaches are replaced before they are
    applied, and loss, weights and results stay finite."""
    ends, roles = reached.ends, flow.tensors.roles
    replaced = [slot for slot in reached.slots if slot in flow.replaced]
    if not replaced or ends.loss or ends.weights or ends.returned or reached.open:
        return ""
    if any(roles.kind.get(s[0]) == "gradient" and s not in flow.replaced for s in reached.slots):
        return ""
    if origin.verdict not in ("origin", "inf_to_nan", "suspected") or flow.may_update(origin.slot):
        return ""
    return f"{replacement_text(flow, replaced)}: it does not reach the weights."


def replacement_text(flow: NonfiniteFlow, replaced: list[Slot]) -> str:
    """Describes how the program replaces gradients (some of `flow.replaced`), without a full stop."""
    graph, row = flow.tensors.graph, flow.replaced[replaced[0]]
    more = f" (and in {counted(len(replaced) - 1, 'more gradient')})" if len(replaced) > 1 else ""
    return (
        f"{graph.names[row]} ({graph.op_type[row]}) replaces the NaN or infinite elements in the "
        f"gradient {flow.tensors.name(replaced[0])}{more}"
    )


def _is_stored(flow: NonfiniteFlow, reached: Reached) -> bool:
    """Whether the step assigns it to a variable that no node reads before the next step."""
    return any(map(flow.updates, reached.slots))


def _any_nan(flow: NonfiniteFlow, reached: list[Slot]) -> bool:
    return any(flow.tensors.snapshot(slot, flow.bad[slot].visit).nan for slot in reached)


def _is_expected(origin: FlowTensor) -> bool:
    return origin.verdict == "constant" or any(s.why == "constant" and s.bad for s in origin.sources)


def _sentence(recoveries: list[RecoveryOp], *, nan: bool, expected: bool) -> str:
    begin = "A constant in the program: " if expected else ""
    kinds = {recovery.how: recovery for recovery in reversed(recoveries)}
    what = "NaN" if nan else "infinity"
    if "softmax" in kinds and not nan:
        recovery = kinds["softmax"]
        text = f"{recovery.node} ({recovery.op_type}) turns it into a finite number"
        text += ", as with an attention mask." if expected and recovery.op_type == "Softmax" else "."
    elif "extremum" in kinds and not nan:
        text = f"it is the neutral element of {kinds['extremum'].node} ({kinds['extremum'].op_type})."
    elif "masked" in kinds:
        text = f"{kinds['masked'].node} ({kinds['masked'].op_type}) masks out the {what}."
    elif "compared" in kinds:
        text = f"it is only used in the comparison {kinds['compared'].node} ({kinds['compared'].op_type})."
    else:
        text = f"the {what} ends in {recoveries[0].node} ({recoveries[0].op_type}), whose output is finite."
    text = begin + text
    if not text.startswith(tuple(each.node for each in recoveries)):  # the name of a node is not capitalized
        text = text[0].upper() + text[1:]
    return f"{text} {_UNTOUCHED}"


def nonfinite_gradient_text(reason: str, gradient: str, *, loss_finite: bool) -> str:
    """Why infinities do not reach the loss, for an op whose gradient (a tensor name) is not finite.

    Args:
        loss_finite: the loss was seen to be finite; otherwise it may be NaN through something else.
    """
    first = reason.removesuffix(_UNTOUCHED).rstrip()
    if loss_finite:
        return f"{first} The loss stays finite, but the gradient there does not: {gradient}."
    return f"{first} It does not reach the loss, but the gradient there is not finite: {gradient}."


def _vanishes(flow: NonfiniteFlow, reached: list[Slot]) -> bool:
    """Whether a NaN is in a tensor without consumers, so that the graph does not show its purpose."""
    roles = flow.tensors.roles
    return any(
        flow.tensors.snapshot(slot, flow.bad[slot].visit).nan and not roles.consumers(*slot)
        for slot in reached
    )


def _scales_loss(flow: NonfiniteFlow) -> bool:
    return any(path.endswith(LOSS_SCALES) for path in flow.tensors.roles.variable.values())
