"""A time limit of the calling thread, checked by readers before each piece: threads cannot be interrupted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .errors import TimeLimitError

_LIMIT: ContextVar[tuple[float, float] | None] = ContextVar("tensortap_time_limit", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stops reads of this thread in the body after a time limit, at the next piece."""
    before = _LIMIT.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _LIMIT.reset(before)


def check_time_limit() -> None:
    """Called before each piece.

    Raises:
        TimeLimitError: the time of `time_limit` is over.
    """
    limit = _LIMIT.get()
    if limit is not None and time.monotonic() > limit[0]:
        raise TimeLimitError(
            f"The request took more than {limit[1]:g} s, the limit.",
            "Request less: a contiguous slice, fewer rows or a simpler pattern. Or read it with "
            "tensortap.open.",
        )
