"""A web server that lists folders and sends ranges, as S3's and nginx's do, and counts what it sends."""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Server(ThreadingHTTPServer):
    """`sent`: bytes of files that were sent. `ranges`: whether ranges are understood.

    `odd`: `fails` (500), `waits` (accepts, answers once it is taken back), or, for the bytes of files,
    `long` (a whole file for a range), `cut` (half of it) or `endless` (256 MiB at most).
    """

    sent = 0
    odd = ""
    ranges = True
    daemon_threads = True

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.resumed = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """Quiet: who had enough hangs up."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        if not self._refused():
            super().do_HEAD()

    def do_GET(self) -> None:
        if self._refused():
            return
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            if "forbidden" in self.path:
                self.send_error(403)
            else:
                super().do_GET()
            return
        data = path.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        odd = self.server.odd
        if asked and self.server.ranges:
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            first, last = (0, len(data) - 1) if odd == "long" else (first, last)
            total, data = len(data), data[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        else:
            self.send_response(200)
        if odd != "endless":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self._send(data[: len(data) // 2] if odd == "cut" else data, 256 if odd == "endless" else 0)

    def _send(self, data: bytes, more: int) -> None:
        """Some bytes, and `more` MiB behind them, until nobody listens."""
        for piece in (data, *[bytes(1 << 20)] * more):
            self.wfile.write(piece)
            self.server.sent += len(piece)

    def _refused(self) -> bool:
        """Whether nothing is told; waits where the server does."""
        deadline = time.monotonic() + 60
        while self.server.odd == "waits" and time.monotonic() < deadline:
            self.server.resumed.wait(0.1)
        if self.server.odd == "fails":
            self.send_error(500)
        return self.server.odd == "fails"

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serves a folder on a port of its own."""
    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.odd = ""
        server.resumed.set()
        server.shutdown()
        server.server_close()
