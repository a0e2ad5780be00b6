"""The place of an element in words: `row 17, token 3, feature 5`."""

from __future__ import annotations

from .elements import Element

_WORDS = {1: ("row",), 2: ("row", "feature"), 3: ("row", "token", "feature"), 4: ("row", "y", "x", "channel")}


def place_text(element: Element, row: int | None) -> str:
    """Where an element is: in words if its first index is the row of the batch, else as an index.

    Args:
        row: the row of the batch that it belongs to, or None.
    """
    words = _WORDS.get(len(element.index))
    if row is None or words is None or element.kind == "weight" or element.index[0] != row:
        return f"[{', '.join(map(str, element.index))}]"
    return ", ".join(f"{word} {at}" for word, at in zip(words, element.index, strict=True))
