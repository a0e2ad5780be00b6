"""The sockets of a waitress server, and a loop that waits for them.

The cost of a wait goes with what happens, not with how many connections are open: waitress's own loop asks
every connection before each wait whether it wants to read or write, which with 300 half-open ones took a
fifth of a core at 200 requests a second.
"""

from __future__ import annotations

import selectors
import threading
from typing import Any

from waitress import wasyncore
from waitress.channel import HTTPChannel


class SocketMap(dict[int, Any]):
    """Channels by file descriptor: the `map` of a waitress server. Only the main thread calls `wait`.

    A channel that waits for data only is checked again once some arrived: until then nobody changes it. All
    others are checked before each wait, as workers change them, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = selectors.DefaultSelector()
        self._registered: dict[int, int] = {}  # registered events; a selector is slow to tell them
        self._busy: set[int] = set()
        self._thread = threading.get_ident()  # the main thread, which alone adds and removes channels

    @property
    def is_main_thread(self) -> bool:
        """Whether this is the main thread, which alone may close connections."""
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
