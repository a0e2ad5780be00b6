"""Steps as they are typed: `7`, `3:10`, `-1` for the last one; `next 3`, `every 10` for what to watch."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from tensortap.core.errors import SelectionError

if TYPE_CHECKING:
    from tensortap.index.run_index import RunIndex

_STEPS = re.compile(r"-?\d{1,18}|\d{0,18}:\d{0,18}", re.ASCII)
_WORD = re.compile(r"(next|every|log)\s+(\d{1,18})")
_RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?")
_KEYS = {"every": "every", "log": "per_decade"}


def steps(text: str) -> str:
    """An argparse type: one step, a range whose end is not included, or a step from the end."""
    if _STEPS.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no step; write 7, 3:10, 3:, or -1 for the last one")
    return text


def chosen_steps(run: RunIndex, text: str | None) -> int | str | None:
    """For a filter, which does not count from the end. Raises NotFoundError: there are not so many."""
    from tensortap.index.query.step_range import step_from_end

    if text is None or not text.startswith("-"):
        return text
    return step_from_end("The run", run.steps.step.tolist(), int(text))


def only_step(tensor: str, text: str | None) -> int | None:
    """One step, counted from the end if it is negative. Raises SelectionError: it is a range of steps."""
    if text is not None and ":" in text:
        raise SelectionError(
            f"{tensor!r} is shown at one step, not at {text!r}.",
            "Name one; 'tensortap show RUN --match REGEX --step 3:10' lists the snapshots of several.",
        )
    return None if text is None else int(text)


def parse_watch_steps(text: str, asked: str = "") -> list[Any]:
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
