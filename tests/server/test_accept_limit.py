"""A server that may open no more files: those inside are served on, the others wait, and it says so once."""

from __future__ import annotations

import errno
import http.client
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tensortap.dump.write.writer import DumpWriter
from tensortap.server import connections as accept_limit
from tensortap.server.connections import AcceptLimit

pytestmark = pytest.mark.slow

FILES = 40  # that the server may open; it needs some ten besides its connections
RUN = "r-7038458a"
SERVE = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop(1)),) * 2)
runpy.run_module("tensortap", run_name="__main__")
"""

Serving = tuple[subprocess.Popen[str], int]


@contextmanager
def serving(logdir: Path, files: int) -> Iterator[Serving]:
    """`tensortap serve` that may open so many files, and its port."""
    command = [sys.executable, "-c", SERVE, str(files), "serve", str(logdir), "--port", "0", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            addresses = (re.search(r"http://.*:(\d+)/", line) for line in process.stdout)
            yield process, next(int(found[1]) for found in addresses if found)
        finally:
            process.kill()


def ask(connection: http.client.HTTPConnection, path: str = "/api/runs") -> int:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_a_server_without_files_serves_on_and_recovers(tmp_path: Path) -> None:
    """GIVEN a limit that was lowered below the connections that are let in WHEN more come THEN one line says
    so, those inside are answered; and new ones are once others have gone."""
    with serving(tmp_path, 10 * FILES) as (process, port), ExitStack() as stack:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        inside = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        stack.callback(inside.close)
        assert ask(inside) == 200
        with ExitStack() as outside:
            for _ in range(2 * FILES):
                outside.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "Too many open files" in line and "ulimit -n" in line
            assert [ask(inside) for _ in range(3)] == [200] * 3
        late = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        stack.callback(late.close)
        assert ask(late) == 200
        process.terminate()
        assert process.communicate(timeout=60)[1] == ""


def test_connections_leave_files_for_values(tmp_path: Path) -> None:
    """GIVEN few files, and more clients than are let in THEN one line says so, and a value can be read."""
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log("x:0", np.ones(3), step=0, keep="value")
    with serving(tmp_path, FILES) as (process, port), ExitStack() as stack:
        inside = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        stack.callback(inside.close)
        assert ask(inside) == 200
        for _ in range(2 * FILES):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        assert process.stderr is not None
        assert "the limit is reached" in process.stderr.readline()
        assert ask(inside, f"/api/runs/{RUN}/value?tensor=x:0&step=0") == 200
        process.terminate()
        assert process.communicate(timeout=60)[1] == ""


def server(*accepted: object) -> SimpleNamespace:
    """As much of waitress's as an entrance has to do with; `accepted` is what `accept` returns or raises."""
    left = iter(accepted)

    def accept() -> object:
        found = next(left)
        if isinstance(found, OSError):
            raise found
        return found

    return SimpleNamespace(
        accept=accept,
        readable=lambda: True,
        active_channels={3: "one", 4: "another"},
        in_connection_overflow=False,
    )


def full() -> OSError:
    return OSError(errno.EMFILE, "Too many open files")


def test_it_is_tried_again_when_a_connection_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    found = server(full(), full(), "a connection")
    AcceptLimit(found)
    assert found.readable()
    assert found.accept() is None
    assert not found.readable()
    del found.active_channels[3]
    assert found.readable()
    assert (found.accept(), found.readable()) == (None, False)
    found.active_channels.clear()
    assert (found.readable(), found.accept()) == (True, "a connection")
    assert len(caplog.messages) == 1 and "The 2 open ones" in caplog.messages[0]


def test_it_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    monkeypatch.setattr(accept_limit.time, "monotonic", lambda: now)
    found = server(*(full() for _ in range(100)))
    AcceptLimit(found)
    for _ in range(100):
        assert found.readable()
        found.accept()
        assert not found.readable()
        now += 1
    assert len(caplog.messages) == 2, "one a minute"
