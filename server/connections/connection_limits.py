"""Limits of connections: those that make no progress are closed; none is accepted when files run out.

waitress closes idle ones only: it never checks one whose answer nobody reads, as that never becomes writable.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from typing import Any

CROWDED = 0.8  # share of the connection limit from which idle connections are closed early
_IDLE = 2.0  # s without a whole request, after which a connection may be closed early


class IdleConnections:
    """Replaces the `maintenance` of a waitress server; called in its main thread, every second.

    Args:
        server: waitress's; `channel_timeout` is how long a connection may make no progress.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._partial: dict[
            int, tuple[object, float]
        ] = {}  # channel id -> (its partial request, time of its start)

    def __call__(self, now: float) -> None:
        channels = list(self._server.active_channels.values())
        self._partial = {
            id(channel): self._request_start(channel, now)
            for channel in channels
            if channel.request is not None
        }
        for channel in channels:
            if self._is_stalled(channel, now):
                channel.handle_close()
        self._make_room(now)

    def _request_start(self, channel: Any, now: float) -> tuple[object, float]:
        known = self._partial.get(id(channel))
        return known if known is not None and known[0] is channel.request else (channel.request, now)

    def _is_stalled(self, channel: Any, now: float) -> bool:
        cutoff = now - self._server.adj.channel_timeout
        if channel.requests and not channel.total_outbufs_len:
            return False  # it is being answered
        _, start = self._partial.get(id(channel), (None, now))  # one byte now and then is no progress
        return bool(channel.last_activity < cutoff or start < cutoff)

    def _make_room(self, now: float) -> None:
        """Closes the longest idle ones, while there are too many."""
        channels = self._server.active_channels.values()
        limit = int(self._server.adj.connection_limit * CROWDED)
        if len(channels) <= limit:
            return
        idle = [each for each in channels if not each.requests and each.creation_time < now - _IDLE]
        idle.sort(key=lambda each: each.last_activity)
        for channel in idle[: len(channels) - limit // 2]:
            channel.handle_close()


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
