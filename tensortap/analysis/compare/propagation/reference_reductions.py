"""Reference outputs of matrix products, convolutions, reductions and softmax."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from tensortap.core.dtypes import Floats

from ..metrics.distances import RTOL
from .reference_outputs import MAX_WORK, OpCall, Reference, check_shape, elementwise, of_sum

_INTEGER = re.compile(r"-?\d+")


def _matmul(call: OpCall) -> Reference | None:
    a, b = call.inputs
    a = a.swapaxes(-1, -2) if call.flag("transpose_a") or call.flag("adj_x") else a
    b = b.swapaxes(-1, -2) if call.flag("transpose_b") or call.flag("adj_y") else b
    check_shape((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), call)
    if math.prod(call.shape) * a.shape[-1] > MAX_WORK:
        return None
    return of_sum(call, a @ b, np.abs(a) @ np.abs(b), a.shape[-1], products=True)


def _einsum(call: OpCall) -> Reference | None:
    equation = call.attributes["equation"].replace(" ", "")
    left, _, result = equation.partition("->")
    terms = left.split(",")
    if "." in equation or len(terms) != len(call.inputs):
        return None
    extents: dict[str, int] = {}
    for term, operand in zip(terms, call.inputs, strict=True):
        extents |= dict(zip(term, operand.shape, strict=True))
    check_shape(tuple(extents[letter] for letter in result), call)
    work = math.prod(extents.values())
    if work > MAX_WORK:
        return None
    value = np.einsum(equation, *call.inputs, optimize=True)
    magnitude = np.einsum(equation, *map(np.abs, call.inputs), optimize=True)
    return of_sum(call, value, magnitude, work // max(value.size, 1), products=True)


def _conv2d(call: OpCall) -> Reference | None:
    """Channels last, without groups. Accelerators also use algorithms (Winograd, FFT) with larger errors than
    these bounds; on them nothing is called wrong."""
    images, kernel = call.inputs
    if call.attributes.get("data_format", "NHWC") != "NHWC" or images.shape[3] != kernel.shape[2]:
        return None
    terms = math.prod(kernel.shape[:3])
    if math.prod(call.shape) * terms > MAX_WORK:
        return None
    padded = np.pad(images, [(0, 0), *_padding(call, images.shape, kernel.shape), (0, 0)])
    value, magnitude = np.zeros(call.shape), np.zeros(call.shape)
    for i, j in np.ndindex(*kernel.shape[:2]):
        seen = padded[:, _taps(call, 1, i), _taps(call, 2, j)]
        value += seen @ kernel[i, j]
        magnitude += np.abs(seen) @ np.abs(kernel[i, j])
    found = of_sum(call, value, magnitude, terms, products=True)
    return found if call.cpu else found._replace(worst=np.full(call.shape, math.inf))


def _taps(call: OpCall, dim: int, at: int) -> slice:
    """The positions that one tap of the kernel sees along a dimension."""
    stride, first = _entry(call, "strides", dim), at * _entry(call, "dilations", dim)
    return slice(first, first + (call.shape[dim] - 1) * stride + 1, stride)


def _padding(call: OpCall, images: tuple[int, ...], kernel: tuple[int, ...]) -> list[tuple[int, int]]:
    """Zeros before and after, for both spatial dimensions; SAME as TensorFlow defines it."""
    kind, found = call.attributes.get("padding", "VALID"), []
    for dim in (1, 2):
        span = (kernel[dim - 1] - 1) * _entry(call, "dilations", dim) + 1
        lacking = max((call.shape[dim] - 1) * _entry(call, "strides", dim) + span - images[dim], 0)
        before = lacking // 2 if "SAME" in kind else 0
        if "EXPLICIT" in kind:
            before = _entry(call, "explicit_paddings", 2 * dim)
        found.append((before, max(lacking - before, 0)))
    return found


def _entry(call: OpCall, name: str, at: int) -> int:
    """An entry of a list attribute; 1 where it is absent."""
    found = _INTEGER.findall(call.attributes.get(name, ""))
    return int(found[at]) if at < len(found) else 1


def _reduced(
    reduce: Callable[..., Floats], magnitude_of: Callable[..., Floats] | None
) -> Callable[[OpCall], Reference]:
    """A reduction along the axes that are the second input. Without `magnitude_of` it only chooses."""

    def reference(call: OpCall) -> Reference:
        values, axes = call.inputs
        axis, keep = tuple(np.atleast_1d(axes).astype(np.int64).tolist()), call.flag("keep_dims")
        value = np.asarray(reduce(values, axis=axis, keepdims=keep))
        if magnitude_of is None:
            return Reference(value, np.zeros(value.shape), 2 * call.unit * np.abs(value))
        magnitude = np.asarray(magnitude_of(np.abs(values), axis=axis, keepdims=keep))
        terms = values.size // max(value.size, 1)
        return of_sum(call, value, magnitude, terms, mean=reduce is np.mean)

    return reference


def _bias_add(call: OpCall) -> Reference:
    values, bias = call.inputs
    if call.attributes.get("data_format", "NHWC").startswith("NC"):
        bias = bias.reshape(-1, *[1] * (values.ndim - 2))
    shaped = OpCall(call.op_type, (values, bias), call.attributes, call.dtype, call.shape, call.cpu)
    return elementwise(np.add)(shaped)


def _bias_add_grad(call: OpCall) -> Reference:
    (values,) = call.inputs
    channel = 1 if call.attributes.get("data_format", "NHWC").startswith("NC") else values.ndim - 1
    axis = tuple(dim for dim in range(values.ndim) if dim != channel)
    terms = values.size // max(values.shape[channel], 1)
    return of_sum(call, values.sum(axis), np.abs(values).sum(axis), terms)


def _softmax(call: OpCall) -> Reference:
    """Over the last dimension. Each exponent has the rounding error of x - max, and each exponential the same
    error relatively."""
    shifted, share = _shifted(call)
    value = np.exp(shifted)
    value /= value.sum(-1, keepdims=True)
    return _within(value, value, share, call)


def _log_softmax(call: OpCall) -> Reference:
    shifted, share = _shifted(call)
    sums = np.log(np.exp(shifted).sum(-1, keepdims=True))
    value = shifted - sums
    return _within(value, np.abs(value) + 1, share, call)


def _shifted(call: OpCall) -> tuple[Floats, Floats]:
    (logits,) = call.inputs
    largest = logits.max(-1, keepdims=True)
    shifted = logits - largest
    return shifted, np.abs(shifted) + np.abs(logits) + np.abs(largest)


def _within(value: Floats, magnitude: Floats, exponents: Floats, call: OpCall) -> Reference:
    """The bounds of softmax: of its sum, its exponents and its few other roundings."""
    terms = call.inputs[0].shape[-1]
    typical = RTOL[call.dtype] + 2 * call.unit * (math.sqrt(terms) + exponents)
    found = of_sum(call, value, magnitude, terms + 4)
    worst = found.worst + (RTOL[call.dtype] + 4 * call.unit * exponents) * magnitude
    worst[4 * call.unit * exponents > 0.5] = math.inf
    return Reference(value, typical * magnitude, worst)


SUMS: dict[str, Callable[[OpCall], Reference | None]] = {
    "MatMul": _matmul,
    "BatchMatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "BatchMatMulV3": _matmul,
    "Einsum": _einsum,
    "Conv2D": _conv2d,
    "BiasAdd": _bias_add,
    "BiasAddGrad": _bias_add_grad,
    "Sum": _reduced(np.sum, np.sum),
    "Mean": _reduced(np.mean, np.mean),
    "Max": _reduced(np.max, None),
    "Min": _reduced(np.min, None),
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
}
