"""The part of a tap that must end in order, even if the tap itself is forgotten."""

from __future__ import annotations

import os
import sys
import threading

from .background import Background
from .intercept import INTERCEPTOR


class Lifetime:
    """Installs the interceptor while it is in use, and closes the run.

    Args:
        run: name of the run, for the last message.
        close_seconds: how long to wait for what is still to be written.
    """

    def __init__(self, background: Background, run: str, close_seconds: float) -> None:
        self._background = background
        self._run = run
        self._close_seconds = close_seconds
        self._uses = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.closed = False

    def use(self) -> None:
        """Installs the interceptor for one more use of the tap."""
        with self._lock:
            self._uses += 1
        INTERCEPTOR.acquire()

    def unuse(self) -> None:
        """Undoes one `use`; does nothing once the lifetime is closed."""
        with self._lock:
            if self._uses == 0:
                return
            self._uses -= 1
        INTERCEPTOR.release()

    def flush(self) -> bool:
        """Waits until all that was captured is committed; False if that took too long."""
        return self._background.flush(self._close_seconds)

    def close(self) -> None:
        """Writes what is left, closes the files, and says what was lost."""
        if self.closed:
            return
        self.closed = True
        while self._uses:
            self.unuse()
        in_time = self._background.stop(self._close_seconds)
        dropped = self._background.dropped
        if dropped and os.getpid() == self._pid:
            because = "" if in_time else f" (the writer needed more than {self._close_seconds:g} s to finish)"
            print(
                f"tensortap: {dropped:,} snapshots of run {self._run!r} were dropped{because}. "
                "Watch fewer steps or tensors, or raise Tap(queue_bytes=…, wait_seconds=…).",
                file=sys.stderr,
            )
