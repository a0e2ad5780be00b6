"""JSON without NaN: non-finite numbers travel as the strings "NaN", "Infinity" and "-Infinity"."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def finite(number: float) -> float | str:
    """The number itself, or the string that stands for a non-finite one."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def plain(data: Any) -> Any:
    """`data` as what JSON knows: dicts, lists, strings, numbers, booleans and None.

    Takes NumPy arrays and numbers, dataclasses, tuples, sets and mappings too.
    Bytes become text, `\\xNN` where they are not UTF-8.
    """
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return finite(data)
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
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
    raise TypeError(f"{type(data).__name__} has no JSON form")


def _array(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind in "biu" or (array.dtype.kind == "f" and np.isfinite(array).all()):
        return array.tolist()
    if array.dtype.kind == "V":  # bfloat16, float8 and int4 of ml_dtypes
        return _array(array.astype(np.float32))
    if array.dtype.kind == "c":
        return _array(np.stack([array.real, array.imag], axis=-1))
    return plain(array.tolist())


def to_json(data: Any) -> bytes:
    """Compact JSON, ASCII only (a run's folder name may hold bytes that are not UTF-8).

    The encoder meets most of what it is given as it is, which is five times faster than `plain`, and asks for
    the rest; a number that is not finite makes it give up.
    """
    try:
        text = json.dumps(data, default=_one_level, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(plain(data), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii")


def _one_level(data: Any) -> Any:
    """What the encoder does not know, as something that it does."""
    if isinstance(data, Mapping):
        return dict(data)
    if is_dataclass(data) and not isinstance(data, type):
        return {field.name: getattr(data, field.name) for field in fields(data)}
    return plain(data)


class _IntTexts(dict[int, str]):
    """The texts of integers: counts are mostly the same few, and looking them up is faster than writing."""

    def __missing__(self, number: int) -> str:
        text = self[number] = str(number)
        return text


def to_json_with_rows(data: Any, key: str, rows: np.ndarray[Any, Any]) -> bytes:
    """`to_json`, with the rows of a matrix in the place of each `key` whose value is None, in order.

    Of integers this takes a quarter of the encoder's time.

    Args:
        rows: [n, m] for n such keys.
    """
    # Within a text the quotes would be escaped, so that only keys are found.
    pieces = to_json(data).decode("ascii").split(f'"{key}":null')
    if rows.dtype.kind in "iu":
        texts = _IntTexts()
        lists = ("[" + ",".join(map(texts.__getitem__, row)) + "]" for row in rows.tolist())
    else:
        lists = (to_json(row).decode("ascii") for row in rows)
    filled = [f'{piece}"{key}":{row}' for piece, row in zip(pieces[:-1], lists, strict=True)]
    return "".join((*filled, pieces[-1])).encode("ascii")
