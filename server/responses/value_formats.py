"""The formats a slice is sent in: `.npy`, JSON, CSV, PNG. One row in `FORMATS` each."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array, text_width, to_npy_dtype
from tensortap.core.errors import LimitError, SelectionError
from tensortap.core.slice_selection import Selection
from tensortap.core.text import csv_text
from tensortap.index.snapshot import Snapshot

from .json_arrays import RawJson, encode_array
from .json_encoding import to_json
from .png import Scale, png

MAX_TEXT_ELEMENTS = 2**20  # as text an element takes up to 25 bytes and a microsecond
MAX_STRINGS = 64 * 2**20
_CHUNK_ELEMENTS = 65536


@dataclass(frozen=True, slots=True)
class Format:
    """How a slice becomes bytes."""

    content_type: str
    disposition: str
    encode: Callable[[Array, Snapshot, Selection, Scale], bytes]


def _checked(array: Array) -> Array:
    """`to_npy_dtype`, unless its strings take too much."""
    if array.dtype == object:
        size = text_width(array) * array.size
        if size > MAX_STRINGS:
            raise LimitError(
                f"The strings need {size:,} bytes at a fixed width.", "Select fewer, or use format=json."
            )
    return to_npy_dtype(array)


def _npy(array: Array, snapshot: Snapshot, selection: Selection, scale: Scale) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(_checked(array)).reshape(array.shape), allow_pickle=False)
    return buffer.getvalue()


def _json(array: Array, snapshot: Snapshot, selection: Selection, scale: Scale) -> bytes:
    _check_text(array)
    data = array if array.dtype == object else _shortest(to_npy_dtype(array))
    return to_json(
        {
            "dtype": snapshot.dtype,
            "shape": array.shape,
            "full_shape": snapshot.shape,
            "selection": selection.text,
            "data": data,
        }
    )


def _csv(array: Array, snapshot: Snapshot, selection: Selection, scale: Scale) -> bytes:
    _check_text(array)
    if array.ndim > 2:
        raise SelectionError(
            f"CSV has at most two dimensions; the selection has {array.ndim}.",
            "Select an index in the others, e.g. selection=0,0,:,:.",
        )
    text = io.StringIO(newline="")
    rows = array.reshape(array.shape[0] if array.ndim == 2 else 1, -1) if array.size else array.reshape(0, 0)
    cell = _cell if array.dtype == object else str
    if array.dtype != object:
        rows = to_npy_dtype(rows)
    csv.writer(text).writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def _cell(value: bytes | str) -> str:
    return csv_text(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value)


def _png(array: Array, snapshot: Snapshot, selection: Selection, scale: Scale) -> bytes:
    if array.dtype == object:
        raise SelectionError("Strings cannot be shown as an image.", "Use format=json.")
    return png(to_npy_dtype(array), scale)


def _check_text(array: Array) -> None:
    if array.size > MAX_TEXT_ELEMENTS:
        raise LimitError(
            f"The slice has {array.size:,} elements; the limit for text is {MAX_TEXT_ELEMENTS:,}.",
            "Select fewer, or use format=npy.",
        )


def _shortest(array: Array) -> Array | RawJson:
    """float16 and float32 with the fewest digits that round back: 0.1, not 0.10000000149."""
    if array.dtype == np.float32 and array.ndim and array.size:
        return encode_array(array, shortest=True)
    if array.dtype not in (np.float16, np.float32):
        return array
    result = np.empty(array.size, np.float64)
    flat = array.reshape(-1)
    for start in range(0, array.size, _CHUNK_ELEMENTS):  # text takes 128 bytes per element
        result[start : start + _CHUNK_ELEMENTS] = flat[start : start + _CHUNK_ELEMENTS].astype("U")
    return result.reshape(array.shape)


FORMATS = {
    "npy": Format("application/octet-stream", "attachment", _npy),
    "json": Format("application/json", "inline", _json),
    "csv": Format("text/csv; charset=utf-8", "attachment", _csv),
    "png": Format("image/png", "inline", _png),
}
