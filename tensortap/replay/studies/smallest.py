"""Delta debugging: the smallest part of a list that still does what all of it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smallest(items: Sequence[Item], passes: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A part of `items` that passes, and of which no single item can be left out.

    Leaves out ever smaller stretches (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing
    Input, 2002, reducing to complements). `items` themselves must pass.
    """
    found = list(items)
    length = max(len(found) // 2, 1)
    while True:
        left_out = False
        start = 0
        while start < len(found) and len(found) > 1:
            shorter = found[:start] + found[start + length :]
            if shorter and passes(shorter):
                found, left_out = shorter, True
            else:
                start += length
        if length == 1 and not left_out:
            return found
        length = length if left_out and length == 1 else max(length // 2, 1)
