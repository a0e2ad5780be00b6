"""What waitress waits for, at a cost that goes with what happens, not with how many connections are open.

Its own loop asks every connection before each wait whether it wants to read or write: with 300 of them that
rest, as half-open ones do, that alone took a fifth of a core at 200 requests a second.
"""

from __future__ import annotations

import selectors
import threading
from typing import Any

from waitress import wasyncore
from waitress.channel import HTTPChannel


class Connections(dict[int, Any]):
    """Sockets by file descriptor: the `map` of a waitress server. `wait` is called by one thread only.

    A connection that only waits to be read is looked at again once something arrived: until then nobody
    changes it. All others are looked at before each wait, as the threads that answer change them, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = selectors.DefaultSelector()
        self._awaited: dict[int, int] = {}  # events that it waits for, by socket: it is slow to say so itself
        self._busy: set[int] = set()
        self._thread = threading.get_ident()  # which waits; it alone adds and removes connections

    @property
    def is_of_this_thread(self) -> bool:
        """Whether it is this thread that may end connections."""
        return self._thread == threading.get_ident()

    def look_again(self, fd: int) -> None:
        """Has a connection looked at before the next wait; called by a thread that changed it."""
        self._busy.add(fd)

    def __setitem__(self, fd: int, connection: Any) -> None:
        super().__setitem__(fd, connection)
        self._busy.add(fd)

    def __delitem__(self, fd: int) -> None:
        super().__delitem__(fd)
        self._busy.discard(fd)
        if self._awaited.pop(fd, 0):
            self._selector.unregister(fd)

    def wait(self, timeout: float) -> None:
        """Lets what can go on do so; returns once something could, or after so many seconds."""
        self._thread = threading.get_ident()
        for fd in tuple(self._busy):
            self._look_at(fd)
        for key, events in self._selector.select(timeout):
            connection = key.data
            if self.get(key.fd) is not connection:  # ended by what another one did
                continue
            self._busy.add(key.fd)
            if events & selectors.EVENT_READ:
                wasyncore.read(connection)
            if events & selectors.EVENT_WRITE and self.get(key.fd) is connection:
                wasyncore.write(connection)

    def close(self) -> None:
        """Ends all of them; a thread that waits for one to take more of its answer is told."""
        self._thread = threading.get_ident()
        for connection in list(self.values()):
            if isinstance(connection, HTTPChannel):
                connection.handle_close()
        wasyncore.close_all(self)
        self._busy.clear()
        self._selector.close()

    def _look_at(self, fd: int) -> None:
        self._busy.discard(fd)  # first: a thread that changes it meanwhile has it looked at again
        if fd not in self:  # ended while others were looked at
            return
        connection = self[fd]
        accepts = bool(connection.accepting)
        reads, writes = bool(connection.readable()), bool(connection.writable()) and not accepts
        if fd not in self:
            return
        self._await(fd, connection, reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE)
        if not reads or writes or accepts:  # who accepts keeps the others in order, too
            self._busy.add(fd)

    def _await(self, fd: int, connection: Any, events: int) -> None:
        known = self._awaited.pop(fd, 0)
        try:
            if not known and events:
                self._selector.register(fd, events, connection)
            elif known and not events:
                self._selector.unregister(fd)
            elif known != events:
                self._selector.modify(fd, events, connection)
        except OSError:  # the system watches no more of them; who accepts is tried again
            if not connection.accepting:
                connection.handle_close()
        else:
            if events:
                self._awaited[fd] = events
