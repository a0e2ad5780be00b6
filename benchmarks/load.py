"""Viewers at a live run: latencies and memory of the server while others hold it up; TensorBoard's beside it.

    python benchmarks/load.py [--seconds 600] [--viewers 50] [--half-open 300] [--grown 0] [--peers]

A process writes a run, 20 steps a second, `tensortap serve` serves it. Each viewer does what the page does:
requests changes, the run, its problems and a history, once per second, on one connection as long as the
server keeps it. Meanwhile there are half-open connections,
clients that request a slice and never read it, and clients that vanish each second while they
are answered. Printed: p50 and p99 of the viewers' requests, p99 in each tenth of the time, statuses, resident
memory at the beginning and end, and how long Ctrl-C takes. `--grown 10000` writes 10,000 steps before the
viewers come: what a run costs that has been written for long. `--peers` asks TensorBoard's own server for
scalars in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

WRITER = """
import sys, time
import numpy as np
from tensortap.dump.write.writer import DumpWriter
from tensortap.core.records import Graph, Node
with DumpWriter(sys.argv[1], "live") as writer:
    graph = writer.graph(Graph("train", [Node(f"layer_{i}/Relu", "Relu") for i in range(50)]))
    big = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    writer.log("layer_0/Relu:0", big, step=0, graph=graph, keep="value")
    for step in range(1, 1_000_000):
        for i in range(50):
            writer.log(f"layer_{i}/Relu:0", big[i], step=step, graph=graph, keep="summary")
        if step > int(sys.argv[2]):
            time.sleep(0.05)
"""
SCALARS = """
import sys, time
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
writer = EventFileWriter(sys.argv[1], flush_secs=1)
for step in range(1_000_000):
    values = [Summary.Value(tag=f"layer_{i}", simple_value=float(step)) for i in range(50)]
    writer.add_event(Event(step=step, wall_time=time.time(), summary=Summary(value=values)))
    time.sleep(0.05)
"""
TOKEN = "0123456789abcdef" * 3
NEVER_READ, VANISHING = 20, 10


@dataclass
class Seen:
    """What the viewers met: when they asked, how long each answer took, and what came."""

    asked: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A server: where it is, and what a viewer requests in a round."""

    port: int
    pid: int
    polls: tuple[str, ...]
    large: str


class Connection:
    """Requests one after the other, on one connection as browsers do, or on a new one where it was ended."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str) -> tuple[int, bytes]:
        """Status and body."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._peer.port)
        reader, writer = self._streams
        writer.write(request(self._peer, path))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"\ncontent-length: (\d+)", head)
        body = await (reader.read() if length is None else reader.readexactly(int(length[1])))
        if length is None or b"\nconnection: close" in head or head.startswith(b"http/1.0"):
            self.close()
        return int(head.split(b" ", 2)[1]), body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def ask_once(peer: Peer, path: str) -> tuple[int, bytes]:
    connection = Connection(peer)
    try:
        return await connection.ask(path)
    finally:
        connection.close()


def request(peer: Peer, path: str) -> bytes:
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{peer.port}",
        f"Authorization: Bearer {TOKEN}",
        "Accept-Encoding: gzip",  # as every browser says
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def view(peer: Peer, seen: Seen, until: float, delay: float) -> None:
    """A page that is open: a round a second."""
    await asyncio.sleep(delay)
    connection = Connection(peer)
    while time.monotonic() < until:
        begun = time.monotonic()
        for path in peer.polls:
            asked = time.monotonic()
            status, _ = await connection.ask(path)
            seen.asked.append(asked)
            seen.seconds.append(time.monotonic() - asked)
            seen.statuses[status] = seen.statuses.get(status, 0) + 1
        await asyncio.sleep(max(0.0, 1 - (time.monotonic() - begun)))
    connection.close()


