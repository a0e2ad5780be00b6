"""The loop that waits for connections: who rests is left alone, who can go on does."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from waitress import wasyncore

from tensortap.server.connections import Connections


class Ended(wasyncore.dispatcher):  # type: ignore[misc]
    """One end of a pair of sockets, as waitress's channels are; counts what it is asked for."""

    def __init__(self, connections: Connections) -> None:
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
def connections() -> Iterator[Connections]:
    found = Connections()
    yield found
    found.close()


def test_who_rests_is_not_asked_again(connections: Connections) -> None:
    resting, sent_to = Ended(connections), Ended(connections)
    for text in (b"a", b"b", b"c"):
        connections.wait(0)
        sent_to.other.sendall(text)
        connections.wait(0)
    assert sent_to.got == b"abc"
    assert sent_to.asked > 2
    assert resting.asked == 1


def test_who_neither_reads_nor_writes_is_asked_until_that_changes(connections: Connections) -> None:
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


def test_who_goes_away_is_ended(connections: Connections) -> None:
    gone = Ended(connections)
    connections.wait(0)
    gone.other.close()
    connections.wait(0)
    assert not connections


def test_what_closed_a_moment_ago_leaves_its_event_to_nobody(connections: Connections) -> None:
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


def test_closing_ends_all(connections: Connections) -> None:
    made = [Ended(connections) for _ in range(3)]
    connections.wait(0)
    connections.close()
    assert not connections
    assert all(each.other.fileno() == -1 for each in made)
