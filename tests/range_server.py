"""A web server that lists folders and sends ranges, as S3's and nginx's do, and counts what it sends."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Server(ThreadingHTTPServer):
    """`sent`: bytes of files that were sent. `ranges`: whether ranges are understood."""

    sent = 0
    ranges = True
    daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            if "forbidden" in self.path:
                self.send_error(403)
            else:
                super().do_GET()
            return
        data = path.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked and self.server.ranges:
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            total, data = len(data), data[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.server.sent += len(data)
        self.wfile.write(data)

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
        server.shutdown()
        server.server_close()
