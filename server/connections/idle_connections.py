"""Closes connections that make no progress: answers that nobody reads, requests that never become whole.

waitress closes idle ones only: it never checks one whose answer nobody reads, as that never becomes writable.
"""

from __future__ import annotations

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
