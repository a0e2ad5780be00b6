"""What waitress waits for, at a cost that goes with what happens, not with how many connections are open.

Its own loop asks every connection before each wait whether it wants to read or write: with 300 of them that
rest, as half-open ones do, that alone took a fifth of a core at 200 requests a second.
"""

from __future__ import annotations

import selectors
from typing import Any

from waitress import wasyncore


class Connections(dict[int, Any]):
    """Sockets by file descriptor: the `map` of a waitress server. `wait` is called by one thread only.

    A connection that only waits to be read is looked at again once something arrived: until then nobody
    changes it. All others are looked at before each wait, as the threads that answer change them, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = selectors.DefaultSelector()
        self._busy: set[int] = set()

    def __setitem__(self, fd: int, connection: Any) -> None:
        super().__setitem__(fd, connection)
        self._busy.add(fd)

    def __delitem__(self, fd: int) -> None:
        super().__delitem__(fd)
        self._busy.discard(fd)
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def wait(self, timeout: float) -> None:
        """Lets what can go on do so; returns once something could, or after so many seconds."""
        for fd in tuple(self._busy):
            self._look_at(fd)
        for key, events in self._selector.select(timeout):
            connection = key.data
            self._busy.add(key.fd)
            if events & selectors.EVENT_READ and self.get(key.fd) is connection:
                wasyncore.read(connection)
            if events & selectors.EVENT_WRITE and self.get(key.fd) is connection:
                wasyncore.write(connection)

    def close(self) -> None:
        """Ends all of them."""
        wasyncore.close_all(self)
        self._busy.clear()
        self._selector.close()

    def _look_at(self, fd: int) -> None:
        if fd not in self:  # ended while others were looked at
            return
        connection = self[fd]
        accepts = bool(connection.accepting)
        reads, writes = bool(connection.readable()), bool(connection.writable()) and not accepts
        if fd not in self:
            return
        self._await(fd, connection, reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE)
        if reads and not writes and not accepts:  # who accepts keeps the others in order, too
            self._busy.discard(fd)

    def _await(self, fd: int, connection: Any, events: int) -> None:
        known = self._selector.get_map().get(fd)
        if known is not None and known.events == events:
            return
        if known is not None:
            self._selector.unregister(fd)
        if events:
            self._selector.register(fd, events, connection)
