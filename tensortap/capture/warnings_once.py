"""Says what capture could not do, once for each kind of trouble, without ever raising into training."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings

from .errors import TapWarning

_log = logging.getLogger("tensortap")


class Trouble:
    """Warnings of one tap.

    Args:
        where: the run, named in every message.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._told: dict[str, str] = {}  # what was said, by kind
        self._lock = threading.Lock()

    def tell(self, kind: str, message: str, hint: str, cause: BaseException | None = None) -> str:
        """Warns, unless this kind of trouble was told before. `message` has no full stop, `hint` has.

        Returns:
            What was said; empty if it was told before.
        """
        because = f" ({type(cause).__name__}: {first_line(cause)})" if cause is not None else ""
        said = f"{message}{because}. {hint}"
        with self._lock:
            if kind in self._told:
                return ""
            self._told[kind] = said
        warn(f"tensortap, run {self._where!r}: {said}")
        return said

    def told(self, *kinds: str) -> str:
        """What was said of the first of these kinds that there was; empty if there was none."""
        with self._lock:
            return next((self._told[kind] for kind in kinds if kind in self._told), "")


def warn(text: str) -> None:
    """A `TapWarning`."""
    try:
        warnings.warn(text, TapWarning, stacklevel=3)
    except Exception:
        # The program turns warnings into errors, shows them its own way, or has closed stderr; this one
        # must not end its training, nor the thread that writes.
        with contextlib.suppress(Exception):
            _log.warning(text)


def say(sentence: str) -> None:
    """One line on stderr, for whoever looks after the job. The disk that it goes to may be full, too."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stderr
        print(f"tensortap: {sentence}", file=sys.stderr, flush=True)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else ""
