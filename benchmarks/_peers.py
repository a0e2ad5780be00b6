"""Other viewers of graphs, measured beside the page: the same graph in the form each reads, its server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tensortap.core.records import Graph

FOLDER = Path(__file__).resolve().parent.parent / ".tools" / "peers"  # where `make bench` installs them
_START_S = 60

# Elements of TensorBoard are in shadow trees.
_DEEP = """
const deep = (root, selector) => root.querySelector(selector) ?? [...root.querySelectorAll('*')]
    .reduce((found, element) => found ?? (element.shadowRoot && deep(element.shadowRoot, selector)), null);
"""

# Netron asks about cookies before it opens anything.
_ACCEPT = "[...document.querySelectorAll('button')].find(button => button.textContent === 'Accept')?.click()"


@dataclass(frozen=True)
class Peer:
    """`write` puts a graph into a folder and says which path is opened; `ready` tells, in the page, whether
    nodes are drawn."""

    name: str
    write: Callable[[Graph, Path], Path]
    command: Callable[[Path, int], Sequence[str]]
    page: Callable[[Path], str]
    ready: str

    @property
    def missing(self) -> bool:
        """Whether it is not installed."""
        return self.name != "TensorBoard" and not FOLDER.is_dir()


def _write_events(graph: Graph, folder: Path) -> Path:
    from tensorboard.compat.proto import (
        event_pb2,
    )  # here, because both import TensorFlow, which takes seconds
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    writer.add_event(event_pb2.Event(wall_time=time.time(), graph_def=_graph_def(graph)))
    writer.close()
    return folder


def _write_graph_def(graph: Graph, folder: Path) -> Path:
    path = folder / "graph.pb"
    path.write_bytes(_graph_def(graph))
    return path


def _graph_def(graph: Graph) -> bytes:
    from tensorboard.compat.proto import graph_pb2

    definition = graph_pb2.GraphDef()
    for node in graph.nodes:
        # Without a device: with one Netron takes the file for ONNX, where that field is the op type, and
        # draws no edge.
        definition.node.add(name=node.name, op=node.op_type, input=node.inputs)
    content: bytes = definition.SerializeToString()
    return content


def _write_json(graph: Graph, folder: Path) -> Path:
    """Model Explorer's own format."""
    nodes = []
    for node in graph.nodes:
        edges = []
        for place, text in enumerate(node.inputs):
            name, _, slot = text.rpartition(":")
            edge = {"sourceNodeId": name, "sourceNodeOutputId": slot, "targetNodeInputId": str(place)}
            edges.append(edge)
        scope = node.name.rpartition("/")[0]
        nodes.append({"id": node.name, "label": node.op_type, "namespace": scope, "incomingEdges": edges})
    path = folder / "graph.json"
    path.write_text(json.dumps({"label": "graph", "graphs": [{"id": "graph", "nodes": nodes}]}))
    return path


def _python(*code: str) -> list[str]:
    return [sys.executable, "-c", "; ".join(code)]


def _model_explorer_page(path: Path) -> str:
    return "?data=" + quote(json.dumps({"models": [{"url": str(path)}]}))


PEERS = (
    Peer(
        "TensorBoard",
        _write_events,
        lambda path, port: [sys.executable, "-m", "tensorboard.main", f"--logdir={path}", f"--port={port}"],
        lambda path: "#graphs",
        f"(() => {{ {_DEEP} return deep(document, 'g.node .nodeshape') !== null }})()",
    ),
    Peer(
        "Netron",
        _write_graph_def,
        lambda path, port: _python(
            "import netron",
            f"netron.start({str(path)!r}, ('127.0.0.1', {port}), browse=False)",
            "netron.wait()",
        ),
        lambda path: "",
        f"({_ACCEPT}, document.querySelector('.node') && !document.body.classList.contains('spinner'))",
    ),
    Peer(
        "Model Explorer",
        _write_json,
        lambda path, port: _python(
            "from model_explorer import server, config",
            f"server.start(host='127.0.0.1', port={port}, no_open_in_browser=True)",
        ),
        _model_explorer_page,
        "document.querySelector('webgl-renderer canvas') !== null && !document.querySelector('.loading')",
    ),
)


@contextmanager
def opened(peer: Peer, graph: Graph, folder: Path) -> Iterator[str]:
    """The address of a peer's page that shows a graph.

    Raises:
        TimeoutError: its server does not answer.
    """
    folder.mkdir()
    path = peer.write(graph, folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(FOLDER), os.environ.get("PYTHONPATH", "")))
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(peer.command(path, port), env=environment, **quiet)
    try:
        _wait_for(f"http://127.0.0.1:{port}/", server)
        yield f"http://127.0.0.1:{port}/{peer.page(path)}"
    finally:
        server.kill()  # TensorBoard may wait for its loader when asked to end
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError(f"{server.args!r} does not answer")