@asynccontextmanager
async def nuisances(peer: Peer, half_open: int) -> AsyncIterator[None]:
    """Connections that never finish asking, never read, or are cut while they are answered; kept up."""

    async def hold(data: bytes, seconds: float) -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", peer.port, limit=1)
                writer.write(data)
                await asyncio.sleep(seconds)
                writer.transport.abort()

    whole = request(peer, peer.large)
    tasks = [asyncio.create_task(hold(b"GET / HT", 20)) for _ in range(half_open)]
    tasks += [asyncio.create_task(hold(whole, 20)) for _ in range(NEVER_READ)]
    tasks += [asyncio.create_task(hold(whole, 1)) for _ in range(VANISHING)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def resident(pid: int) -> float:
    """MiB of memory of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in (pid, *children))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measure(name: str, peer: Peer, arguments: argparse.Namespace) -> None:
    seen, memory = Seen(), []
    until = time.monotonic() + arguments.seconds
    async with nuisances(peer, arguments.half_open):
        viewers = [
            asyncio.create_task(view(peer, seen, until, number / arguments.viewers))
            for number in range(arguments.viewers)
        ]
        while time.monotonic() < until:
            await asyncio.sleep(min(5.0, arguments.seconds / 4))
            memory.append(resident(peer.pid))
        await asyncio.gather(*viewers)
    milliseconds, begun = np.array(seen.seconds) * 1000, np.array(seen.asked) - until + arguments.seconds
    p50, p99 = np.quantile(milliseconds, [0.5, 0.99])
    tenth = np.clip(begun * 10 / arguments.seconds, 0, 9).astype(int)
    tenths = [f"{np.quantile(milliseconds[tenth == each], 0.99):.0f}" for each in np.unique(tenth)]
    print(
        f"{name}: {len(seen.seconds):,} requests ({len(seen.seconds) / arguments.seconds:.0f}/s), "
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms (in each tenth {' '.join(tenths)}), "
        f"slowest {milliseconds.max():.0f} ms; "
        f"statuses {seen.statuses}; memory {memory[0]:.0f} -> {memory[-1]:.0f} MiB (most {max(memory):.0f})"
    )


@contextmanager
def running(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, *command], env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return next(
        int(found[1]) for line in process.stdout if (found := re.search(r"http://[^:/]+:(\d+)", line))
    )


def grown_run(peer: Peer, snapshots: int) -> str:
    """The written run's id, as soon as it holds more than `snapshots` snapshots."""
    while True:
        _, body = asyncio.run(ask_once(peer, "/api/runs"))
        for run in json.loads(body)["runs"]:
            if run["snapshots"] > snapshots:
                return str(run["id"])
        time.sleep(0.2)


def tensortap(folder: Path, arguments: argparse.Namespace) -> None:
    serve = ("-m", "tensortap", "serve", str(folder), "--port", "0")
    writer = running("-c", WRITER, str(folder), str(arguments.grown))
    with writer, running(*serve, TENSORTAP_TOKEN=TOKEN) as server:
        peer = Peer(port_of(server), server.pid, ("/api/runs",), "")
        run = grown_run(peer, 1 + 50 * arguments.grown)
        polls = ["/api/changes", f"/api/runs/{run}", f"/api/runs/{run}/problems"]
        polls += [f"/api/runs/{run}/history?tensor=layer_1/Relu:0"]
        large = f"/api/runs/{run}/value?tensor=layer_0/Relu:0&step=0&selection=0:64"
        asyncio.run(measure("tensortap", Peer(peer.port, peer.pid, tuple(polls), large), arguments))
        begun = time.monotonic()
        server.send_signal(signal.SIGINT)
        server.wait(timeout=20)
        print(
            f"tensortap: Ctrl-C ended it in {time.monotonic() - begun:.2f} s with status {server.returncode}"
        )


def tensorboard(folder: Path, arguments: argparse.Namespace) -> None:
    serve = ("-m", "tensorboard.main", "--logdir", str(folder), "--port", "0", "--reload_interval", "1")
    with running("-c", SCALARS, str(folder / "live")), running(*serve) as server:
        prefix = "/data/plugin/scalars"
        polls = ("/data/runs", f"{prefix}/tags", f"{prefix}/scalars?run=live&tag=layer_1")
        peer = Peer(port_of(server), server.pid, polls, polls[-1])
        while asyncio.run(ask_once(peer, polls[-1]))[0] != 200:
            time.sleep(0.2)
        asyncio.run(measure("TensorBoard", peer, arguments))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--half-open", type=int, default=300)
    parser.add_argument("--grown", type=int, default=0, help="steps written before the viewers connect")
    parser.add_argument("--peers", action="store_true", help="also measure TensorBoard's server")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's '&' has ignored
    for measured in (tensortap, tensorboard) if arguments.peers else (tensortap,):
        with tempfile.TemporaryDirectory() as folder:
            measured(Path(folder), arguments)


if __name__ == "__main__":
    main()
