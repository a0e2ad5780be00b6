"""Variables that a checkpoint holds in slices: partitioned ones, and those above a policy's size of a shard.

The entry of such a variable lists its slices; each has an entry of its own, whose key is made of the
variable's name and the slice (saved_tensor_slice_util.cc and ordered_code.cc of TensorFlow).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.tfproto.proto_classes import Message

from ..errors import RefusedError

MARK = b"\0"  # that the keys of slices begin with, and no name does
_ALL = -1  # TensorFlow's length of a slice that has all of an extent
_ESCAPES = {0: b"\0\xff", 255: b"\xff\0"}
MAX_SLICES = 100_000

Extents = tuple[tuple[int, int], ...]  # start and length in each dimension


def slices_of(entry: Message) -> list[Extents]:
    """The slices of a variable. Raises RefusedError: there are too many."""
    if len(entry.slices) > MAX_SLICES:
        raise RefusedError(f"It lies in {len(entry.slices):,} slices; the limit is {MAX_SLICES:,}.")
    return [tuple((e.start, e.length or _ALL) for e in part.extent) for part in entry.slices]


def key_of(name: bytes, part: Extents) -> bytes:
    """The key of a slice's entry."""
    escaped = b"".join(_ESCAPES.get(byte, bytes([byte])) for byte in name)
    head = MARK + escaped + b"\0\1" + _number(len(part))
    return head + b"".join(_signed(number) for extent in part for number in extent)


def _number(number: int) -> bytes:
    """Its length in bytes, then the bytes."""
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _signed(number: int) -> bytes:
    """Seven bits a byte; the first bits tell the length, inverted for negative numbers."""
    length = (~number if number < 0 else number).bit_length() // 7 + 1
    bits = 8 * length
    head = ((1 << length) - 1) << (bits - length)
    return ((number & ((1 << bits) - 1)) ^ head).to_bytes(length, "big")


def assemble(shape: tuple[int, ...], dtype: np.dtype[Any], parts: list[tuple[Extents, Array]]) -> Array:
    """The whole variable of a shape and dtype from its slices.

    Raises:
        RefusedError: the slices do not fill it, overlap, or lie outside of it.
    """
    if sum(array.size for _, array in parts) != math.prod(shape):
        raise RefusedError("Its slices do not fill it.")
    whole = np.zeros(shape, dtype)
    filled = np.zeros(shape, bool)
    for part, array in parts:
        place = _place(part, shape)
        if filled[place].shape != array.shape or filled[place].any() or array.dtype != dtype:
            raise RefusedError("Its slices overlap, or are not of its shape and dtype.")
        whole[place] = array
        filled[place] = True
    return whole


def _place(part: Extents, shape: tuple[int, ...]) -> tuple[slice, ...]:
    if len(part) != len(shape):
        raise RefusedError("Its slices are not of its rank.")
    place = []
    for (start, length), extent in zip(part, shape, strict=True):
        end = extent if length == _ALL else start + length
        if not 0 <= start <= end <= extent:
            raise RefusedError("A slice lies outside of it.")
        place.append(slice(start, end))
    return tuple(place)
