"""TensorFlow's DataType numbers, and TensorProto messages as arrays, without TensorFlow."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from tensortap.core.dtypes import STRING, Array, numpy_dtype
from tensortap.core.errors import DamagedError, InvalidValueError

# DataType in tensorflow/core/framework/types.proto. Quantized numbers are their integers.
_NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: STRING, 8: "complex64",
    9: "int64", 10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16", 15: "int16", 16: "uint16",
    17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2",
    25: "float8_e4m3fn", 26: "float8_e4m3fnuz", 27: "float8_e4m3b11fnuz", 28: "float8_e5m2fnuz", 29: "int4",
    30: "uint4", 31: "int2", 32: "uint2", 33: "float4_e2m1fn",
}  # fmt: skip
# TensorFlow's names of dtypes that are not logical dtypes, or share one.
_OWN_NAMES = {
    0: "invalid", 11: "qint8", 12: "quint8", 13: "qint32", 15: "qint16", 16: "quint16", 20: "resource",
    21: "variant",
}  # fmt: skip
_REFERENCE = 100  # DT_FLOAT_REF and the like are 100 more
_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val",
    "uint32": "uint32_val", "uint64": "uint64_val", "complex64": "scomplex_val", "complex128": "dcomplex_val",
    "float16": "half_val", "bfloat16": "half_val",
}  # fmt: skip
MAX_TENSOR = 4 << 30  # bytes of one array
_MAX_RATIO = 1_100  # of an array to its message, which may say one number for all: as far as deflate packs
_ALWAYS = 64 << 10  # bytes that a message of any size may expand to


def data_type_name(number: int) -> str:
    """The logical dtype of a DataType number; TensorFlow's own name (`resource`) if there is none.

    Numbers that this version does not know are `unknown`.
    """
    number = number - _REFERENCE if number > _REFERENCE else number
    return _NAMES.get(number) or _OWN_NAMES.get(number, "unknown")


def tensorflow_type_name(number: int) -> str:
    """TensorFlow's name of a DataType number, possibly with `_ref` appended."""
    if number > _REFERENCE:
        return f"{tensorflow_type_name(number - _REFERENCE)}_ref"
    return _OWN_NAMES.get(number) or _NAMES.get(number, "unknown")


def proto_shape(proto: Any) -> tuple[int | None, ...] | None:
    """A TensorShapeProto message as a tuple; None for an unknown dimension, and None for unknown rank."""
    if proto.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in proto.dim)


def tensor_array(proto: Any) -> Array:
    """The array in a TensorProto message; strings as an object array of `bytes`.

    Raises:
        InvalidValueError: it holds no numbers or text (a resource or variant), an array beyond 4 GiB, or one
            number for more than 64 KiB and 1,100 times the bytes of the message.
        DamagedError: shape and content do not fit together.
    """
    name = _NAMES.get(proto.dtype)
    shape = proto_shape(proto.tensor_shape)
    if name is None:
        raise InvalidValueError(f"A tensor of {tensorflow_type_name(proto.dtype)} has no array.")
    if shape is None or any(extent is None for extent in shape):
        raise DamagedError("The shape of a tensor is unknown.")
    extents = tuple(extent or 0 for extent in shape)
    size = math.prod(extents)
    dtype = numpy_dtype(name)
    # NumPy multiplies the other extents of an empty array, too.
    room = math.prod(extent or 1 for extent in extents) * dtype.itemsize
    if size * dtype.itemsize > MAX_TENSOR or room >= 1 << 63 or len(extents) > 64:
        raise InvalidValueError(f"A tensor of shape {str(extents)[:100]} is larger than 4 GiB, the limit.")
    flat = _content(proto, name, dtype, size) if proto.tensor_content else _repeated(proto, name, dtype, size)
    return flat.reshape(extents)


def _content(proto: Any, name: str, dtype: np.dtype[Any], size: int) -> Array:
    if name == STRING or len(proto.tensor_content) != size * dtype.itemsize:
        raise DamagedError(f"A tensor of {size:,} elements has {len(proto.tensor_content):,} bytes.")
    return np.frombuffer(proto.tensor_content, dtype.newbyteorder("<") if dtype.kind != "V" else dtype)


def _repeated(proto: Any, name: str, dtype: np.dtype[Any], size: int) -> Array:
    """Numbers from the field of their type; the last one is repeated if there are too few."""
    given = _stored_elements(proto, name, dtype)
    if len(given) > size:
        raise DamagedError(f"A tensor of {size:,} elements has {len(given):,} values.")
    if len(given) == size:
        return given
    stored = proto.ByteSize()
    if size * dtype.itemsize > max(_ALWAYS, _MAX_RATIO * stored):
        raise InvalidValueError(f"A tensor of {size:,} elements repeats a number stored in {stored:,} bytes.")
    last = given[-1] if len(given) else (b"" if name == STRING else dtype.type(0))
    filled = np.full(size, last, dtype)
    filled[: len(given)] = given
    return filled


def _stored_elements(proto: Any, name: str, dtype: np.dtype[Any]) -> Array:
    if name == STRING:
        texts = np.empty(len(proto.string_val), object)
        texts[:] = list(proto.string_val)
        return texts
    if name.startswith("float8"):
        return np.frombuffer(proto.float8_val, dtype)
    numbers = getattr(proto, _FIELDS.get(name, "int_val"))
    if name in ("float16", "bfloat16"):
        bits = np.fromiter(numbers, np.int64, len(numbers)).astype(np.uint16)
        return bits.view(dtype)
    if name.startswith("complex"):
        part = np.float32 if name == "complex64" else np.float64
        parts = np.fromiter(numbers, part, len(numbers))
        return parts[: len(parts) & ~1].view(dtype)
    return _narrowed(numbers, dtype)


def _narrowed(numbers: Any, dtype: np.dtype[Any]) -> Array:
    """Integers arrive as int32 for every dtype; values that do not fit wrap, as in TensorFlow."""
    if dtype.kind in "fbiu":
        wide = np.fromiter(numbers, np.uint64 if dtype == np.uint64 else _wide(dtype), len(numbers))
        return wide.astype(dtype)
    wide = np.fromiter(numbers, np.int64, len(numbers))
    return (wide.astype(np.int8) if dtype != ml_dtypes.float4_e2m1fn else wide).astype(dtype)


def _wide(dtype: np.dtype[Any]) -> type[np.generic]:
    return np.float64 if dtype.kind == "f" else np.int64
