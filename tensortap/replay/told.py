"""How a long replay says what it is at: a function that takes a line of text."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[str], None]
"""Takes what is being done now, or was found, as one line."""


def silent(text: str) -> None:
    """Says it to nobody."""
