"""Regular expressions from users, matched by RE2: the time is linear in the text, whatever the pattern, but
also in the pattern, with its repetitions written out (`.{0,500}` counts as 500 dots)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.deadline import check_time_limit
from tensortap.core.errors import SelectionError

MAX_PATTERN = 500
_PIECE = 16 << 10  # bytes of names between looks at the clock: the worst patterns take 50 µs for each of them


def match_names(pattern: str, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which names contain a match of the pattern (RE2 syntax: no look-around, no back references).

    Raises:
        SelectionError: the pattern is too long, or RE2 refuses it.
        LimitError: the time of `at_most` is over.
    """
    if len(pattern) > MAX_PATTERN:
        raise SelectionError(f"The pattern is longer than {MAX_PATTERN} characters.", "Use a shorter one.")
    try:
        found = [
            pc.match_substring_regex(piece, pattern).to_numpy(zero_copy_only=False)
            for piece in _pieces(names)
        ]
    except pa.ArrowInvalid as error:
        raise SelectionError(
            f"{pattern!r} is not a regular expression: {_reason(error)}.",
            "The syntax is RE2's; escape special characters with a backslash.",
        ) from error
    return np.concatenate([np.zeros(0, np.bool_), *found]).astype(np.bool_)


def _pieces(names: Sequence[str]) -> Iterator[Any]:
    """The names as arrays of Arrow, each as long as may be matched without a look at the clock."""
    array = pa.array(names, pa.string())
    piece = np.cumsum(pc.binary_length(array).to_numpy(), dtype=np.int64) // _PIECE
    starts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(array)], strict=True):
        check_time_limit()
        yield array[start:stop]


def _reason(error: Exception) -> str:
    return str(error).removeprefix("Invalid regular expression: ").strip().rstrip(".")
