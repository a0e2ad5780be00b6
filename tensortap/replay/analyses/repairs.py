"""Repairs that may keep a node from making NaN or infinite numbers, each a change of one tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tensorflow as tf

from ..execution.node_selection import NodeKey, SelectedNodes
from ..execution.override import Change, MultiInputChange
from .nonfinite_origins import InfiniteConstant, NodeOrigin

Kind = Literal["stable op", "epsilon", "clamp", "float32 island"]
ORDER: tuple[Kind, ...] = ("stable op", "epsilon", "clamp", "float32 island")
"""Which of several repairs of one place is proposed first."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One small change of the program.

    Attributes:
        node: the node with the line to change.
        instead: the computation in that line, and its replacement, in TensorFlow terms.
        changes: tensor name -> what becomes of it; for all of its readers, gradients among them.
        nodes: what runs in float32, for an island.
    """

    kind: Kind
    node: str
    instead: str
    changes: tuple[tuple[str, Change | MultiInputChange], ...] = ()
    nodes: tuple[NodeKey, ...] = ()


def epsilon_of(dtype: Any) -> float:
    """A small number relative to 1 whose reciprocal is far below the dtype's maximum."""
    return 1e-3 if dtype == tf.float16 else 1e-7


def largest_exponent(dtype: Any) -> float:
    """A number with a finite `exp`, with margin for a sum."""
    return 10.0 if dtype == tf.float16 else 80.0


def mask_number_of(dtype: str) -> float:
    """A number for masks: `exp(-x)` of it is 0, and it stays finite when the step adds to it."""
    return 1e4 if dtype == "float16" else 1e9


# Op type -> slot of the input that is changed, and (kind, how it is written, what becomes of the tensor).
_LOW = ("clamp", "{op}(tf.maximum(x, {eps}))", lambda eps, _: lambda x: tf.maximum(x, tf.cast(eps, x.dtype)))
_ADD = ("epsilon", "{op}(x + {eps})", lambda eps, _: lambda x: x + tf.cast(eps, x.dtype))
_AWAY = (
    "epsilon",
    "x / (y + {eps})",
    lambda eps, _: lambda y: tf.where(tf.abs(y) < tf.cast(eps, y.dtype), y + tf.cast(eps, y.dtype), y),
)
_HIGH = ("clamp", "{op}(tf.minimum(x, {top}))", lambda _, top: lambda x: tf.minimum(x, tf.cast(top, x.dtype)))
_INSIDE = (
    "clamp",
    "{op}(tf.clip_by_value(x, {eps} - 1, 1 - {eps}))",
    lambda eps, _: lambda x: tf.clip_by_value(x, tf.cast(eps - 1, x.dtype), tf.cast(1 - eps, x.dtype)),
)
_INPUTS: Mapping[str, tuple[int, tuple[Any, ...]]] = {
    **dict.fromkeys(("Log", "Sqrt", "Rsqrt", "Reciprocal", "Inv"), (0, (_ADD, _LOW))),
    **dict.fromkeys(("RealDiv", "Div", "Xdivy"), (1, (_AWAY,))),
    **dict.fromkeys(("Exp", "Expm1", "Sinh", "Cosh"), (0, (_HIGH,))),
    **dict.fromkeys(("Acos", "Asin", "Atanh"), (0, (_INSIDE,))),
    "Pow": (0, (_LOW,)),
}
_WRITTEN = {"Log": "tf.math.log", "Rsqrt": "tf.math.rsqrt", "Reciprocal": "1 / ", "Inv": "1 / "}
# The gradient reads the op's output, so the op's input must be changed.
_GRADIENTS = frozenset({"SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"})


