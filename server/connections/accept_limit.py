"""Stops accepting connections while no more can be opened, instead of trying again at once."""

from __future__ import annotations

import errno
import logging
import os
import time
from typing import Any

_LOG = logging.getLogger(__name__)
_LIMIT_REACHED = "Half of the files that the server may open (ulimit -n), 1000 at most, can be connections."
_FIXES = {
    errno.EMFILE: "Start the server with a higher limit: ulimit -n 4096.",
    errno.ENFILE: "This is a limit of the whole machine (sysctl fs.file-max).",
    errno.ENOBUFS: "The machine is short of memory.",
    errno.ENOMEM: "The machine is short of memory.",
}
_RETRY_AFTER = 1.0  # s, unless a connection ends before
_WARN_EVERY = 60.0  # s


class AcceptLimit:
    """Replaces `accept` and `readable` of a waitress server; called in its main thread.

    waitress retries at once, as the refused client is still waiting: that took two thirds of a core, and
    logged a traceback each time.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._accept, self._readable = server.accept, server.readable
        self._closed_until = self._warned = float("-inf")
        self._open = 0  # connections when accepting stopped
        server.accept, server.readable = self.accept, self.readable
        server.logger = _LOG.getChild("waitress")  # it warns each time the limit is reached
        server.logger.setLevel(logging.ERROR)

    def accept(self) -> Any:
        """A new connection and its address; None if there is none, or none can be opened now."""
        try:
            return self._accept()
        except OSError as error:
            number = error.errno or 0
            self._closed_until, self._open = (
                time.monotonic() + _RETRY_AFTER,
                len(self._server.active_channels),
            )
            self._warn(os.strerror(number), _FIXES.get(number, "It is tried again each second."))
            return None

    def readable(self) -> bool:
        """Whether new connections are accepted now."""
        wanted = bool(self._readable())  # runs the maintenance, too
        if self._server.in_connection_overflow:
            self._warn("as many are open as are let in", _LIMIT_REACHED)
        is_closed = time.monotonic() < self._closed_until and len(self._server.active_channels) >= self._open
        return wanted and not is_closed

    def _warn(self, reason: str, fix: str) -> None:
        now = time.monotonic()
        if now - self._warned >= _WARN_EVERY:
            self._warned = now
            connections = len(self._server.active_channels)
            _LOG.warning(
                "tensortap: new connections have to wait: %s. The %d that are there are served on. %s",
                *(reason, connections, fix),
            )
