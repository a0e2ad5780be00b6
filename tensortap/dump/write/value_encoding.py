"""Encodes a value for storage: raw, compressed where most of it is zero, or a sample of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import google_crc32c
import numpy as np

from tensortap.core.dtypes import STRING, Array, normalize
from tensortap.core.errors import InvalidValueError
from tensortap.core.sampling import Sample, with_sample
from tensortap.stats.summarize import is_complex

from ..format import value_codec
from ..format.layout import SAFETENSORS

COMPRESS_FROM = 8 << 10  # bytes; what smaller values would save is not worth the time


class EncodedValue(NamedTuple):
    """A value ready to be stored; `entry_dtype` is its safetensors dtype, if it has one."""

    data: memoryview | bytes
    codec: str
    crc32c: int
    entry_dtype: str | None
    shape: tuple[int, ...]
    align: int


def encode_value(values: Array, dtype: str, zeros: int, sample: Sample | None = None) -> EncodedValue:
    """The stored form of a normalized array.

    Args:
        values: the array.
        dtype: its logical dtype.
        zeros: how many of its elements are zero; it is compressed where they are more than half, and that
            saves space.
        sample: which elements are stored of a larger array, one-dimensional.
    """
    if sample is not None and sample.count < values.size:
        part = values.reshape(-1)[sample.positions(values.size)]
        encoded = encode_value(part, dtype, int(zeros * part.size / values.size))
        return encoded._replace(codec=with_sample(encoded.codec, sample))
    if dtype == STRING:
        data: memoryview | bytes = value_codec.strings_to_bytes(values)
        return EncodedValue(data, value_codec.RAW, google_crc32c.value(data), None, values.shape, 8)
    octets: Any = values.reshape(-1).view(np.uint8)
    if octets.nbytes > COMPRESS_FROM and 2 * zeros > values.size:
        item = values.itemsize // 2 if is_complex(dtype) else values.itemsize
        name, packed = value_codec.pack(octets, item, zeros / values.size)
        if len(packed) < octets.nbytes:
            return EncodedValue(packed, name, google_crc32c.value(packed), None, values.shape, 1)
    crc, entry_dtype = google_crc32c.value(octets), SAFETENSORS.get(dtype)
    return EncodedValue(memoryview(octets), value_codec.RAW, crc, entry_dtype, values.shape, values.itemsize)


def encode_kept(kept: Any, sample: Sample, size: int) -> EncodedValue:
    """The stored form of the elements that `sample` kept of a value of `size`.

    Raises:
        InvalidValueError: they are not as many.
    """
    values, dtype = normalize(kept)
    if values.shape != (sample.kept(size),):
        raise InvalidValueError(
            f"A sample of shape {values.shape} is not the one of {size} elements.",
            f"Give {sample.kept(size)} elements.",
        )
    encoded = encode_value(values, dtype, 0)
    return encoded._replace(codec=with_sample(encoded.codec, sample))
