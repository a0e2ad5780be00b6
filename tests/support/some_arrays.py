"""Arrays of every dtype a dump can hold, in every memory order."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from tensortap.core.dtypes import Array

NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMPY += ["float16", "float32", "float64", "complex64", "complex128"]
EXTENSIONS = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz"]
EXTENSIONS += ["float8_e5m2fnuz", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"]
EXTENSIONS += ["float6_e2m3fn", "float6_e3m2fn", "int2", "int4", "uint2", "uint4"]
NUMBERS = NUMPY + EXTENSIONS

shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


def numpy_type(name: str) -> np.dtype[Any]:
    """The dtype of that name, found without tensortap."""
    return np.dtype(getattr(ml_dtypes, name) if name in EXTENSIONS else name)


def from_bits(name: str, shape: tuple[int, ...], bits: bytes) -> Array:
    """An array whose elements have these bit patterns, NaNs and subnormals included."""
    dtype = numpy_type(name)
    octets = np.frombuffer(bits, np.uint8)
    array = (octets & 1).view(dtype) if name == "bool" else octets.copy().view(dtype)
    return array.reshape(shape)


@st.composite
def numbers(draw: st.DrawFn, name: str | None = None) -> Array:
    """An array of any numeric dtype, contiguous."""
    name = name or draw(st.sampled_from(NUMBERS))
    shape = draw(shapes)
    itemsize = numpy_type(name).itemsize
    # A few elements made of telling octets (zero, sign, exponent, NaN), and random ones.
    octets = st.sampled_from(b"\x00\x80\xff\x7f\x7c\x01\xc0\xf8")
    pool = draw(st.lists(st.lists(octets, min_size=itemsize, max_size=itemsize), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    patterns = np.concatenate([np.array(pool, np.uint8), rng.integers(0, 256, (2, itemsize), np.uint8)])
    return from_bits(name, shape, patterns[rng.integers(0, len(patterns), math.prod(shape))].tobytes())


ORDERS = ["C", "F", "reversed", "strided", "read-only", "unaligned", "big-endian"]


def in_order(array: Array, order: str) -> Array:
    """The same elements, laid out in memory another way."""
    if order == "F":
        return np.array(array, order="F")
    if order == "reversed":
        return np.flip(np.flip(array).copy(order="C"))
    if order == "strided" and array.ndim:
        twice = np.repeat(array, 2, axis=-1)
        return twice[..., ::2]
    if order == "unaligned":
        octets = np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:]
        return octets.view(array.dtype).reshape(array.shape)
    if order == "big-endian" and array.dtype.name in NUMPY:
        return array.astype(array.dtype.newbyteorder(">"))
    if order == "read-only":
        array = array.copy(order="C")
        array.flags.writeable = False
    return array


def same_bits(one: Array, other: Array) -> bool:
    """Whether two arrays agree in dtype, shape and every bit."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
