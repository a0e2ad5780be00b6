"""Arrays of numbers as JSON, written by Arrow: faster than the encoder, and without the GIL."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.dtypes import Array

_FROM = 200  # numbers; for fewer the encoder is as fast


@dataclass(frozen=True, slots=True)
class RawJson:
    """A piece of JSON text."""

    text: str


class Placeholders:
    """Placeholders in a JSON text for arrays that Arrow encodes afterwards."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(12)  # random, so that no name in a dump can hold it
        self._pieces: list[RawJson | Array] = []

    def place(self, piece: RawJson | Array) -> str:
        """The string to encode in place of `piece`; pieces come in the order of the text."""
        self._pieces.append(piece)
        return self._mark

    def fill_in(self, text: str) -> str:
        """Replaces the placeholders in `text`."""
        arrays = [piece for piece in self._pieces if not isinstance(piece, RawJson)]
        written = iter(encode_arrays(arrays))
        pieces = [piece if isinstance(piece, RawJson) else next(written) for piece in self._pieces]
        first, *others = text.split(f'"{self._mark}"')
        return first + "".join(
            part for pair in zip(pieces, others, strict=True) for part in (pair[0].text, pair[1])
        )


def is_long(array: Array) -> bool:
    """Whether Arrow encodes it faster than the `json` module."""
    masked = isinstance(array, np.ma.MaskedArray)
    return array.size >= _FROM and array.ndim > 0 and array.dtype.kind in "biuf" and not masked


def encode_array(array: Array, *, shortest: bool = False) -> RawJson:
    """Numbers or booleans of any shape, but not without elements.

    `shortest`: float32 with the fewest digits that round back to it: 0.1, not 0.10000000149011612.
    """
    return encode_arrays([array], shortest=shortest)[0]


def encode_arrays(arrays: Sequence[Array], *, shortest: bool = False) -> list[RawJson]:
    """Encode several arrays, each as `encode_array` does.

    Those of a type are written at once: where many requests are at work, each call of Arrow lets all others
    go first, and a history has 20 columns.
    """
    found: dict[int, RawJson] = {}
    for dtype in dict.fromkeys(array.dtype for array in arrays):
        same_dtype = {at: array for at, array in enumerate(arrays) if array.dtype == dtype}
        lengths = [np.full(array.size // array.shape[-1], array.shape[-1]) for array in same_dtype.values()]
        flat = np.concatenate([array.ravel() for array in same_dtype.values()])
        rows = iter(_rows(flat, np.concatenate(lengths), shortest))
        for at, array in same_dtype.items():
            pieces = list(islice(rows, array.size // array.shape[-1]))
            for length in reversed(array.shape[:-1]):
                pieces = [f"[{','.join(pieces[at : at + length])}]" for at in range(0, len(pieces), length)]
            found[at] = RawJson(pieces[0])
    return [found[at] for at in range(len(arrays))]


def encode_rows(matrix: Array, *, shortest: bool = False) -> list[RawJson]:
    """The rows of an [n, m] matrix of numbers or booleans; each number reads as the same float64."""
    rows, columns = matrix.shape
    return [RawJson(row) for row in _rows(matrix.ravel(), np.full(rows, columns), shortest)]


def _rows(numbers: Array, lengths: Array, shortest: bool) -> list[str]:
    """Numbers in a row, cut into lists of these lengths."""
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    joined = pc.binary_join(pa.LargeListArray.from_arrays(ends, _texts(numbers, shortest)), ",")
    return [f"[{row}]" for row in joined.to_pylist()]


def _texts(numbers: Array, shortest: bool) -> pa.Array:
    numbers = numbers.astype(numbers.dtype.newbyteorder("="), copy=False)
    if numbers.dtype.kind == "f" and not (shortest and numbers.dtype == np.float32):
        numbers = numbers.astype(np.float64)
    texts = pc.cast(pa.array(numbers), pa.string())
    if numbers.dtype.kind == "f" and (minus := (numbers == 0) & np.signbit(numbers)).any():
        texts = pc.if_else(pa.array(minus), "-0.0", texts)  # for Python -0 is an integer, without a sign
    if numbers.dtype.kind == "f" and not (finite := np.isfinite(numbers)).all():
        words = pa.array(_nonfinite_texts(numbers[~finite]), pa.string())
        texts = pc.replace_with_mask(texts, pa.array(~finite), words)
    return texts


def _nonfinite_texts(numbers: Array) -> Array:
    """The JSON strings for numbers that are not finite."""
    return np.where(np.isnan(numbers), '"NaN"', np.where(numbers > 0, '"Infinity"', '"-Infinity"'))
