"""Finds the op of the forward pass whose gradient a node of the backward pass computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensortap.index.graph.graph_index import forward_node
from tensortap.index.query.node_detail import FrameDetail

from ..model_graph.op_types import REPLACING, ops
from ..model_graph.roles import Roles, Slot
from .explanation import Explanation, be_verb, elements
from .nonfinite_flow import NonfiniteFlow
from .operand import Operand

# What TensorFlow computes gradients of (tensorflow/python/ops/math_grad.py): op type of the backward pass ->
# op types whose output it takes, and op types that take the same tensor as it does.
_OF_OUTPUT = {
    **{f"{name}Grad": ops(name) for name in ops("Sqrt Rsqrt Tanh Sigmoid Relu Relu6 Elu Selu")},
    "ReciprocalGrad": ops("Reciprocal Inv"),
    "InvGrad": ops("Reciprocal Inv"),
}
_OF_INPUT = {
    "Reciprocal": ops("Log Log1p Acos Asin Acosh Atanh"),
    "Inv": ops("Log Log1p"),
    "RealDiv": ops("RealDiv Div Xdivy"),
    "Div": ops("RealDiv Div"),
    "Xdivy": ops("Xlogy Xdivy"),
    "Pow": ops("Pow"),
    "Log": ops("Pow"),
    "SoftplusGrad": ops("Softplus"),
}
_COPYING = ops("Identity StopGradient PreventGradient Reshape Cast")
_NEAR = 12  # nodes of the backward pass to search
_DIVISIONS = ops("RealDiv Div Xdivy")  # the gradient divides by the second operand
_WRITTEN = {"Log": "tf.math.log", "Sqrt": "tf.sqrt", "Rsqrt": "tf.math.rsqrt"}


@dataclass(frozen=True, slots=True)
class Forward:
    """An op of the forward pass. `frame`: the innermost line of user code that created it, or None; `chosen`:
    the select after it that discards its non-finite elements, or empty."""

    tensor: str
    node: str
    op_type: str
    layer: str
    chosen: str = ""
    frame: FrameDetail | None = None


def forward_op_of(flow: NonfiniteFlow, row: int) -> Forward | None:
    """The op whose gradient a node computes; None for nodes of the forward pass, or if no op fits."""
    roles = flow.tensors.roles
    if not roles.is_backward(row):
        return None
    graph = roles.graph
    found = next(_candidates(roles, row), None)
    if found is None:
        found = _of_same_name(roles, row)
    if found is None:
        return None
    chosen = _select_downstream(flow, found)
    return Forward(
        tensor=f"{graph.names[found]}:0",
        node=graph.names[found],
        op_type=graph.op_type[found],
        layer=graph.layer[found],
        chosen="" if chosen is None else graph.names[chosen],
    )


_LOG = "Take the logarithm from logits instead (log_softmax, from_logits=True)."


def explain_gradient(
    explanation: Explanation | None, forward: Forward, ins: list[Operand]
) -> Explanation | None:
    """The explanation of an origin in the backward pass, in terms of its forward op's gradient."""
    if explanation is None:
        return None
    if forward.op_type == "Log" and explanation.pattern == "division overflow":
        return replace(explanation, text=f"The gradient of log is 1/x. {explanation.text}", help=_LOG)
    if not explanation.pattern.endswith(("of 0", "by 0", "at 0", "0/0")):
        return explanation
    x = next((operand for operand in ins if operand.zero and not operand.constant), None)
    text = explanation.text
    if forward.op_type == "Log" and x is not None and explanation.pattern == "division by 0":
        zeros = f"{elements(x.zero)} of {x.tensor} {be_verb(x.zero)} exactly 0"
        text = f"The gradient of log is 1/x, infinite at 0: {zeros}."
    return replace(explanation, text=text, help=_help(forward, explanation.help))


def _help(forward: Forward, usual: str) -> str:
    """The fix with two tf.where: elements that the outer one discards still have a gradient, and 0 * inf =
    NaN."""
    op = _WRITTEN.get(forward.op_type, "f")
    safe = "with ok = x > 0" if forward.op_type in _WRITTEN else "where ok marks the safe x"
    twice = f"tf.where(ok, {op}(tf.where(ok, x, 1.0)), 0.0), {safe}"
    if forward.chosen:
        return (
            f"{forward.chosen} masks the output of {forward.op_type}, but not its gradient: 0 * inf "
            f"= NaN. Add a second tf.where on the operand: {twice}."
        )
    if forward.op_type not in _WRITTEN:
        return usual
    return (
        f"Keep the operand of {forward.op_type} away from 0 ({op}(x + 1e-12)), or use two tf.where: {twice}."
    )


def _candidates(roles: Roles, row: int) -> Iterator[int]:
    """Forward ops that fit, those of the same scope first."""
    graph = roles.graph
    scope = graph.names[row].rpartition("/")[0]
    outputs, inputs = _OF_OUTPUT.get(graph.op_type[row], ()), _OF_INPUT.get(graph.op_type[row], ())
    found = list[int]()
    for source, slot in _forward_inputs(roles, row):
        if graph.op_type[source] in outputs:
            found.append(source)
        found += [
            taker
            for taker in roles.consumers(source, slot)
            if graph.op_type[taker] in inputs and not roles.is_backward(taker) and _fits(roles, taker, source)
        ]
    yield from sorted(found, key=lambda each: not scope.endswith(graph.names[each].rpartition("/")[0]))


def _of_same_name(roles: Roles, row: int) -> int | None:
    """The op that TensorFlow named a node after, if both take the same tensor of the forward pass: by the
    name alone, gradient_tape/sub (a part of a softmax's) would belong to any node `sub`."""
    found = roles.graph.rows.get(forward_node(roles.graph.names[row], roles.graph.rows) or "")
    if found is None:
        return None
    taken = {(source, slot) for source, slot, _ in roles.inputs(found)}
    return found if taken.intersection(_forward_inputs(roles, row)) else None


def _fits(roles: Roles, taker: int, source: int) -> bool:
    """Whether a division has the given divisor; any other op fits."""
    if roles.graph.op_type[taker] not in _DIVISIONS:
        return True
    return any(row == source and position == 1 for row, _, position in roles.inputs(taker))


def _forward_inputs(roles: Roles, row: int) -> Iterator[Slot]:
    """The nearest tensors of the forward pass, a node's own inputs first, through ops that only forward."""
    waiting = [(source, slot) for source, slot, _ in roles.inputs(row)]
    for _ in range(_NEAR):
        if not waiting:
            return
        source, slot = waiting.pop(0)
        if not roles.is_backward(source):
            yield source, slot
        if roles.is_backward(source) or roles.graph.op_type[source] in _COPYING:
            waiting += [(before, at) for before, at, _ in roles.inputs(source)]


def _select_downstream(flow: NonfiniteFlow, row: int) -> int | None:
    """The select of the forward pass that discards the non-finite elements of a node's output. None if that
    output is finite, or the select's output was not captured as finite."""
    roles, waiting = flow.tensors.roles, [row]
    if (row, 0) not in flow.bad:
        return None
    for _ in range(_NEAR):
        if not waiting:
            break
        for taker in roles.consumers(waiting.pop(0)):
            op_type = "" if roles.is_backward(taker) else roles.graph.op_type[taker]
            if op_type in REPLACING:
                return taker if flow.is_finite(taker) else None
            waiting += [taker] if op_type in _COPYING else []
    return None
