"""Progress callbacks for long work, and ones that ignore it."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int, int, str], object]
"""Called with how much is done, of how much, and what is being done: `advance(3, 20, "step 40")`."""

AdvanceCount = Callable[[int, int], object]
"""Called with how much is done, of how much, where it is clear what is being done."""

Notice = Callable[[str], object]
"""Called with one line of text: what is being done now, or was found."""


def ignore_advance(done: int, total: int, doing: str) -> None:
    """An `Advance` that shows nothing."""


def ignore_count(done: int, total: int) -> None:
    """An `AdvanceCount` that shows nothing."""


def ignore_notice(text: str) -> None:
    """A `Notice` that shows nothing."""
