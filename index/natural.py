"""Texts in the order in which people count: `AddN_2` before `AddN_10`, as on the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_DIGITS = re.compile(r"(\d+)")


def natural_key(text: str) -> str:
    """What texts are sorted by: before each number stands a sign, the later the more digits it has."""
    parts = _DIGITS.split(text)
    parts[1::2] = [chr(ord("0") + len(digits)) + digits for digits in parts[1::2]]
    return "".join(parts)


def natural_ranks(texts: Sequence[str]) -> Array:
    """Where each text stands in the order of all, int64 [count]; equal ones stand at one place."""
    places = {text: place for place, text in enumerate(sorted(set(texts), key=natural_key))}
    return np.array([places[text] for text in texts], np.int64)
