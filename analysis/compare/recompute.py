"""Ops computed again in float64 from their kept inputs: whether a side's output is what its op gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.dump import TensortapError
from tensortap.index import RETURNED, read_slice

from ..provenance.operand import constant_text, nested_list
from ..provenance.step import Slot, StepTensors
from .noise import RTOL
from .pairs import MAX_BYTES

Array = np.ndarray[Any, np.dtype[np.float64]]
_MAX_WAY = 20  # nodes that only hand on, between an input and where it was captured
_COMPUTE: dict[str, Callable[..., Array]] = {
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


@dataclass(frozen=True, slots=True)
class Recomputed:
    """An elementwise op of one side. `output`: as captured; `inputs`: broadcast to its shape, all float64;
    `right`: whether the output is what the op gives of them, up to the rounding of its dtype."""

    output: Array
    inputs: list[Array]
    right: bool


def recomputed(tensors: StepTensors, slot: Slot, visit: int) -> Recomputed | None:
    """None where the op is not known here, or a value was not kept or not whole."""
    graph = tensors.graph
    compute, dtype = _COMPUTE.get(graph.op_type[slot[0]]), tensors.snapshot(slot, visit).dtype
    output = _captured(tensors, slot, visit)
    taken = [entry for entry in tensors.roles.inputs(slot[0]) if entry[2] != RETURNED]
    if compute is None or output is None or dtype not in RTOL:
        return None
    found = [_value(tensors, (row, at), slot[0], visit) for row, at, _ in taken]
    inputs = [value for value in found if value is not None]
    if len(inputs) < len(found):
        return None
    try:
        inputs = [np.broadcast_to(value, output.shape) for value in inputs]
        with np.errstate(all="ignore"):
            expected = np.asarray(compute(*inputs), np.float64)
            smallest = np.nextafter(np.float64(0), 1) if dtype == "float64" else 1e-37
            far = np.abs(output - expected) > RTOL[dtype] * np.abs(expected) + smallest
    except (ValueError, TypeError):  # shapes or a number of inputs that do not fit
        return None
    return Recomputed(output, inputs, not bool(far.any()))


def _value(tensors: StepTensors, slot: Slot, row: int, visit: int) -> Array | None:
    """What a node took at a visit, through nodes that hand it on as it is."""
    graph = tensors.graph
    for _ in range(_MAX_WAY):
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


def _captured(tensors: StepTensors, slot: Slot, visit: int | None) -> Array | None:
    snapshot = tensors.snapshot(slot, visit)
    if not snapshot.kept or (visit is not None and snapshot.visit != visit):
        return None
    try:
        value = read_slice(tensors.run, snapshot, "", limit=MAX_BYTES)
    except (TensortapError, OSError):  # damaged, kept in part, too large, or deleted meanwhile
        return None
    fits = value.shape == snapshot.shape and value.dtype.kind in "fViu"
    return np.asarray(value).astype(np.float64) if fits else None


def _constant(tensors: StepTensors, row: int) -> Array | None:
    text = constant_text(tensors.roles.attributes(row))
    found = None if text is None else nested_list(text)
    try:
        return None if found is None else np.asarray(found, np.float64)
    except (ValueError, TypeError):  # rows of unequal length
        return None
