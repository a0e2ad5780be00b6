"""Columns that grow: typed arrays, arrays as narrow as their contents, strings and equal rows as codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.ma  # pyarrow imports it with its first array, which would be one of a page
import pyarrow as pa

from tensortap.core.dtypes import Array

_WIDER: tuple[type[np.signedinteger[Any]], ...] = (np.int8, np.int16, np.int32, np.int64)
_FIRST_CAPACITY = 64
Codes = np.ndarray[Any, np.dtype[np.int64]]


class GrowingColumn:
    """An append-only typed array. `view(n)` stays valid (and unchanged) while others append."""

    def __init__(self, dtype: Any) -> None:
        self._data: Array = np.empty(0, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._data.nbytes

    def extend(self, values: Array) -> None:
        """Appends the values."""
        end = self._length + len(values)
        if end > len(self._data):
            self._reallocate(end, self._data.dtype)
        self._data[self._length : end] = values
        self._length = end

    def view(self, length: int | None = None) -> Array:
        """The first `length` values (all by default), without a copy."""
        return self._data[: self._length if length is None else length]

    def _reallocate(self, needed: int, dtype: Any) -> None:
        capacity = max(needed, len(self._data) + len(self._data) // 4, _FIRST_CAPACITY)
        grown = np.empty(capacity, dtype)
        grown[: self._length] = self._data[: self._length]
        self._data = grown


class NarrowColumn(GrowingColumn):
    """A column of integers that starts with one byte an element and widens when a value needs it.

    Most counts (NaN, Inf, subnormal) are zero for good and most sizes small: a run of 1M snapshots needs a
    third of the memory.
    """

    def __init__(self) -> None:
        super().__init__(np.int8)

    def extend(self, values: Array) -> None:
        """Appends integers of up to 64 bits."""
        if len(values):
            needed = _narrowest(int(values.min()), int(values.max()))
            if np.dtype(needed).itemsize > self._data.dtype.itemsize:
                self._reallocate(max(len(self._data), self._length + len(values)), needed)
        super().extend(values)


def narrowed_integers(values: Array) -> Array:
    """The same integers in as few bytes as hold them."""
    if not len(values):
        return values.astype(np.int8)
    return values.astype(_narrowest(int(values.min()), int(values.max())), copy=False)


def _narrowest(low: int, high: int) -> type[np.signedinteger[Any]]:
    return next(t for t in _WIDER if np.iinfo(t).min <= low and high <= np.iinfo(t).max)


@dataclass(frozen=True, slots=True)
class Coded:
    """Strings as codes: row `i` is `values[codes[i]]`."""

    codes: np.ndarray[Any, np.dtype[np.int32]]
    values: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.values[int(self.codes[row])]

    def where(self, fits: Callable[[str], bool]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The rows with a matching string."""
        found: np.ndarray[Any, np.dtype[np.bool_]] = np.array(list(map(fits, self.values)), np.bool_)[
            self.codes
        ]
        return found

    def to_list(self) -> list[str]:
        """The strings themselves."""
        values = self.values
        return [values[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Texts:
    """Strings in one buffer: row `i` is the UTF-8 text `data[offsets[i]:offsets[i + 1]]`."""

    offsets: np.ndarray[Any, np.dtype[np.uint32]]
    data: bytes

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, strings: Sequence[str]) -> Texts:
        """The strings; strings without a UTF-8 form (half a surrogate pair) become question marks."""
        try:
            column = pa.array(strings, pa.large_string())  # in C++; 5 times faster than encoding one by one
        except UnicodeEncodeError:
            column = pa.array(
                [text.encode("utf-8", "replace").decode() for text in strings], pa.large_string()
            )
        return cls.of_column(column)

    @classmethod
    def of_column(cls, column: pa.Array) -> Texts:
        """The rows of an Arrow column of strings, small or large, without nulls."""
        _, offsets, data = column.buffers()
        kind = np.int64 if pa.types.is_large_string(column.type) else np.int32
        bounds = np.frombuffer(offsets, kind)[column.offset :][: len(column) + 1] if offsets else np.zeros(1)
        first, last = int(bounds[0]), int(bounds[-1])
        texts = bytes(memoryview(data)[first:last]) if data else b""
        return cls((bounds - first).astype(np.uint32), texts)


class StringTable:
    """Interned strings: each distinct one has a code, counted from 0 in order of appearance."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._codes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, code: int) -> str:
        return self.values[code]

    def code(self, text: str) -> int | None:
        """The code of a known string, else None."""
        return self._codes.get(text)

    def intern(self, text: str) -> int:
        """The code of a string, a new one if it was not seen before."""
        code = self._codes.get(text)
        if code is None:
            code = len(self.values)
            self.values.append(text)
            self._codes[text] = code
        return code

    def encode(self, column: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The codes of an Arrow string column without nulls."""
        encoded = column.dictionary_encode()
        codes = np.array([self.intern(text) for text in encoded.dictionary.to_pylist()], np.int32)
        return codes[encoded.indices.to_numpy()] if len(codes) else np.zeros(0, np.int32)


def factorize(values: Array) -> tuple[Codes, int]:
    """Codes 0, 1, … in order of first appearance of each distinct integer, and how many there are."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def factorize_rows(columns: Sequence[Array]) -> tuple[Codes, Codes]:
    """Codes of the distinct rows of integer columns of equal length.

    Returns:
        The code of each row, and for each code the first row that has it.
    """
    codes, count = factorize(columns[0])
    for column in columns[1:]:
        others, width = factorize(column)
        codes, count = factorize(codes * width + others)  # below rows², which fits 64 bits
    first = np.empty(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, first
