"""Attributes of nodes, and names, as Python text."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any

import numpy as np
import tensorflow as tf

_MOST_NUMBERS = 16  # of a constant that stands in the script itself
_OF_SCRIPT = """sys Path tf RecordedInputs recorded_constants told_unlike read_bundle recording K main
branch bundle inputs outputs line"""
_RESERVED = frozenset({*_OF_SCRIPT.split(), *dir(builtins)})
"""What a script's own lines mean by these names must not change."""


class Identifiers:
    """Gives out Python names, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set(_RESERVED)

    def take(self, text: str) -> str:
        """A name like the last part of a node's."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", text.rpartition("/")[2])[:60].strip("_") or "x"
        plain = plain if re.match(r"[A-Za-z]", plain) and not keyword.iskeyword(plain) else f"x_{plain}"
        name, number = plain, 1
        while name in self._taken:
            number += 1
            name = f"{plain}_{number}"
        self._taken.add(name)
        return name


def comment(text: str) -> str:
    """Text on one line, whatever it holds."""
    return "".join(character if character.isprintable() else " " for character in text)[:200]


def attribute(value: Any) -> str | None:
    """An AttrValue as Python text; None if it cannot stand in a script."""
    kind = value.WhichOneof("value")
    if kind == "list":
        fields = ("s", "i", "f", "b", "type", "shape")
        items = next((list(getattr(value.list, name)) for name in fields if getattr(value.list, name)), [])
        name = next((name for name in fields if getattr(value.list, name)), "i")
        return "[" + ", ".join(_single(name, item) for item in items) + "]"
    if kind in ("s", "i", "f", "b", "type", "shape"):
        return _single(kind, getattr(value, kind))
    return None


def _single(kind: str, value: Any) -> str:
    if kind == "type":
        return _dtype(value)
    if kind == "shape":
        shape = tf.TensorShape(value)
        return "None" if shape.rank is None else repr(shape.as_list())
    if kind == "f":
        return repr(float(value)) if np.isfinite(value) else f"float({str(float(value))!r})"
    return repr(value)


def constant(tensor: Any) -> str | None:
    """A TensorProto as Python text; None if it is too large to be read."""
    array = tf.make_ndarray(tensor)
    if array.size > _MOST_NUMBERS or array.dtype == object:
        return None
    # The dtypes of ml_dtypes (bfloat16, float8_e4m3fn, int4, …) are of kind V.
    if array.dtype.kind not in "biu" and not np.isfinite(array.astype(np.complex128)).all():
        return None
    return f"tf.constant({array.tolist()!r}, {_dtype(tensor.dtype)}, shape={list(array.shape)!r})"


def _dtype(value: int) -> str:
    """TensorFlow has no name of its own for some (`tf.float8_e5m2`, `tf.int4`)."""
    name = tf.as_dtype(value).name
    return f"tf.{name}" if hasattr(tf, name) else f"tf.as_dtype({name!r})"
