"""A compacted run in a bucket that is far away: its first pages, and what an idle page asks of the bucket.

    python benchmarks/bucket.py DIR [--latency 0.02] [--idle 60]

DIR has a compacted run, as `benchmarks/cluster.py --dir` leaves it. It is put on moto's S3 server, which is
read through a proxy that delays each request. *cold*: nothing is cached. *warm*: a second server finds what
the first one read. Times are from the first request for the runs to the last answer of the page; starting the
programs is not included. *idle*: requests to the bucket while a page polls the runs once per second. With
`--idle 0` the first program ends before it has stored what it read, so warm is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _table import print_table
from cluster import BUCKET, put_compacted

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/support"))

from s3_server import s3_server

_CHUNK = 1 << 20


class Proxy:
    """Forwards connections, each request after a delay. `requests`: how many there were."""

    def __init__(self, port: int, latency: float) -> None:
        self.requests = 0
        self._target, self._latency = port, latency
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(("127.0.0.1", self._target))
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, to: socket.socket, is_request: bool) -> None:
        try:
            while data := source.recv(_CHUNK):
                if is_request and data.split(b" ", 1)[0] in (b"GET", b"HEAD", b"PUT", b"POST"):
                    self.requests += 1
                    time.sleep(self._latency)
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:  # one of them has closed
            pass


def ask(idle: float) -> dict[str, float]:
    """The times of this process's pages. Waits for `idle` seconds afterwards, asking for the runs."""
    from tensortap.server.serve import Server
    from tensortap.storage.uri import path_of
    from tensortap.system.pandas_guard import hide_pandas

    hide_pandas()
    server = Server([path_of(f"s3://{BUCKET}/logs")], port=0, use_token=False, own_process=True)
    client, at = server.app.test_client(), server.url.rstrip("/")
    found, start = {}, time.perf_counter()

    def get(path: str) -> Any:
        return client.get(f"{at}{path}").get_json()

    while not (runs := get("/api/runs").get("runs")) or not runs[0]["snapshots"]:
        time.sleep(0.01)
    found["list of runs, s"] = time.perf_counter() - start
    run = f"/api/runs/{runs[0]['id']}"
    graph = get(f"{run}/graphs")["graphs"][0]["id"]
    client.get(f"{at}{run}/graphs/{graph}")
    found["graph, s"] = time.perf_counter() - start
    assert get(f"{run}/snapshots?limit=50")["rows"]
    found["first snapshots, s"] = time.perf_counter() - start
    if idle:
        while get("/api/runs").get("reading"):
            time.sleep(0.5)
        time.sleep(10)
        print("idle", flush=True)
        until = time.monotonic() + idle
        while time.monotonic() < until:
            get("/api/runs")
            time.sleep(1)
    return found


@contextmanager
def bucket_behind(latency: float, run_dir: Path) -> Iterator[Proxy]:
    with s3_server() as server:
        os.environ.update(server)
        make_bucket = f"import s3fs; s3fs.S3FileSystem().mkdir({BUCKET!r})"
        subprocess.run([sys.executable, "-c", make_bucket], check=True)
        put_compacted(run_dir)
        proxy = Proxy(int(server["AWS_ENDPOINT_URL"].rpartition(":")[2]), latency)
        os.environ["AWS_ENDPOINT_URL"] = f"http://localhost:{proxy.port}"
        yield proxy


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("dir", type=Path, nargs="?")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds before each request")
    parser.add_argument("--idle", type=float, default=60, help="seconds that an idle page is watched")
    parser.add_argument("--ask", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask is not None:
        print(json.dumps(ask(options.ask)))
        os._exit(0)
    with tempfile.TemporaryDirectory() as cache, bucket_behind(options.latency, options.dir / "job") as proxy:
        os.environ["TENSORTAP_CACHE"] = cache
        rows: list[list[str]] = []
        for name, idle in (("cold", options.idle), ("warm", 0.0)):
            before = proxy.requests
            command = [sys.executable, __file__, "--ask", str(idle)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                for line in child.stdout:
                    if line == "idle\n":
                        at = proxy.requests
                        rows.append([f"{name}: requests until all is read", str(at - before)])
                        continue
                    rows += [[f"{name}: {what}", f"{value:.2f}"] for what, value in json.loads(line).items()]
            if idle:
                rows.append([f"idle: requests in {idle:.0f} s", str(proxy.requests - at)])
    print_table(f"A compacted run behind {options.latency * 1e3:.0f} ms", ["", ""], rows)


if __name__ == "__main__":
    main()
