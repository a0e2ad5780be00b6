"""Connections of the HTTP server: parts of waitress, replaced so that no client blocks others.

`ClientChannel` is one connection, which blocks or ends no thread. `IdleConnections` closes those that make no
progress: waitress never checks one whose client does not read, because it never becomes writable.
`AcceptLimit` stops accepting when files run out. `SocketMap` waits for all sockets: the cost goes with what
happens, not with how many connections are open; waitress's own loop asks every connection before each wait
whether it wants to read or write, which with 300 half-open ones took a fifth of a core at 200 requests a
second.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import selectors
import threading
import time
from typing import Any

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest

_BARE_LF = re.compile(rb"(?<!\r)\n")
_TLS = b"\x16"  # the first byte of a client that speaks https
CROWDED = 0.8  # share of the connection limit from which idle connections are closed early
_IDLE = 2.0  # s without a whole request, after which a connection may be closed early
_LOG = logging.getLogger(__name__)
_LIMIT_REACHED = "The limit is half of the files that the server may open (ulimit -n), at most 1000."
_FIXES = {
    errno.EMFILE: "Start the server with a higher limit: ulimit -n 4096.",
    errno.ENFILE: "The machine has reached its file limit (sysctl fs.file-max).",
    errno.ENOBUFS: "The machine is short of memory.",
    errno.ENOMEM: "The machine is short of memory.",
}
_RETRY_AFTER = 1.0  # s, unless a connection ends before
_WARN_EVERY = 60.0  # s


class _RequestParser(HTTPRequestParser):  # type: ignore[misc]
    def received(self, data: bytes) -> int:
        taken = int(super().received(data))
        if not self.headers_finished and _BARE_LF.search(self.header_plus.lstrip()):
            # otherwise waitress waits for an end that never comes
            self.error = BadRequest("Request lines must end with CR LF")
            self.completed = True
        return taken

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # more digits than Python converts
            raise ParsingError("Content-Length is invalid") from error


class ClientChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that only the main thread closes.

    A worker may find it broken when it sends `100 Continue`. If it closed the socket itself, the file
    descriptor would be invalid, or reused, while the main thread is about to wait for it.
    """

    parser_class = _RequestParser
    # whether the next request waits until the client has read enough of the last answer
    _is_held_back = False

    def received(self, data: bytes) -> bool:
        """Parses received data; closes the connection of a client that speaks TLS."""
        if self.request is None and not self.requests and data.startswith(_TLS):
            self.will_close = True
            return False
        return bool(super().received(data))

    def send_continue(self) -> None:
        """Sends `100 Continue` only where a body follows; waitress would wait for one that never comes."""
        if self.request.completed:
            self.request.expect_continue = False
            return
        super().send_continue()
        self._check_again()

    def handle_close(self) -> None:
        """Closes the connection, or has the main thread do so."""
        if self._map.is_main_thread:
            super().handle_close()
            return
        self.will_close = True
        self._check_again()

    def writable(self) -> Any:
        """Whether there is something to send; called by the main thread before each wait."""
        if self._is_held_back and not self._has_much_to_send():
            self._is_held_back = False
            self.server.task_dispatcher.add_task(self)
        return super().writable()

    def answer_next(self) -> None:
        """Passes the next request to a worker as soon as the client has read enough."""
        if self._has_much_to_send():
            self._is_held_back = True
        else:
            self.server.task_dispatcher.add_task(self)

    def _has_much_to_send(self) -> bool:
        return bool(self.total_outbufs_len > self.adj.outbuf_high_watermark)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Does not block the worker, as waitress does: `answer_next` waits without one."""
        if self._has_much_to_send():
            with self.outbuf_lock:
                self._flush_exception(self._flush_some, do_close=False)

    def _check_again(self) -> None:
        if (fd := self._fileno) is not None:
            self._map.check_again(fd)


class IdleConnections:
    """Replaces the `maintenance` of a waitress server; called in its main thread, every second.

    Args:
        server: waitress's; `channel_timeout` is how long a connection may make no progress.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        # channel id -> (its partial request, time of its start)
        self._partial: dict[int, tuple[object, float]] = {}

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
        _, start = self._partial.get(id(channel), (None, now))  # a byte now and then is not progress
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
        """A new connection and its address; None without one, or if none can be opened now."""
        try:
            return self._accept()
        except OSError as error:
            number = error.errno or 0
            self._closed_until, self._open = (
                time.monotonic() + _RETRY_AFTER,
                len(self._server.active_channels),
            )
            self._warn(os.strerror(number), _FIXES.get(number, "The server retries every second."))
            return None

    def readable(self) -> bool:
        """Whether new connections are accepted now."""
        wanted = bool(self._readable())  # runs the maintenance, too
        if self._server.in_connection_overflow:
            self._warn("the limit is reached", _LIMIT_REACHED)
        is_closed = time.monotonic() < self._closed_until and len(self._server.active_channels) >= self._open
        return wanted and not is_closed

    def _warn(self, reason: str, fix: str) -> None:
        now = time.monotonic()
        if now - self._warned >= _WARN_EVERY:
            self._warned = now
            connections = len(self._server.active_channels)
            _LOG.warning(
                "tensortap: new connections wait: %s. The %d open ones are still served. %s",
                *(reason, connections, fix),
            )


