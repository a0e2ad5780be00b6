"""PNG without a library: arrays as grey or colour pictures."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import LimitError, SelectionError

MAX_SIDE = 16384
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG colour type: grey, grey and alpha, RGB, RGBA


@dataclass(frozen=True, slots=True)
class Scale:
    """The values that become black and white; None: the smallest or largest finite value of the slice."""

    low: float | None = None
    high: float | None = None


def png(array: Array, scale: Scale) -> bytes:
    """A picture of `array`: `[y, x]`, or `[y, x, channels]` with 1, 3 or 4 channels.

    uint8 without a scale keeps its values. In grey pictures NaN is transparent; infinities are clipped.

    Raises:
        SelectionError: other shapes, and complex numbers.
        LimitError: a side is longer than `MAX_SIDE`.
    """
    channels = 1 if array.ndim == 2 else array.shape[-1] if array.ndim == 3 else 0
    if channels not in (1, 3, 4) or array.size == 0 or array.dtype.kind == "c":
        raise SelectionError(
            f"Shape {list(array.shape)} and dtype {array.dtype.name} cannot be shown as an image.",
            "Select two dimensions of real numbers, or three with 1, 3 or 4 channels last: selection=0,:,:.",
        )
    if max(array.shape[:2]) > MAX_SIDE:
        raise LimitError(
            f"The image would be {array.shape[1]} × {array.shape[0]}.",
            f"The limit is {MAX_SIDE} pixels per side.",
        )
    pixels = grey_levels(array, scale).reshape(*array.shape[:2], channels)
    missing = np.isnan(array).reshape(*array.shape[:2], channels).any(-1) if array.dtype.kind == "f" else None
    if channels == 1 and missing is not None and missing.any():
        alpha = np.where(missing, 0, 255).astype(np.uint8)
        pixels = np.concatenate([pixels, alpha[..., None]], axis=-1)
    return encode(pixels)


def grey_levels(array: Array, scale: Scale) -> Array:
    """uint8 levels of `array`, same shape; NaN becomes 0."""
    if array.dtype == np.uint8 and scale == Scale():
        return array
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    low = scale.low if scale.low is not None else float(finite.min(initial=np.inf)) if finite.size else 0.0
    high = (
        scale.high if scale.high is not None else float(finite.max(initial=-np.inf)) if finite.size else 1.0
    )
    with np.errstate(all="ignore"):  # a range beyond 1e308 overflows, a constant one divides by zero
        levels = (
            (values / 2 - low / 2) / (high / 2 - low / 2) if high > low else np.where(values > low, 1.0, 0.5)
        )
    levels = np.nan_to_num(np.clip(levels, 0, 1), nan=0.0)
    rounded: Array = np.rint(levels * 255).astype(np.uint8)
    return rounded


def encode(pixels: Array) -> bytes:
    """`pixels` uint8 `[y, x, channels]` as a PNG file."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter, 0: none
    rows[:, 1:] = pixels.reshape(height, -1)
    packed = zlib.compress(rows.tobytes(), 1)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
