"""Index maps of convolutions and pooling: the window of the input below an element of the output."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_NUMBER = re.compile(r"-?\d+")
Parts = tuple[int | slice, ...]


def _windows(call: Any, index: tuple[int, ...], extents: tuple[int, ...]) -> tuple[slice, ...]:
    """The slices of the spatial dimensions (channels last) that one output position sees.

    Padding as TensorFlow defines it: SAME puts `max((out - 1) * stride + window - in, 0) // 2` in front.
    """
    same, found = _is_same(call), []
    for dim, extent in enumerate(extents, 1):
        stride, step = _number(call, "strides", dim), _number(call, "dilations", dim)
        size, span = call.shapes[0][dim], (extent - 1) * step + 1
        before = max((call.out_shape[dim] - 1) * stride + span - size, 0) // 2 if same else 0
        first = index[dim] * stride - before
        found.append(slice(first % step if first < 0 else first, min(first + span, size), step))
    return tuple(found)


def _number(call: Any, name: str, dim: int) -> int:
    """The entry of a list attribute for a dimension; 1 where it is absent."""
    found = _NUMBER.findall(call.attributes.get(name, ""))
    return int(found[dim]) if dim < len(found) else 1


def _is_same(call: Any) -> bool:
    return "SAME" in call.attributes.get("padding", "VALID")


def _channels_last(call: Any) -> bool:
    return not call.attributes.get("data_format", "NHWC").startswith("NC") and call.shapes[0] is not None


def _convolution(call: Any, index: tuple[int, ...]) -> list[tuple[int, Parts]]:
    kernel = call.shapes[1]
    if not _channels_last(call) or kernel is None:
        return []
    spatial = _windows(call, index, kernel[:-2])
    everywhere = (slice(None),) * len(spatial)
    if call.op_type.startswith("Depthwise"):
        channel, copy = divmod(index[-1], kernel[-1])
        return [(0, (index[0], *spatial, channel)), (1, (*everywhere, channel, copy))]
    return [(0, (index[0], *spatial, slice(None))), (1, (*everywhere, slice(None), index[-1]))]


def _transposed(call: Any, index: tuple[int, ...]) -> list[tuple[int, Parts]]:
    """Conv2DBackpropInput, which transposed convolutions are: which elements of input 2 saw this position."""
    kernel, given = call.shapes[1], call.shapes[2]
    if call.attributes.get("data_format", "NHWC").startswith("NC") or kernel is None or given is None:
        return []
    spatial = []
    for dim, extent in enumerate(kernel[:-2], 1):
        stride = _number(call, "strides", dim)
        span = (extent - 1) * _number(call, "dilations", dim) + 1
        size = call.out_shape[dim]
        before = max((given[dim] - 1) * stride + span - size, 0) // 2 if _is_same(call) else 0
        last = (index[dim] + before) // stride
        first = -((span - 1 - index[dim] - before) // stride)
        spatial.append(slice(max(first, 0), min(last + 1, given[dim])))
    return [(2, (index[0], *spatial, slice(None)))]


def _pooling(call: Any, index: tuple[int, ...]) -> list[tuple[int, Parts]]:
    if not _channels_last(call):
        return []
    size = [int(n) for n in _NUMBER.findall(call.attributes.get("ksize", ""))]
    return [(0, (index[0], *_windows(call, index, tuple(size[1:-1])), index[-1]))]


WINDOWS: dict[str, Callable[[Any, tuple[int, ...]], list[tuple[int, Parts]]]] = {
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "DepthwiseConv2dNative": _convolution,
    "Conv2DBackpropInput": _transposed,
    "Conv3DBackpropInputV2": _transposed,
    "MaxPool": _pooling,
    "AvgPool": _pooling,
    "MaxPool3D": _pooling,
    "AvgPool3D": _pooling,
}
