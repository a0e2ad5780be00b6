"""Regular expressions from users, matched by RE2: the time is linear in the text, whatever the pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.dump import SelectionError

MAX_PATTERN = 500


def match_names(pattern: str, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which names contain a match of the pattern (RE2 syntax: no look-around, no back references).

    Raises:
        SelectionError: the pattern is too long, or RE2 refuses it.
    """
    if len(pattern) > MAX_PATTERN:
        raise SelectionError(f"The pattern is longer than {MAX_PATTERN} characters.", "Use a shorter one.")
    try:
        matched = pc.match_substring_regex(pa.array(names, pa.string()), pattern)
    except pa.ArrowInvalid as error:
        raise SelectionError(
            f"{pattern!r} is not a regular expression: {_reason(error)}.",
            "The syntax is RE2's; escape special characters with a backslash.",
        ) from error
    found: np.ndarray[Any, np.dtype[np.bool_]] = matched.to_numpy(zero_copy_only=False)
    return found.astype(np.bool_)


def _reason(error: Exception) -> str:
    return str(error).removeprefix("Invalid regular expression: ").strip().rstrip(".")
