"""Warnings about what capture could not do: each kind once, and without ever raising into training."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings

from .errors import TapWarning

_log = logging.getLogger("tensortap")


class OneTimeWarnings:
    """Warnings of one tap.

    Args:
        where: the run, named in every message.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._issued: dict[str, str] = {}  # texts by kind
        self._lock = threading.Lock()

    def warn(self, kind: str, message: str, hint: str, cause: BaseException | None = None) -> str:
        """Warns, unless this kind of warning was issued before. `message` has no full stop, `hint` has.

        Returns:
            The text; empty if the kind was issued before.
        """
        because = f" ({type(cause).__name__}: {first_line(cause)})" if cause is not None else ""
        text = f"{message}{because}. {hint}"
        with self._lock:
            if kind in self._issued:
                return ""
            self._issued[kind] = text
        issue_warning(f"tensortap, run {self._where!r}: {text}")
        return text

    def first_issued(self, *kinds: str) -> str:
        """The text of the first of these kinds that was issued; empty if none was."""
        with self._lock:
            return next((self._issued[kind] for kind in kinds if kind in self._issued), "")


def issue_warning(text: str) -> None:
    """Issues a `TapWarning`."""
    try:
        warnings.warn(text, TapWarning, stacklevel=3)
    except Exception:
        # The program turns warnings into errors, shows them its own way, or has closed stderr; this one
        # must not end its training, nor the thread that writes.
        with contextlib.suppress(Exception):
            _log.warning(text)


def print_line(sentence: str) -> None:
    """One line on stderr, for whoever looks after the job. The disk that it goes to may be full, too."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stderr
        print(f"tensortap: {sentence}", file=sys.stderr, flush=True)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else ""
