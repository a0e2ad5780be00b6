"""Logical dtypes: NumPy's and ml_dtypes' numbers under their own names, and `string`.

An array is brought into one of them by `normalize`; everything behind it sees native-endian, C-contiguous
numbers, or object arrays that hold `bytes`.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .errors import InvalidValueError

Array = np.ndarray[Any, np.dtype[Any]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
Int32s = np.ndarray[Any, np.dtype[np.int32]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

STRING = "string"

_INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
_NUMPY = ["bool", *_INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]


def _extensions() -> dict[str, np.dtype[Any]]:
    """Scalar types of ml_dtypes by name: bfloat16, float8_…, int4, …, as in the installed version."""
    found = {}
    for name in dir(ml_dtypes):
        kind = getattr(ml_dtypes, name)
        if isinstance(kind, type) and name[0].islower():
            dtype = np.dtype(kind)
            if dtype.name == name:
                found[name] = dtype
    return found


_BY_NAME: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in _NUMPY} | _extensions()
_NAMES = {dtype: name for name, dtype in _BY_NAME.items()}
_PARTS = {"complex64": "float32", "complex128": "float64", "complex32": "float16", "bcomplex32": "bfloat16"}
# TensorFlow shows its quantized types to NumPy as structs of one field.
_QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32"}


def numpy_dtype(dtype_name: str) -> np.dtype[Any]:
    """The NumPy dtype of a logical dtype; `object` for `string`.

    Raises:
        InvalidValueError: this version of tensortap or ml_dtypes knows no such dtype.
    """
    if dtype_name == STRING:
        return np.dtype(object)
    dtype = _BY_NAME.get(dtype_name)
    if dtype is None:
        raise InvalidValueError(
            f"The dtype {dtype_name[:80]!r} is unknown.", "Upgrade tensortap and ml_dtypes."
        )
    return dtype


def itemsize(dtype_name: str) -> int:
    """Bytes per element; 0 for `string`, whose elements differ in length."""
    return 0 if dtype_name == STRING else numpy_dtype(dtype_name).itemsize


def is_floating(dtype_name: str) -> bool:
    """Whether a logical dtype has fractions, NaN and infinities: float…, bfloat16, complex…"""
    return is_real_floating(dtype_name) or dtype_name.startswith(("complex", "bcomplex"))


def is_real_floating(dtype_name: str) -> bool:
    """Whether a logical dtype is float…, bfloat16 or float8_…"""
    return dtype_name.startswith(("float", "bfloat"))


def float_limits(dtype_name: str) -> Any:
    """`ml_dtypes.finfo` of a floating-point dtype; of a part, if it is complex.

    Raises:
        InvalidValueError: this version of tensortap or ml_dtypes knows no such dtype.
    """
    finfo: Any = ml_dtypes.finfo  # its stub knows no name of a dtype
    return finfo(_PARTS.get(dtype_name) or numpy_dtype(dtype_name))


def dtype_name(what: np.dtype[Any] | Array) -> str:
    """The logical dtype of an array or a NumPy dtype.

    Raises:
        InvalidValueError: it has none (datetime64, longdouble, structs, objects that are not text).
    """
    dtype = what if isinstance(what, np.dtype) else what.dtype
    name = _NAMES.get(dtype)
    if name is None and dtype.kind in "SUT":
        name = STRING
    if name is None and dtype.kind == "O" and (isinstance(what, np.dtype) or _is_text(what)):
        name = STRING
    if name is None and not dtype.isnative:
        name = _NAMES.get(dtype.newbyteorder("="))
    if name is None:
        raise InvalidValueError(f"An array of {_describe(dtype)} cannot be stored.", _fix_for(dtype))
    return name


def normalize(value: Any) -> tuple[Array, str]:
    """Returns `value` as an array of a logical dtype, and that dtype's name.

    Numbers come back native-endian and C-contiguous (not copied if they are already), text as an object array
    of `bytes` (str is encoded as UTF-8). Anything with `__array__`, such as an eager tensor, is accepted.

    Raises:
        InvalidValueError: `value` is not an array, a masked array, or has a dtype without a logical dtype.
    """
    array = _as_array(value)
    name = _NAMES.get(array.dtype)
    if name is None:
        if array.dtype.names is not None:
            array = _unwrap_quantized(array)
        name = dtype_name(array)
        array = _encode(array) if name == STRING else array.astype(_BY_NAME[name])
    return (array if array.flags.c_contiguous else np.array(array, order="C")), name


def _as_array(value: Any) -> Array:
    if type(value) is np.ndarray:
        return value
    if np.ma.is_masked(value):
        raise InvalidValueError(
            "Masked arrays cannot be stored.",
            "Fill the masked elements with array.filled(np.nan), or drop them with array.compressed().",
        )
    try:
        return np.asarray(value)
    except Exception as error:  # any error of a foreign __array__
        raise InvalidValueError(
            f"A {type(value).__name__} cannot be converted to an array: {str(error)[:200]}",
            "Convert it with numpy.asarray first.",
        ) from error


def _unwrap_quantized(array: Array) -> Array:
    names = array.dtype.names or ()
    if len(names) == 1 and names[0] in _QUANTIZED:
        return array[names[0]].astype(_QUANTIZED[names[0]])
    return array


def _is_text(array: Array) -> bool:
    return all(isinstance(item, (str, bytes)) for item in array.flat)


def _encode(array: Array) -> Array:
    encoded = np.empty(array.shape, object)
    flat = encoded.reshape(-1)
    for i, item in enumerate(array.flat):
        flat[i] = bytes(item) if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass")
    return encoded


def _describe(dtype: np.dtype[Any]) -> str:
    return "objects other than str and bytes" if dtype.kind == "O" else f"dtype {str(dtype)[:80]}"


def _fix_for(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "Mm":
        return "Convert it with .astype('int64'), which gives units since 1970 or the duration in units."
    if dtype.kind in "fc":
        return (
            "Convert it with .astype('float64') or .astype('complex128'); file formats do not "
            "support long doubles."
        )
    if dtype.names is not None:
        return "Store its fields separately."
    return "Convert it to numbers or text first; pass rows of unequal length as a list of arrays."


_FOREIGN = ("bfloat", "float8", "int4", "int2", "uint4", "uint2")  # NumPy's files know no names for them


def to_npy_dtype(array: Array) -> Array:
    """`array` with a dtype that `np.load(…, allow_pickle=False)` knows; numbers keep their values exactly.

    bfloat16 and float8 become float32, int4 and the like int8, strings (an object array of `bytes`) `S` of a
    fixed width.

    Raises:
        InvalidValueError: a string ends in NUL, which looks like the padding to a fixed width.
    """
    if array.dtype == object:
        if any(text[-1:] == b"\0" for text in array.flat):
            raise InvalidValueError(
                "A string ends in NUL, which .npy files cannot store.",
                "Use CSV or JSON, or read it with tensortap.open.",
            )
        return array.astype(f"S{max(text_width(array), 1)}")
    if array.dtype.kind == "V" or array.dtype.name.startswith(_FOREIGN):
        return array.astype(_standard(array.dtype.name))
    return array


def text_width(array: Array) -> int:
    """Bytes of the longest string."""
    return max((len(text) for text in array.flat), default=0)


def _standard(name: str) -> type[np.generic]:
    if name.startswith("uint"):
        return np.uint8
    return np.int8 if name.startswith("int") else np.float32
