"""JSON without NaN: non-finite numbers travel as the strings "NaN", "Infinity" and "-Infinity"."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from .json_arrays import Placeholders, RawJson, is_long


def finite(number: float) -> float | str:
    """The number itself, or the string for a non-finite one."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def plain(data: Any) -> Any:
    """`data` in JSON types: dicts, lists, strings, numbers, booleans and None.

    Takes NumPy arrays and numbers, dataclasses, tuples, sets and mappings too.
    Bytes become text, `\\xNN` where they are not UTF-8.
    """
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return finite(data)
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, RawJson):
        return json.loads(data.text)
    if is_dataclass(data) and not isinstance(data, type):  # not asdict, which copies everything first
        return {field.name: plain(getattr(data, field.name)) for field in fields(data)}
    if isinstance(data, np.ndarray):
        return _array(data)
    if isinstance(data, np.generic):
        return _array(np.asarray(data))
    if isinstance(data, bytes):
        return data.decode("utf-8", "backslashreplace")
    if isinstance(data, list | tuple | set | frozenset | range):
        return [plain(item) for item in data]
    raise TypeError(f"{type(data).__name__} cannot be written as JSON")


def _array(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind in "biu" or (array.dtype.kind == "f" and np.isfinite(array).all()):
        return array.tolist()
    if array.dtype.kind == "V":  # bfloat16, float8 and int4 of ml_dtypes
        return _array(array.astype(np.float32))
    if array.dtype.kind == "c":
        return _array(np.stack([array.real, array.imag], axis=-1))
    return plain(array.tolist())


def to_json(data: Any) -> bytes:
    """Compact JSON, ASCII only (a run's folder name may not be UTF-8).

    The `json` module encodes most data directly, which is five times faster than `plain`, and calls
    `_one_level` for other types; where it meets NaN or Inf outside an array, `plain` converts everything.
    """
    placed = Placeholders()
    try:
        text = json.dumps(data, default=partial(_one_level, placed), allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(plain(data), allow_nan=False, separators=(",", ":")).encode("ascii")
    return placed.fill_in(text).encode("ascii")


def _one_level(placed: Placeholders, data: Any) -> Any:
    """One level of a type that the `json` module does not know, converted."""
    if isinstance(data, RawJson) or (isinstance(data, np.ndarray) and is_long(data)):
        return placed.place(data)
    if isinstance(data, Mapping):
        return dict(data)
    if is_dataclass(data) and not isinstance(data, type):
        return {field.name: getattr(data, field.name) for field in fields(data)}
    return plain(data)
