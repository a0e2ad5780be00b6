"""Equal rows get equal codes: exact factorization by hashing, a column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array

Codes = np.ndarray[Any, np.dtype[np.int64]]


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
