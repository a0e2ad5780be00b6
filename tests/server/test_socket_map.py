"""The loop that waits for connections: who rests is left alone, who can go on does."""

from __future__ import annotations

import errno
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from polling import until
from waitress import wasyncore
from waitress.server import create_server

from tensortap.server.connections import ClientChannel, SocketMap


class Ended(wasyncore.dispatcher):  # type: ignore[misc]
    """One end of a pair of sockets, as waitress's channels are; counts what it is asked for."""

    def __init__(self, connections: SocketMap) -> None:
        ours, self.other = socket.socketpair()
        self.asked = 0
        self.got = b""
        self.to_send = b""
        self.hears = True
        super().__init__(ours, connections)
        self.connected = True

    def readable(self) -> bool:
        self.asked += 1
        return self.hears

    def writable(self) -> bool:
        return bool(self.to_send)

    def handle_read(self) -> None:
        self.got += self.recv(100)

    def handle_write(self) -> None:
        self.to_send = self.to_send[self.send(self.to_send) :]

    def handle_close(self) -> None:
        self.close()

    def close(self) -> None:
        super().close()
        self.other.close()


@pytest.fixture
def connections() -> Iterator[SocketMap]:
    found = SocketMap()
    yield found
    found.close()


def test_who_rests_is_not_asked_again(connections: SocketMap) -> None:
    resting, sent_to = Ended(connections), Ended(connections)
    for text in (b"a", b"b", b"c"):
        connections.wait(0)
        sent_to.other.sendall(text)
        connections.wait(0)
    assert sent_to.got == b"abc"
    assert sent_to.asked > 2
    assert resting.asked == 1


def test_who_neither_reads_nor_writes_is_asked_until_that_changes(connections: SocketMap) -> None:
    answering = Ended(connections)
    answering.hears = False
    answering.other.sendall(b"the next request")
    for _ in range(3):
        connections.wait(0)
    assert (answering.asked, answering.got) == (3, b"")
    answering.to_send = b"the answer"  # by another thread
    connections.wait(0)
    assert answering.other.recv(100) == b"the answer"
    answering.hears = True
    connections.wait(0)
    assert answering.got == b"the next request"


def test_what_changes_while_it_is_looked_at_is_looked_at_again(connections: SocketMap) -> None:
    """As where a thread asks for the rest of a request, and not all of that could be sent at once."""

    class Changing(Ended):
        def writable(self) -> bool:
            before = super().writable()
            if self.asked == 1:  # by another thread, at this moment
                self.to_send = b"100 Continue"
                connections.check_again(self._fileno)
            return before

    changing = Changing(connections)
    changing.other.setblocking(False)
    connections.wait(0)
    connections.wait(0)
    assert changing.other.recv(100) == b"100 Continue"


def test_the_system_is_reported_only_what_changed(
    connections: SocketMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    for name in ("register", "modify", "unregister"):
        tell = getattr(connections._selector, name)
        noted = lambda *what, name=name, tell=tell: (reported.append(name), tell(*what))  # noqa: E731
        monkeypatch.setattr(connections._selector, name, noted)
    answering = Ended(connections)
    for hears, to_send in (
        (True, b""),
        (False, b""),
        (False, b""),
        (False, b"a"),
        (False, b"b"),
        (True, b"c"),
    ):
        answering.hears, answering.to_send = hears, to_send
        connections.check_again(answering._fileno)
        connections.wait(0)
    answering.close()
    assert reported == ["register", "unregister", "register", "modify", "unregister"]
    assert not connections._registered


def test_who_goes_away_is_ended(connections: SocketMap) -> None:
    gone = Ended(connections)
    connections.wait(0)
    gone.other.close()
    connections.wait(0)
    assert not connections


def test_what_closed_a_moment_ago_leaves_its_event_to_nobody(connections: SocketMap) -> None:
    class Closing(Ended):
        """Ends the other one when it is read, and opens a new connection."""

        def handle_read(self) -> None:
            super().handle_read()
            self.peer.close()
            made.append(Ended(connections))

    made: list[Ended] = []
    pair = Closing(connections), Closing(connections)
    for each, peer in zip(pair, pair[::-1], strict=True):
        each.peer = peer
        each.other.sendall(b"at once")
    connections.wait(0)
    (new,) = made
    assert sorted(each.got for each in pair) == [b"", b"at once"]
    assert new.got == b""
    assert set(connections.values()) == {new, *(each for each in pair if each.got)}


def test_one_that_the_system_does_not_watch_is_ended_alone(
    connections: SocketMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the user's processes watch `/proc/sys/fs/epoll/max_user_watches` files."""

    def refuse(fd: int, events: int, data: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    known = Ended(connections)
    connections.wait(0)
    refused = Ended(connections)
    monkeypatch.setattr(connections._selector, "register", refuse)
    known.other.sendall(b"still there")
    connections.wait(0)
    assert (known.got, refused.other.fileno()) == (b"still there", -1)
    assert list(connections.values()) == [known]


def test_closing_ends_all(connections: SocketMap) -> None:
    made = [Ended(connections) for _ in range(3)]
    connections.wait(0)
    connections.close()
    assert not connections
    assert all(each.other.fileno() == -1 for each in made)


@pytest.fixture
def serving(connections: SocketMap) -> Iterator[Callable[..., tuple[Any, socket.socket]]]:
    """Starts a server of an application with one thread that answers, and connects with it."""
    opened: list[socket.socket] = []
    started: list[Any] = []

    def start(app: object, **options: Any) -> tuple[Any, socket.socket]:
        listener = socket.create_server(("127.0.0.1", 0))
        server = create_server(app, map=connections, sockets=[listener], threads=1, **options)
        server.channel_class = ClientChannel
        started.append(server)
        opened.extend([listener, socket.create_connection(listener.getsockname())])
        return server, opened[-1]

    yield start
    for server in started:
        server.task_dispatcher.shutdown()
    for each in opened:
        each.close()


def test_only_the_thread_that_waits_ends_connections(
    connections: SocketMap, serving: Callable[..., tuple[Any, socket.socket]]
) -> None:
    """GIVEN a request being answered, and the begin of another one that wants to be asked for its rest
    WHEN the client is gone THEN the thread that answers, which notices, leaves the end to the other one."""
    begun, gone = threading.Event(), threading.Event()

    def app(environ: object, start_response: Callable[..., object]) -> list[bytes]:
        begun.set()
        assert gone.wait(60)
        start_response("200 OK", [("Content-Length", "6")])
        return [b"answer"]

    server, client = serving(app)
    wants_asking = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + wants_asking)
    until(lambda: connections.wait(0) or begun.is_set(), "the request")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends it by RST
    client.close()
    gone.set()
    server.task_dispatcher.shutdown(timeout=60)
    assert len(server.active_channels) == 1
    until(lambda: connections.wait(0) or not server.active_channels, "the end of the connection")


def test_closing_tells_who_waits_for_an_answer_to_be_taken(
    connections: SocketMap, serving: Callable[..., tuple[Any, socket.socket]]
) -> None:
    ended = threading.Event()

    def app(environ: object, start_response: Callable[..., object]) -> Iterator[bytes]:
        start_response("200 OK", [])
        try:
            while True:
                yield bytes(1 << 20)
        finally:
            ended.set()

    server, client = serving(app, outbuf_high_watermark=1 << 20)
    client.sendall(b"GET / HTTP/1.0\r\n\r\n")

    def is_full() -> bool:
        connections.wait(0)
        return any(channel.total_outbufs_len > 1 << 20 for channel in server.active_channels.values())

    until(is_full, "a thread that waits")
    connections.close()
    assert ended.wait(60)
