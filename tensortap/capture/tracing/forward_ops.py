"""Finds forward ops of gradients that a tape computes outside any scope: `gradient_tape/Mul_3` does not name
its op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensortap.tf.function_library import TracedFunction

from .layer_map import forward_name

# tensorflow/python/ops/math_grad.py and nn_grad.py: op of the backward pass -> ops of the forward pass that
# take the same tensor; `TanhGrad` and the like also take what their op gives.
_OF_INPUT = {
    "Mul": ("Mul", "Square", "SquaredDifference", "RealDiv", "DivNoNan"),
    "RealDiv": ("RealDiv",),
    "Reciprocal": ("Log",),
    "Cos": ("Sin",),
    "Sin": ("Cos",),
    "Sign": ("Abs",),
}
_BY_OUTPUT = ("Softmax", "LogSoftmax", "Exp", "Expm1", "Pow", "Prod", "Cumprod")  # multiply by their result


def forward_ops(function: TracedFunction) -> dict[str, Sequence[str]]:
    """Name of a backward op -> names of the forward ops of its scope whose gradient it may be: those that
    take the same tensor, if one of them is of a kind with such a gradient, or the op that gives the tensor,
    if its kind has one."""
    takers: dict[str, list[Any]] = {}
    for operation in function.operations.values():
        if not forward_name(operation.name):
            for tensor in operation.inputs:
                takers.setdefault(tensor.name, []).append(operation)
    found: dict[str, Sequence[str]] = {}
    for operation in function.operations.values():
        forward = forward_name(operation.name)
        if not forward:
            continue
        scope = forward.rpartition("/")[0]
        for tensor in operation.inputs:
            maker = tensor.op
            if forward_name(maker.name):
                continue
            kind = operation.type.removesuffix("Grad")
            if kind != operation.type and maker.type == kind:
                found[operation.name] = [maker.name]
                break
            ops = [taker for taker in takers.get(tensor.name, ()) if _scope(taker.name) == scope]
            kinds = _OF_INPUT.get(operation.type, (kind,) if kind != operation.type else ())
            if maker.type not in _BY_OUTPUT and any(op.type in kinds for op in ops):
                found[operation.name] = [op.name for op in ops]
                break
    return found


def _scope(name: str) -> str:
    return name.rpartition("/")[0]
