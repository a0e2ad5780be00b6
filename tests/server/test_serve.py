"""Ports, addresses, and a server that really listens."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from polling import until

from tensortap.replay.client import ReplayProcess
from tensortap.server import serve
from tensortap.server.serve import DEFAULT_PORT, Server, ServingError, connection_limit, open_socket


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def closed(server: Server) -> Server:
    server.close()
    return server


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(tmp_path: Path, taken: int) -> None:
    with pytest.raises(ServingError, match=rf"Cannot listen on 127\.0\.0\.1:{taken}: .*--port"):
        Server([tmp_path], port=taken)


def test_otherwise_the_next_free_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    monkeypatch.setattr("tensortap.server.serve.DEFAULT_PORT", taken)
    server = closed(Server([tmp_path]))
    assert server.moved
    assert taken < server.port < taken + 50


def test_the_usual_port() -> None:
    assert DEFAULT_PORT == 6016


@pytest.mark.parametrize("host", ["256.1.1.1", "no such host", "192.0.2.1"])
def test_a_host_of_another_machine_is_an_error(host: str) -> None:
    with pytest.raises(ServingError):
        open_socket(host, 0)


def test_no_token_on_loopback_only(tmp_path: Path) -> None:
    assert closed(Server([tmp_path], port=0, use_token=False)).token is None
    with pytest.raises(ServingError, match=r"anyone who can reach 0\.0\.0\.0.*--no-token"):
        Server([tmp_path], host="0.0.0.0", port=0, use_token=False)


@pytest.mark.parametrize("token", [" ", "a b", "a\tb", "ü" * 20, "x" * 1025])
def test_a_token_that_no_header_carries_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(ServingError, match="not allowed in headers"):
        Server([tmp_path], port=0, token=token)


def test_a_host_that_has_no_encoding_is_no_address(tmp_path: Path) -> None:
    with pytest.raises(ServingError, match="not an address of this machine"):
        Server([tmp_path], port=0, host="a" * 300)


def test_tokens_are_fresh_and_192_bits_long(tmp_path: Path) -> None:
    tokens = {closed(Server([tmp_path], port=0)).token for _ in range(3)}
    assert len(tokens) == 3
    assert all(token is not None and len(bytes.fromhex(token)) == 24 for token in tokens)


def test_a_bad_host_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ServingError, match=r"is not a host name.*--allow-host"):
        Server([tmp_path], port=0, allowed_hosts=["http://x"], replay_process=ReplayProcess())
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_cannot_start_leaves_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_socket("127.0.0.1", 0)
    monkeypatch.setattr(serve, "open_socket", lambda host, port: opened)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(OSError):
        Server([tmp_path], port=0, replay_process=ReplayProcess())
    assert opened.fileno() == -1


@pytest.mark.parametrize(
    ("host", "start"),
    [("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://127.0.0.1:"), ("0.0.0.0", "http://")],
)
def test_the_address_never_says_localhost(tmp_path: Path, host: str, start: str) -> None:
    server = closed(Server([tmp_path], host=host, port=0, token="a&b/c"))
    assert server.url.startswith(start)
    assert server.url.endswith(f":{server.port}/?token=a%26b%2Fc")
    assert "localhost" not in server.url


def ask(server: Server, path: str, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Server]:
    server = Server([tmp_path], port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.close()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_served_answer(running: Server) -> None:
    assert ask(running, "/api/runs")[0] == 401
    status, body = ask(running, "/api/runs", Authorization=f"Bearer {running.token}")
    assert status == 200
    assert b'"runs":[]' in body


def test_closing_again_writes_into_no_file_of_others(tmp_path: Path) -> None:
    """What woke the loop is closed with it, and its number is given to the next file that is opened."""
    server = Server([tmp_path], port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    ask(server, "/")
    server.close()
    thread.join()
    files = [tmp_path / str(number) for number in range(20)]
    with ExitStack() as opened:
        for file in files:
            opened.enter_context(file.open("wb"))
        server.close()
    server.run()
    assert not any(file.stat().st_size for file in files)


def test_the_end_is_quiet_whatever_is_being_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """GIVEN more requests than threads that answer, all at work or waiting WHEN the server ends THEN it does
    so at once, and tells nobody which threads it has."""
    go_on = threading.Event()

    def find(*_: object) -> list[tuple[str, Path]]:
        go_on.wait()
        return []

    monkeypatch.setattr("tensortap.index.logdir_index.find_runs", find)
    server = Server([tmp_path], port=0, use_token=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    with ExitStack() as stack:
        for _ in range(50):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            client.sendall(f"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        until(lambda: len(server._waitress.task_dispatcher.queue) > 30, "requests that wait")
        server.close()
        thread.join(60)
        assert not thread.is_alive()
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    go_on.set()


def test_where_select_waits_for_512_sockets_no_more_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows; one more, and waiting raises ValueError."""
    monkeypatch.setitem(sys.modules, "resource", None)
    assert 400 < connection_limit() < 512


