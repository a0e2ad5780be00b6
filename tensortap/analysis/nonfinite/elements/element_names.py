"""The place of an element in words: `row 17, token 3, feature 5`; `row 17, [3, 0, 5]` where no words fit."""

from __future__ import annotations

from .trace import Element

_WORDS = {1: ("row",), 2: ("row", "feature"), 3: ("row", "token", "feature")}


def place_text(element: Element, row: int | None) -> str:
    """Where an element is: in words if its first index is the row of the batch, else as an index; empty for a
    scalar.

    Args:
        row: the row of the batch that it belongs to, or None.
    """
    if not element.index:
        return ""
    words = element.axes or _WORDS.get(len(element.index))
    if row is None or element.kind == "weight" or element.index[0] != row:
        return f"[{', '.join(map(str, element.index))}]"
    if words is None:
        return f"row {row}, [{', '.join(map(str, element.index[1:]))}]"
    return ", ".join(f"{word} {at}" for word, at in zip(words, element.index, strict=True))
