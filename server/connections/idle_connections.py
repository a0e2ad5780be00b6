"""Connections that hold the server up are ended: answers that nobody reads, requests that never become whole.

waitress ends only those that rest; one whose answer nobody takes is not even looked at, as it never becomes
writable, and two large requests in a row keep a thread waiting on it for ever.
"""

from __future__ import annotations

from typing import Any

CROWDED = 0.8  # of the connections that may be open: from here on those that ask for nothing have to go
_RESTING = 2.0  # s without a whole request, after which a connection goes where it is crowded


class IdleConnections:
    """Takes the place of the `maintenance` of a waitress server; called in its main thread, every second.

    Args:
        server: waitress's; its `channel_timeout` is how long nothing may move.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._half: dict[int, tuple[object, float]] = {}  # channel -> (its request, since when it is begun)

    def __call__(self, now: float) -> None:
        channels = list(self._server.active_channels.values())
        self._half = {
            id(channel): self._begun(channel, now) for channel in channels if channel.request is not None
        }
        for channel in channels:
            if self._is_stalled(channel, now):
                channel.handle_close()
        self._make_room(now)

    def _begun(self, channel: Any, now: float) -> tuple[object, float]:
        known = self._half.get(id(channel))
        return known if known is not None and known[0] is channel.request else (channel.request, now)

    def _is_stalled(self, channel: Any, now: float) -> bool:
        cutoff = now - self._server.adj.channel_timeout
        if channel.requests and not channel.total_outbufs_len:
            return False  # it is being answered
        _, begun = self._half.get(id(channel), (None, now))  # a byte now and then makes no request
        return bool(channel.last_activity < cutoff or begun < cutoff)

    def _make_room(self, now: float) -> None:
        """Ends those that rested longest, while there are too many."""
        channels = self._server.active_channels.values()
        limit = int(self._server.adj.connection_limit * CROWDED)
        if len(channels) <= limit:
            return
        resting = [each for each in channels if not each.requests and each.creation_time < now - _RESTING]
        resting.sort(key=lambda each: each.last_activity)
        for channel in resting[: len(channels) - limit // 2]:
            channel.handle_close()