def test_the_server_tells_nothing_of_itself(running: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    connection.request("GET", "/")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.getheader("Server") is None


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    ],
)
def test_endless_headers_are_cut_off(running: Server, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(request_bytes)
        assert b" 431 " in connection.recv(100)


def test_a_length_of_too_many_digits_is_refused(running: Server) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        length = b"9" * 5000
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n")
        assert b" 400 " in connection.recv(100)


@pytest.mark.parametrize(
    "parts", [(b"GET / HTTP/1.1\nHost: localhost\n\n",), (b"\nGET / HTTP/1.1\r\nHost: local", b"host\n")]
)
def test_lines_that_end_without_cr_are_refused_at_once(running: Server, parts: tuple[bytes, ...]) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        for part in parts:
            connection.sendall(part)
        assert b" 400 " in connection.recv(100)


def test_lines_may_come_in_parts(running: Server) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"\n\r\nGET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n":
            connection.sendall(bytes([byte]))
        assert b" 403 " in connection.recv(100)


def test_a_browser_that_speaks_https_is_not_kept_waiting(running: Server) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert connection.recv(100) == b""


def test_a_request_without_a_body_is_not_asked_for_it(running: Server) -> None:
    """GIVEN two such requests on one connection THEN both are answered, and none is made of both."""
    expecting = {"Expect": "100-continue", "Authorization": f"Bearer {running.token}"}
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    for _ in range(2):
        connection.request("GET", "/api/runs", headers=expecting)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["runs"]) == (200, [])
    connection.close()


def test_a_body_is_refused(running: Server) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nContent-Length: 100000000\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(100)


def test_half_open_connections_do_not_block_others(running: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", running.port), timeout=10) for _ in range(150)]
    for connection in idle:
        connection.sendall(b"GET / HT")
    assert ask(running, "/api/runs")[0] == 401
    for connection in idle:
        connection.close()


FORWARDED = {
    "X-Forwarded-Host": "dumps.example.org",
    "X-Forwarded-Proto": "https",
    "Origin": "https://dumps.example.org",
}


@contextmanager
def behind(logdir: Path, trusted: str | None) -> Iterator[Server]:
    """A server that knows the name of its proxy."""
    server = Server([logdir], port=0, allowed_hosts=["dumps.example.org"], trusted_proxy=trusted)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(timeout=10)


@pytest.mark.parametrize(("trusted", "status"), [("127.0.0.1", 303), ("192.0.2.7", 403), (None, 403)])
def test_only_a_trusted_proxy_says_how_it_was_asked(tmp_path: Path, trusted: str | None, status: int) -> None:
    with behind(tmp_path, trusted) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", f"/?token={server.token}", headers=FORWARDED)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == status
        assert ("Secure" in (answer.getheader("Set-Cookie") or "")) is (status == 303)


def test_a_trusted_proxy_hands_no_strange_host_in(tmp_path: Path) -> None:
    with behind(tmp_path, "127.0.0.1") as server:
        strange = FORWARDED | {"X-Forwarded-Host": "evil.example", "Origin": "https://evil.example"}
        assert ask(server, "/api/runs", **strange)[0] == 403


@pytest.mark.parametrize("proxy", ["*", "localhost", "proxy.example", "10.0.0.0/8", ""])
def test_a_trusted_proxy_is_one_address(tmp_path: Path, proxy: str) -> None:
    with pytest.raises(ServingError, match="not the IP address of a proxy"):
        Server([tmp_path], port=0, trusted_proxy=proxy)