class SocketMap(dict[int, Any]):
    """Channels by file descriptor: the `map` of a waitress server. Only the main thread calls `wait`.

    A channel that waits for data only is checked again once some arrived: until then it does not change. All
    others are checked before each wait, as workers change them, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = selectors.DefaultSelector()
        self._registered: dict[int, int] = {}  # registered events; reading them from a selector is slow
        self._busy: set[int] = set()
        self._thread = threading.get_ident()  # the main thread, which alone adds and removes channels

    @property
    def is_main_thread(self) -> bool:
        """Whether this is the main thread, the only one that may close connections."""
        return self._thread == threading.get_ident()

    def check_again(self, fd: int) -> None:
        """Checks a channel before the next wait; called by a worker that changed it."""
        self._busy.add(fd)

    def __setitem__(self, fd: int, connection: Any) -> None:
        super().__setitem__(fd, connection)
        self._busy.add(fd)

    def __delitem__(self, fd: int) -> None:
        super().__delitem__(fd)
        self._busy.discard(fd)
        if self._registered.pop(fd, 0):
            self._selector.unregister(fd)

    def wait(self, timeout: float) -> None:
        """Handles the next events; returns after them, or after `timeout` seconds."""
        self._thread = threading.get_ident()
        for fd in tuple(self._busy):
            self._check(fd)
        for key, events in self._selector.select(timeout):
            connection = key.data
            if self.get(key.fd) is not connection:  # closed by a previous event
                continue
            self._busy.add(key.fd)
            if events & selectors.EVENT_READ:
                wasyncore.read(connection)
            if events & selectors.EVENT_WRITE and self.get(key.fd) is connection:
                wasyncore.write(connection)

    def close(self) -> None:
        """Closes all channels, and wakes workers that wait for one to be read."""
        self._thread = threading.get_ident()
        for connection in list(self.values()):
            if isinstance(connection, HTTPChannel):
                connection.handle_close()
        wasyncore.close_all(self)
        self._busy.clear()
        self._selector.close()

    def _check(self, fd: int) -> None:
        self._busy.discard(fd)  # first: a worker that changes it meanwhile adds it again
        if fd not in self:  # closed meanwhile
            return
        connection = self[fd]
        accepts = bool(connection.accepting)
        reads, writes = bool(connection.readable()), bool(connection.writable()) and not accepts
        if fd not in self:
            return
        self._register(fd, connection, reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE)
        if not reads or writes or accepts:  # the listener runs the maintenance, too
            self._busy.add(fd)

    def _register(self, fd: int, connection: Any, events: int) -> None:
        known = self._registered.pop(fd, 0)
        try:
            if not known and events:
                self._selector.register(fd, events, connection)
            elif known and not events:
                self._selector.unregister(fd)
            elif known != events:
                self._selector.modify(fd, events, connection)
        except OSError:  # the system watches no more files; the listener is tried again
            if not connection.accepting:
                connection.handle_close()
        else:
            if events:
                self._registered[fd] = events
