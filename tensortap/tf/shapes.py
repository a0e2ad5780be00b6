"""TensorFlow's dtypes and shapes in the words of a dump."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensortap.core.dtypes import dtype_name
from tensortap.core.errors import InvalidValueError


def capturable_dtype(dtype: Any) -> str:
    """The logical dtype that snapshots of a TensorFlow dtype have; empty if it cannot be captured."""
    try:
        return dtype_name(np.dtype(dtype.as_numpy_dtype))
    except (KeyError, TypeError, InvalidValueError):  # resource and variant, or newer than ml_dtypes
        return ""


def dtype_text(dtype: Any) -> str:
    """The logical dtype, or TensorFlow's own name (`resource`, `variant`) if there is none."""
    return capturable_dtype(dtype) or str(dtype.name)


def static_shape(shape: Any) -> tuple[int | None, ...] | None:
    """A TensorShape as a tuple; None for an unknown dimension, and None for unknown rank."""
    return None if shape.rank is None else tuple(shape.as_list())
