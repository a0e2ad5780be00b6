"""Arrays of numbers as JSON, written by Arrow: several times faster than the encoder, and threads go on."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_FROM = 200  # numbers; for fewer the encoder is as fast


@dataclass(frozen=True, slots=True)
class Encoded:
    """A piece of JSON that is written already."""

    text: str


class Placed:
    """Stands in for what is written already while the rest is encoded."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(12)  # no name in a dump can hold what is made up afterwards
        self._texts: list[str] = []

    def place(self, piece: Encoded) -> str:
        """What to encode in place of `piece`; pieces come in the order of the text."""
        self._texts.append(piece.text)
        return self._mark

    def fill_in(self, text: str) -> str:
        """The text, with the pieces in their places."""
        first, *others = text.split(f'"{self._mark}"')
        return first + "".join(part for pair in zip(self._texts, others, strict=True) for part in pair)


def is_long(array: np.ndarray[Any, Any]) -> bool:
    """Whether Arrow writes it faster."""
    masked = isinstance(array, np.ma.MaskedArray)
    return array.size >= _FROM and array.ndim > 0 and array.dtype.kind in "biuf" and not masked


def encoded(array: np.ndarray[Any, Any], *, shortest: bool = False) -> Encoded:
    """Numbers or booleans of any shape, but not without elements.

    `shortest`: float32 with the fewest digits that round back to it: 0.1, not 0.10000000149011612.
    """
    pieces = [row.text for row in encoded_rows(array.reshape(-1, array.shape[-1]), shortest=shortest)]
    for length in reversed(array.shape[:-1]):
        pieces = [f"[{','.join(pieces[at : at + length])}]" for at in range(0, len(pieces), length)]
    return Encoded(pieces[0])


def encoded_rows(matrix: np.ndarray[Any, Any], *, shortest: bool = False) -> list[Encoded]:
    """The rows of an [n, m] matrix of numbers or booleans; each number reads as the same float64."""
    rows, columns = matrix.shape
    ends = np.arange(rows + 1, dtype=np.int64) * columns
    joined = pc.binary_join(pa.LargeListArray.from_arrays(ends, _texts(matrix.ravel(), shortest)), ",")
    return [Encoded(f"[{row}]") for row in joined.to_pylist()]


def _texts(numbers: np.ndarray[Any, Any], shortest: bool) -> pa.Array:
    numbers = numbers.astype(numbers.dtype.newbyteorder("="), copy=False)
    if numbers.dtype.kind == "f" and not (shortest and numbers.dtype == np.float32):
        numbers = numbers.astype(np.float64)
    texts = pc.cast(pa.array(numbers), pa.string())
    if numbers.dtype.kind == "f" and (minus := (numbers == 0) & np.signbit(numbers)).any():
        texts = pc.if_else(pa.array(minus), "-0.0", texts)  # for Python -0 is an integer, without a sign
    if numbers.dtype.kind == "f" and not (finite := np.isfinite(numbers)).all():
        words = pa.array(_words(numbers[~finite]), pa.string())
        texts = pc.replace_with_mask(texts, pa.array(~finite), words)
    return texts


def _words(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The strings that stand for numbers that are not finite, as JSON."""
    return np.where(np.isnan(numbers), '"NaN"', np.where(numbers > 0, '"Infinity"', '"-Infinity"'))
