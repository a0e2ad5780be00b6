"""Texts in the order in which people count: `AddN_2` before `AddN_10`, as on the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_NUMBER = re.compile(r"0*([0-9]+)")


def natural_key(text: str) -> tuple[str, str]:
    """What texts are sorted by: before each number stands a sign, the later the more digits it has, zeros
    in front of it aside; then the text itself, as `a_1` and `a_01` are two."""
    return _NUMBER.sub(_signed, text), text


def _signed(number: re.Match[str]) -> str:
    return chr(ord("0") + len(number[1])) + number[1]


def natural_ranks(texts: Sequence[str]) -> Array:
    """Where each text stands in the order of all, int64 [count]; equal ones stand at one place."""
    places = {text: place for place, text in enumerate(sorted(set(texts), key=natural_key))}
    return np.array([places[text] for text in texts], np.int64)
