"""Clients that never read, drip, vanish or only connect: others are answered all the same."""

from __future__ import annotations

import http.client
import resource
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from polling import until

from tensortap.dump.write.writer import DumpWriter
from tensortap.server.serve import Server, connection_limit

pytestmark = pytest.mark.slow

THREADS = 16
FEW = 40  # connections that the server of a test lets in


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run with a value whose answer is larger than what waitress buffers (16 MiB)."""
    folder = tmp_path_factory.mktemp("logs")
    with DumpWriter(folder, run="run") as writer:
        writer.log("x:0", np.ones((2048, 2048), np.float32), step=0)
    return folder


@pytest.fixture
def running(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that ends what does not move after a second."""
    monkeypatch.setitem(Server.__init__.__globals__["_TUNING"], "channel_timeout", 1)
    monkeypatch.setattr("tensortap.server.serve.connection_limit", lambda: FEW)
    server = Server([logdir], port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.close()
    thread.join(timeout=10)
    assert not thread.is_alive()


def answered(server: Server) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request("GET", "/api/runs", headers={"Authorization": f"Bearer {server.token}"})
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def large(server: Server) -> bytes:
    address = f"/api/runs/{server_run(server)}/value?tensor=x:0&step=0&format=npy"
    head = f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}"
    return f"{head}\r\n\r\n".encode()


def server_run(server: Server) -> str:
    client = server.app.test_client()
    headers = {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {server.token}"}
    found: str = client.get("/api/runs", headers=headers).get_json()["runs"][0]["id"]
    return found


def opened(stack: ExitStack, server: Server) -> socket.socket:
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return connection


def channels(server: Server) -> int:
    return len(server._waitress.active_channels)


def test_answers_that_nobody_reads_keep_no_thread(running: Server) -> None:
    """GIVEN as many such clients as threads, with two large requests each THEN others are answered."""
    with ExitStack() as stack:
        for _ in range(THREADS):
            opened(stack, running).sendall(large(running) * 2)
        until(lambda: answered(running), "an answer", 30)
        until(lambda: channels(running) <= 1, "their end", 30)


def test_nobody_waits_for_clients_that_ask_on_without_reading(running: Server) -> None:
    """GIVEN as many as threads, which would be ended only after a long rest THEN others are answered."""
    running._waitress.adj.channel_timeout = 600
    with ExitStack() as stack:
        for _ in range(THREADS):
            opened(stack, running).sendall(large(running) * 3)
        for _ in range(3):
            until(lambda: answered(running), "an answer", 30)
        assert channels(running) >= THREADS


def test_who_reads_late_gets_all_answers_in_order(running: Server) -> None:
    running._waitress.adj.channel_timeout = 600
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as late:
        late.sendall(large(running) * 3 + large(running).replace(b"/value?tensor=x:0&step=0&format=npy", b""))
        assert answered(running)
        answers = late.makefile("rb")
        for _ in range(3):
            assert body_of(answers).startswith(b"\x93NUMPY")
        assert b'"name":"run"' in body_of(answers)


def body_of(answers: BinaryIO) -> bytes:
    assert b" 200 " in answers.readline()
    headers = http.client.parse_headers(answers)
    return answers.read(int(headers["Content-Length"]))


def test_a_request_that_comes_a_byte_at_a_time_is_ended(running: Server) -> None:
    with ExitStack() as stack:
        dripping = opened(stack, running)

        def ended() -> bool:
            try:
                dripping.send(b"G")
            except OSError:
                return True
            return False

        until(ended, "the end of the request that never becomes whole", 20)


def test_clients_that_only_connect_make_room(running: Server) -> None:
    """GIVEN as many as are let in, and more that wait WHEN another client asks THEN it is answered, long
    before they would be ended for resting."""
    running._waitress.adj.channel_timeout = 600
    with ExitStack() as stack:
        for _ in range(2 * FEW):
            opened(stack, running).sendall(b"GET / HT")
        until(lambda: answered(running), "an answer", 30)


def test_clients_that_vanish_leave_nothing(running: Server) -> None:
    with ExitStack() as stack:
        for _ in range(THREADS):
            connection = opened(stack, running)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(large(running))
    until(lambda: answered(running) and channels(running) <= 1, "their end", 30)


def test_connections_leave_files_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, allowed in ((256, 128), (1_000_000, 1000), (resource.RLIM_INFINITY, 1000), (48, 24), (8, 10)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert connection_limit() == allowed
