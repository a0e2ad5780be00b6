"""Recomputes ops in float64 from their stored inputs, to check whether a side's output is correct for its
inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Floats
from tensortap.core.errors import TensortapError
from tensortap.index.graph.edges import RETURNED
from tensortap.index.values import read_slice

from ...dtype_limits import largest
from ...model_graph.op_types import constant_text, nested_list
from ...model_graph.roles import Slot
from ...run_view.step_tensors import StepTensors
from ..metrics.distances import RTOL
from ..tensor_pairs import MAX_BYTES
from .reference_outputs import OpCall, Reference, elementwise
from .reference_reductions import SUMS

_MAX_PATH = 20  # nodes that only forward, between an input and where it was captured
_ELEMENTWISE: dict[str, Callable[..., Floats]] = {
    "RealDiv": np.divide,
    "Div": np.divide,
    "Sub": np.subtract,
    "Add": np.add,
    "AddV2": np.add,
    "Mul": np.multiply,
    "Pow": np.power,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "SquaredDifference": lambda x, y: (x - y) ** 2,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Reciprocal": np.reciprocal,
    "Square": np.square,
    "Log": np.log,
    "Log1p": np.log1p,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sign": np.sign,
    "Abs": np.abs,
    "Neg": np.negative,
    "Relu": lambda x: np.maximum(x, 0),
    "ReluGrad": lambda gradient, x: np.where(x > 0, gradient, 0),
    "Sin": np.sin,
    "Cos": np.cos,
}
# Gradients take the forward op's output y and the gradient dy (TensorFlow: cwise_ops_gradients.h).
_OF_Y: dict[str, Callable[..., Floats]] = {
    "SqrtGrad": lambda y, dy: dy * 0.5 / y,
    "RsqrtGrad": lambda y, dy: -0.5 * dy * y**3,
    "ReciprocalGrad": lambda y, dy: -dy * y * y,
    "InvGrad": lambda y, dy: -dy * y * y,
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
}
# The largest of the terms that cancel: 1 - y² near y = 1 has lost the digits of y².
_TERMS: dict[str, Callable[..., Floats]] = {"TanhGrad": lambda y, dy: np.abs(dy) * (1 + y * y)}
_EXPECTED: dict[str, Callable[[OpCall], Reference | None]] = SUMS | {
    op_type: elementwise(compute, _TERMS.get(op_type)) for op_type, compute in (_ELEMENTWISE | _OF_Y).items()
}
# What may be lost near 0: subnormal numbers, which kernels may flush where the hardware computes in that
# dtype; 16-bit and 8-bit floats are computed in float32, and rounded to their own smallest subnormal.
_TINY = {
    "float64": 2.0**-1022,
    "float32": 1e-37,
    "bfloat16": 1e-37,
    "float16": 2.0**-24,
    "float8_e4m3fn": 2.0**-9,
    "float8_e5m2": 2.0**-16,
}


@dataclass(frozen=True, slots=True)
class Recomputed:
    """An op of one side. `output`: as captured, float64; `inputs`: of elementwise ops, in the same shape;
    `right`: the output is correct for the inputs within the rounding of kernels; `wrong`: no correct kernel
    computes it. Neither: undecided."""

    output: Floats
    inputs: list[Floats]
    right: bool
    wrong: bool


def recomputed(tensors: StepTensors, slot: Slot, visit: int) -> Recomputed | None:
    """Recomputes an op; None if the op is not supported, or a value was not stored or not stored whole."""
    graph = tensors.graph
    op_type, snapshot = graph.op_type[slot[0]], tensors.snapshot(slot, visit)
    if op_type not in _EXPECTED or snapshot.dtype not in RTOL:
        return None
    output = _captured(tensors, slot, visit)
    taken = [entry for entry in tensors.roles.inputs(slot[0]) if entry[2] != RETURNED]
    if output is None:
        return None
    found = [_value(tensors, (row, at), slot[0], visit) for row, at, _ in taken]
    inputs = [value for value in found if value is not None]
    if len(inputs) < len(found):
        return None
    attributes = tensors.roles.attributes(slot[0])
    cpu = "CPU" in snapshot.device.upper()
    call = OpCall(op_type, inputs, attributes, snapshot.dtype, output.shape, cpu)
    try:
        with np.errstate(all="ignore"):
            reference = _EXPECTED[op_type](call)
            if reference is None or reference.value.shape != output.shape:
                return None
            right, wrong = _judged(output, reference, snapshot.dtype)
        shown = (
            [np.broadcast_to(value, output.shape) for value in inputs]
            if op_type in _ELEMENTWISE or op_type in _OF_Y
            else []
        )
    except (ValueError, TypeError, IndexError, KeyError):  # a graph whose shapes and attributes do not fit
        return None
    return Recomputed(output, shown, right, wrong)


def _judged(output: Floats, reference: Reference, dtype: str) -> tuple[bool, bool]:
    """(right, wrong). If the op computes NaN or overflows the dtype, no finite bound applies."""
    limit = largest(dtype)
    error = np.abs(output - reference.value)
    same = (output == reference.value) | (np.isnan(output) & np.isnan(reference.value))
    overflows = np.abs(reference.value) + reference.typical >= limit
    same |= overflows & (output == np.copysign(math.inf, reference.value))
    right = same | (error <= reference.typical + _TINY[dtype])
    bounded = np.isfinite(reference.value) & (np.abs(reference.value) + reference.worst < limit)
    wrong = bounded & ~(error <= reference.worst + _TINY[dtype])
    return bool(right.all()), bool(wrong.any())


def _value(tensors: StepTensors, slot: Slot, row: int, visit: int) -> Floats | None:
    """Value that a node read at a visit, through nodes that copy it."""
    graph = tensors.graph
    for _ in range(_MAX_PATH):
        op_type = graph.op_type[slot[0]]
        if slot in tensors.captured:
            if graph.function.codes[slot[0]] != graph.function.codes[row]:
                return _captured(tensors, slot, None) if len(tensors.captured[slot]) == 1 else None
            later = int(graph.order[slot[0]]) > int(graph.order[row])
            return None if later else _captured(tensors, slot, visit)
        if op_type == "Const":
            return _constant(tensors, slot[0])
        before = tensors.roles.inputs(slot[0])
        if (
            op_type not in ("Identity", "StopGradient", "_Arg")
            or len(before) != 1
            or _in_loop(tensors, slot[0])
        ):
            return None
        slot = before[0][0], before[0][1]
    return None


def _in_loop(tensors: StepTensors, row: int) -> bool:
    info = tensors.graph.functions.get(tensors.graph.function[row])
    return info is not None and info.role in ("body", "cond")


def _captured(tensors: StepTensors, slot: Slot, visit: int | None) -> Floats | None:
    snapshot = tensors.snapshot(slot, visit)
    if not snapshot.kept or (visit is not None and snapshot.visit != visit):
        return None
    try:
        value = read_slice(tensors.run, snapshot, "", limit=MAX_BYTES)
    except (TensortapError, OSError):  # damaged, sampled, too large, or just deleted
        return None
    fits = value.shape == snapshot.shape and value.dtype.kind in "fViu"
    return np.asarray(value).astype(np.float64) if fits else None


def _constant(tensors: StepTensors, row: int) -> Floats | None:
    text = constant_text(tensors.roles.attributes(row))
    found = None if text is None else nested_list(text)
    try:
        return None if found is None else np.asarray(found, np.float64)
    except (ValueError, TypeError):  # rows of unequal length
        return None
