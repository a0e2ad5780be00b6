"""Arrays as NumPy's own files can hold them, for those who read them without tensortap."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidValueError

Array = np.ndarray[Any, Any]
_FOREIGN = ("bfloat", "float8", "int4", "int2", "uint4", "uint2")  # NumPy's files know no names for them


def loadable(array: Array) -> Array:
    """`array` with a dtype that `np.load(…, allow_pickle=False)` knows; numbers keep their values exactly.

    bfloat16 and float8 become float32, int4 and the like int8, strings (an object array of `bytes`) `S` of a
    fixed width.

    Raises:
        InvalidValueError: a string ends in NUL, which the padding to a fixed width cannot be told from.
    """
    if array.dtype == object:
        if any(text[-1:] == b"\0" for text in array.flat):
            raise InvalidValueError(
                "A string ends in NUL, which NumPy's files cannot keep.",
                "Take CSV or JSON, or read it with tensortap.open.",
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
