"""Query parameters: every one has a type, a default and a limit; unknown ones are refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flask import request

from .error_responses import BadRequestError

MAX_TEXT = 4096
_FREE = {"token"}  # read by the security middleware


class Parameters:
    """The parameters of the current request.

    Each method reads one parameter; `done()` refuses all others, so that a misspelt filter is not ignored.
    """

    def __init__(self) -> None:
        self._values = request.args
        self._known: list[str] = []

    def text(self, name: str) -> str | None:
        """A string; None if it is absent or empty."""
        self._known.append(name)
        values = self._values.getlist(name)
        if len(values) > 1:
            raise BadRequestError(f"{name!r} is passed {len(values)} times.", "Pass it once.")
        if not values or not values[0]:
            return None
        if len(values[0]) > MAX_TEXT:
            raise BadRequestError(f"{name!r} is too long.", f"The limit is {MAX_TEXT} characters.")
        return values[0]

    def required(self, name: str, example: str) -> str:
        """A string that must be there."""
        value = self.text(name)
        if value is None:
            raise BadRequestError(f"{name!r} is missing.", f"Add it to the URL, e.g. {name}={example}.")
        return value

    def integer(
        self, name: str, default: int | None = None, *, low: int = 0, high: int = 2**63 - 1
    ) -> int | None:
        """An integer of `low … high`."""
        text = self.text(name)
        if text is None:
            return default
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 19 and low <= int(text) <= high):
            raise BadRequestError(
                f"{name}={text[:80]} is not valid.", f"Use an integer from {low} to {high}."
            )
        return int(text)

    def count(self, name: str, default: int, *, low: int = 0, high: int) -> int:
        """An integer, never None."""
        value = self.integer(name, default, low=low, high=high)
        return default if value is None else value

    def number(self, name: str) -> float | None:
        """A finite number."""
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise BadRequestError(
                f"{name}={text[:80]} is not a finite number.", "Use digits, e.g. 0.5 or 1e-3."
            )
        return value

    def choice(self, name: str, choices: Sequence[str], default: str = "") -> str:
        """One of a few words, or the default."""
        text = self.text(name)
        if text is None:
            return default
        if text not in choices:
            raise BadRequestError(f"{name}={text[:80]} is not valid.", f"Use one of {', '.join(choices)}.")
        return text

    def flag(self, name: str) -> bool:
        """`1` or `true`: yes."""
        return self.choice(name, ("0", "1", "false", "true")) in ("1", "true")

    def done(self) -> None:
        """Raises BadRequestError if there is a parameter that no method has read."""
        unknown = [name for name in self._values if name not in self._known and name not in _FREE]
        if unknown:
            known = ", ".join(sorted(self._known)) or "none"
            raise BadRequestError(f"Unknown parameter {unknown[0][:80]!r}.", f"Valid names: {known}.")


def ordered_range(low: float | None, high: float | None) -> dict[str, Any]:
    """`low` and `high` as keyword arguments.

    Raises BadRequestError where both are given and `low >= high`.
    """
    if low is not None and high is not None and low >= high:
        raise BadRequestError(f"low={low:g} must be below high={high:g}.", "Swap them.")
    return {"low": low, "high": high}
