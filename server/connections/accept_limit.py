"""Where no more connections can be had: new ones wait outside, and are not asked for in vain."""

from __future__ import annotations

import errno
import logging
import os
import time
from typing import Any

_LOG = logging.getLogger(__name__)
_CROWDED = "Half of the files that the server may open (ulimit -n), 1000 at most, can be connections."
_WAYS_OUT = {
    errno.EMFILE: "Start the server with a higher limit: ulimit -n 4096.",
    errno.ENFILE: "This is a limit of the whole machine (sysctl fs.file-max).",
    errno.ENOBUFS: "The machine is short of memory.",
    errno.ENOMEM: "The machine is short of memory.",
}
_REST = 1.0  # s until it is tried again, if no connection ends before
_SILENT = 60.0  # s between two lines about it


class AcceptLimit:
    """Takes the place of `accept` and `readable` of a waitress server; called in its main thread.

    waitress tries again at once, as who is not let in still knocks: that took two thirds of a core, and wrote
    a traceback each time.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._accept, self._readable = server.accept, server.readable
        self._shut_until = self._told = float("-inf")
        self._open = 0  # connections when it was shut
        server.accept, server.readable = self.accept, self.readable
        server.logger = _LOG.getChild("quiet")  # it tells each time that as many are open as are let in
        server.logger.setLevel(logging.ERROR)

    def accept(self) -> Any:
        """A new connection and its address; None if there is none, or none can be had now."""
        try:
            return self._accept()
        except OSError as error:
            number = error.errno or 0
            self._shut_until, self._open = time.monotonic() + _REST, len(self._server.active_channels)
            self._tell(os.strerror(number), _WAYS_OUT.get(number, "It is tried again each second."))
            return None

    def readable(self) -> bool:
        """Whether new connections are let in now."""
        wanted = bool(self._readable())  # which looks after those that stall, too
        if self._server.in_connection_overflow:
            self._tell("as many are open as are let in", _CROWDED)
        is_shut = time.monotonic() < self._shut_until and len(self._server.active_channels) >= self._open
        return wanted and not is_shut

    def _tell(self, reason: str, way_out: str) -> None:
        now = time.monotonic()
        if now - self._told >= _SILENT:
            self._told = now
            connections = len(self._server.active_channels)
            _LOG.warning(
                "tensortap: new connections have to wait: %s. The %d that are there are served on. %s",
                *(reason, connections, way_out),
            )