class RepairProposals:
    """Proposes repairs of the origins of NaN and infinities in one loaded call."""

    def __init__(self, chosen: SelectedNodes) -> None:
        self._chosen = chosen

    def of(self, origin: NodeOrigin) -> list[Repair]:
        """Repairs that may keep this node's output finite; the preferred one first."""
        operation = self._chosen.operations[origin.key]
        if operation.type in _GRADIENTS:
            operation = operation.inputs[0].op
        if origin.constant is not None:
            return [self._of_infinity(origin.constant)]
        found = [*self._stable(origin, operation), *self._of_inputs(origin, operation)]
        found += self._of_output(origin, operation)
        return sorted(found, key=lambda each: ORDER.index(each.kind))

    def _of_infinity(self, of: InfiniteConstant) -> Repair:
        """A large number instead of an infinite constant, as in a mask."""
        large = math.copysign(mask_number_of(self._chosen.candidates[of.tensor].dtype), of.value)
        node = of.tensor.rpartition(":")[0]
        return Repair(
            "clamp", node, f"{large:g} instead of {of.value:g}", ((of.tensor, _large_instead(large)),)
        )

    def _of_inputs(self, origin: NodeOrigin, operation: Any) -> Iterator[Repair]:
        slot, ways = _INPUTS.get(operation.type, (0, ()))
        for kind, text, change in ways:
            tensor = operation.inputs[slot]
            name = self._chosen.name(origin.key[0], tensor)
            reader = self._forward(operation, tensor)
            eps, top = epsilon_of(tensor.dtype), largest_exponent(tensor.dtype)
            if name and reader is not None:
                op = _WRITTEN.get(reader.type, f"tf.{reader.type.lower()}")
                instead = text.format(op=op, eps=eps, top=top)
                yield Repair(kind, self._node(origin, reader), instead, ((name, change(eps, top)),))

    def _forward(self, operation: Any, tensor: Any) -> Any:
        """The forward op whose gradient an op computes: it reads the same tensor."""
        if not _is_gradient(operation):
            return operation
        readers = [reader for reader in tensor.consumers() if reader.type in _INPUTS]
        return next((reader for reader in readers if not _is_gradient(reader)), operation)

    def _of_output(self, origin: NodeOrigin, operation: Any) -> Iterator[Repair]:
        tensor = operation.outputs[0]
        name = self._chosen.name(origin.key[0], tensor)
        if not name or not tensor.dtype.is_floating:
            return
        if operation.type in ("RealDiv", "Div") and not _is_gradient(operation):
            yield Repair(
                "stable op", self._node(origin, operation), "tf.math.divide_no_nan(x, y)", ((name, _finite),)
            )
        elif operation.type not in _INPUTS:
            yield Repair(
                "clamp",
                self._node(origin, operation),
                f"tf.clip_by_value(…, {tensor.dtype.min:.5g}, {tensor.dtype.max:.5g})",
                ((name, _clipped),),
            )

    def _node(self, origin: NodeOrigin, operation: Any) -> str:
        return self._chosen.name(origin.key[0], operation.outputs[0]).rpartition(":")[0]

    def _stable(self, origin: NodeOrigin, operation: Any) -> Iterator[Repair]:
        """log(softmax(z)) and log(sigmoid(z)), with the gradients that belong to the stable ops."""
        if operation.type not in ("Log", "Reciprocal", "Inv"):
            return
        inner = operation.inputs[0].op
        log = self._forward(operation, operation.inputs[0])
        if log.type != "Log" or inner.type not in _STABLE:
            return
        written, value, gradient = _STABLE[inner.type]
        function = origin.key[0]
        logits = self._chosen.name(function, inner.inputs[0])
        changes = [(self._chosen.name(function, log.outputs[0]), MultiInputChange(value, (logits,)))]
        for given, result in _gradients(inner.outputs[0]):
            read = (self._chosen.name(function, given), logits)
            changes.append((self._chosen.name(function, result), MultiInputChange(gradient, read)))
        yield Repair("stable op", self._node(origin, log), written, tuple(changes))


def _gradients(inner: Any) -> Iterator[tuple[Any, Any]]:
    """Of log(inner(z)): (gradient that comes in, gradient for z that goes out), as TensorFlow writes them."""
    for reciprocal in inner.consumers():
        if reciprocal.type not in ("Reciprocal", "Inv"):
            continue
        for product in reciprocal.outputs[0].consumers():
            given = next((each for each in product.inputs if each.op is not reciprocal), None)
            if product.type == "Mul" and given is not None:
                yield from ((given, result) for result in _results(product, inner))


def _results(product: Any, inner: Any) -> Iterator[Any]:
    for reader in product.outputs[0].consumers():
        if reader.type == "SigmoidGrad":
            yield reader.outputs[0]
        if reader.type == "Sub":  # softmax: (gradient - sum) * softmax
            for last in reader.outputs[0].consumers():
                if last.type == "Mul" and any(each is inner for each in last.inputs):
                    yield last.outputs[0]


def _is_gradient(operation: Any) -> bool:
    return _is_of_gradient(operation.name, operation.type)


def is_gradient(origin: NodeOrigin) -> bool:
    """Whether its node belongs to a gradient, according to TensorFlow's names."""
    return _is_of_gradient(origin.node, origin.op_type)


def _is_of_gradient(node: str, op_type: str) -> bool:
    return op_type in _GRADIENTS or "gradient" in node or "_grad/" in node


def _large_instead(large: float) -> Change:
    return lambda x: tf.where(tf.math.is_inf(x), tf.cast(large, x.dtype), x)


def _finite(x: Any) -> Any:
    return tf.where(tf.math.is_finite(x), x, tf.zeros_like(x))


def _clipped(x: Any) -> Any:
    finite = tf.where(tf.math.is_nan(x), tf.zeros_like(x), x)
    return tf.clip_by_value(finite, x.dtype.min, x.dtype.max)


def _softmax_gradient(product: Any, given: Any, logits: Any) -> Any:
    return given - tf.nn.softmax(logits) * tf.reduce_sum(given, -1, keepdims=True)


_STABLE: Mapping[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "Softmax": (
        "tf.nn.log_softmax(z), with z before the softmax",
        lambda log, logits: tf.nn.log_softmax(logits),
        _softmax_gradient,
    ),
    "Sigmoid": (
        "tf.math.log_sigmoid(z), with z before the sigmoid",
        lambda log, logits: tf.math.log_sigmoid(logits),
        lambda product, given, logits: given * tf.sigmoid(-logits),
    ),
}


def combine_changes(repairs: Sequence[Repair]) -> dict[str, Change | MultiInputChange]:
    """The combined changes of several repairs; changes of the same tensor are applied in sequence."""
    found: dict[str, Change | MultiInputChange] = {}
    for repair in repairs:
        for name, change in repair.changes:
            found[name] = _then(found[name], change) if name in found else change
    return found


def _then(first: Change | MultiInputChange, second: Change | MultiInputChange) -> Change | MultiInputChange:
    one = first if isinstance(first, MultiInputChange) else MultiInputChange(first, ())
    two = second if isinstance(second, MultiInputChange) else MultiInputChange(second, ())
    count = len(one.names)
    return MultiInputChange(
        lambda x, *more: two.change(one.change(x, *more[:count]), *more[count:]), one.names + two.names
    )
