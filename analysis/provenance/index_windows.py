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
    strides = [int(n) for n in _NUMBER.findall(call.attributes.get("strides", ""))]
    dilations = [int(n) for n in _NUMBER.findall(call.attributes.get("dilations", ""))]
    same = "SAME" in call.attributes.get("padding", "VALID")
    found = []
    for dim, extent in enumerate(extents, 1):
        stride = strides[dim] if dim < len(strides) else 1
        step = dilations[dim] if dim < len(dilations) else 1
        size, span = call.shapes[0][dim], (extent - 1) * step + 1
        before = max((call.out_shape[dim] - 1) * stride + span - size, 0) // 2 if same else 0
        first = index[dim] * stride - before
        found.append(slice(first % step if first < 0 else first, min(first + span, size), step))
    return tuple(found)


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


def _pooling(call: Any, index: tuple[int, ...]) -> list[tuple[int, Parts]]:
    if not _channels_last(call):
        return []
    size = [int(n) for n in _NUMBER.findall(call.attributes.get("ksize", ""))]
    return [(0, (index[0], *_windows(call, index, tuple(size[1:-1])), index[-1]))]


WINDOWS: dict[str, Callable[[Any, tuple[int, ...]], list[tuple[int, Parts]]]] = {
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "DepthwiseConv2dNative": _convolution,
    "MaxPool": _pooling,
    "AvgPool": _pooling,
    "MaxPool3D": _pooling,
    "AvgPool3D": _pooling,
}
