"""Steps as one types them: `next 3`, `every 10`, `100:200`, `5,6,7`."""

from __future__ import annotations

import re
from typing import Any

from tensortap.core.errors import SelectionError

_WORD = re.compile(r"(next|every|log)\s+(\d{1,18})")
_RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?")
_KEYS = {"every": "every", "log": "per_decade"}


def steps_of_text(text: str, asked: str = "") -> list[Any]:
    """The `steps` of a rule in watch.json; several parts are joined by commas.

    Args:
        asked: when it was asked for, which makes `next 3` a new request each time.

    Raises:
        SelectionError: it cannot be parsed.
    """
    return [_part(part.strip(), asked) for part in text.split(",")]


def _part(part: str, asked: str) -> Any:
    if match := _WORD.fullmatch(part):
        word, number = match[1], int(match[2])
        if word == "next":
            return {"next": number, "asked": asked}
        return {_KEYS[word]: number}
    if match := _RANGE.fullmatch(part):
        return {"range": [int(number) for number in match.groups() if number is not None]}
    if part.isascii() and part.isdigit() and len(part) <= 18:
        return int(part)
    raise SelectionError(
        f"{part!r} says no steps.", "Use 'next 3', 'every 10', 'log 10', 100:200, 100:200:5 or 5,6,7."
    )
