"""What is fuzzed: each target takes any bytes, and may answer or refuse in a sentence, but nothing else."""

from __future__ import annotations

import functools
import re
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numpy as np
from werkzeug.test import Client

from tensortap.analysis.compare.comparison_files import read_matches
from tensortap.api.logdir import open_logdir
from tensortap.core.errors import TensortapError
from tensortap.core.records import Graph, Node
from tensortap.dump.format.frames import EOS
from tensortap.dump.format.schema import SCHEMA_MESSAGE
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.values_reader import read_value, value_ref
from tensortap.dump.recording.bundle import read_bundle
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.importing import import_source
from tensortap.replay.stepper.what_ifs import read_what_ifs
from tensortap.server.app import create_app
from tensortap.tfproto.tfrecord import masked_crc32c

Target = Callable[[bytes], None]

# Kept for the whole process: what every input is put into, or next to.
_HOME = tempfile.TemporaryDirectory(prefix="tensortap-fuzz-")
_RUN = Path(_HOME.name) / "run"
_CRC = re.compile(rb"crc32c=([0-9a-f]{8})")
ROWS = 3
BETWEEN = b"\n--file--\n"
_DEVICE = "_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"
TFDBG1 = (
    f"{_DEVICE}/_tfdbg_graph_hash1_1",
    f"{_DEVICE}/w_0_DebugIdentity_2",
    "_tfdbg_core_metadata_sessionrun1_1",
)
TFDBG2 = ("metadata", "execution", "graphs", "graph_execution_traces", "stack_frames", "source_files")
TENSOR = {"tensor": "a/x:0", "step": "1"}
# Parts of requests that are parsed: route, what it needs besides, parameter.
ASKED: tuple[tuple[str, dict[str, str], str], ...] = (
    ("snapshots", {}, "where"),
    ("snapshots", {}, "match"),
    ("snapshots", {}, "step"),
    ("snapshots", {}, "sort"),
    ("value", TENSOR, "selection"),
    ("value", {"step": "1"}, "tensor"),
    ("histograms", {"tensor": "a/x:0"}, "steps"),
    ("nodes", {}, "node"),
)


def template() -> Path:
    """A run with statistics, values, a graph and events; made once."""
    if not _RUN.exists():
        with DumpWriter(_RUN.parent, run="run") as writer:
            nodes = [
                Node("a/x", "Exp", ["b:0"], attributes={"T": "float"}, output_dtypes=["float32"]),
                Node("b", "Const"),
            ]
            graph = writer.graph(Graph("g", nodes, stacks=[[("f.py", 1, "f")]], sources={"f.py": "x\n"}))
            for step in range(ROWS):
                writer.log("a/x:0", np.full((20, 20), 1.5, np.float32), step=step, graph=graph, keep="value")
                writer.event("trigger", step=step, reason="r")
    return _RUN


def resealed(frame: bytes) -> bytes:
    """A frame with the checksum that fits its bytes, so that what lies behind the checksum is reached."""
    found = _CRC.search(frame)
    if found is None:
        return frame
    data = bytearray(frame)
    data[found.start(1) : found.end(1)] = b"00000000"
    data[found.start(1) : found.end(1)] = b"%08x" % google_crc32c.value(bytes(data))
    return bytes(data)


def _with_file(pattern: str, data: bytes) -> None:
    """Reads everything there is to a run in which one file holds `data`."""
    with tempfile.TemporaryDirectory(dir=_HOME.name) as folder:
        run = Path(folder) / "run"
        shutil.copytree(template(), run)
        (file,) = run.glob(pattern)
        file.write_bytes(data)
        read_everything(run)


def read_everything(path: Path) -> None:
    """Through the reader of the dump, and through `tensortap.open`."""
    try:
        reader = RunReader(path)
    except TensortapError:
        return
    for graph in reader.graph_ids():
        _answers(lambda graph=graph: reader.graph(graph))  # type: ignore[misc]
    for worker in reader.workers():
        tail = reader.tail(worker.worker)
        for commit in tail.poll():
            for row in range(min(commit.batch.num_rows, 100)):
                reference = value_ref(reader.path, worker.worker, commit.batch, row)
                if reference is not None:
                    _answers(lambda reference=reference: read_value(reference))  # type: ignore[misc]
    _answers(lambda: [run.find() for run in open_logdir(path).runs.values()])


def _answers(ask: Callable[[], object]) -> None:
    try:
        ask()
    except (TensortapError, KeyError):
        return


def stats(data: bytes) -> None:
    """One commit, with a checksum that fits."""
    _with_file("*/stats-*.arrows", SCHEMA_MESSAGE + resealed(data) + EOS)


def stats_file(data: bytes) -> None:
    _with_file("*/stats-*.arrows", data)


def values(data: bytes) -> None:
    """The first bytes of a file of values: its header, which is padded to 256 KiB."""
    (whole,) = template().glob("*/values-*.safetensors")
    _with_file("*/values-*.safetensors", data + whole.read_bytes()[len(data) :])


def graph(data: bytes) -> None:
    _with_file("graphs/*.arrows", data)


def events(data: bytes) -> None:
    _with_file("*/events-*.jsonl", data)


def run_json(data: bytes) -> None:
    _with_file("run.json", data)


def archive(data: bytes) -> None:
    """A `.tap.zip` that somebody sent."""
    with tempfile.TemporaryDirectory(dir=_HOME.name) as folder:
        path = Path(folder) / "run.tap.zip"
        path.write_bytes(data)
        _answers(lambda: read_everything(path / "run"))


def _imported(name: str) -> Target:
    def target(data: bytes) -> None:
        with tempfile.TemporaryDirectory(dir=_HOME.name) as folder:
            source = Path(folder) / name
            source.write_bytes(data)
            _answers(lambda: import_source(source, Path(folder) / "logs", "run"))

    return target


def _folder_of(names: tuple[str, ...], source: str = "", framed: bool = False) -> Target:
    """A folder of several files, which lie in the input with `BETWEEN` between them. `source`: what of it is
    imported; `framed`: the files are TFRecords, whose checksums are made to fit."""

    def target(data: bytes) -> None:
        with tempfile.TemporaryDirectory(dir=_HOME.name) as folder:
            for name, part in zip(names, data.split(BETWEEN), strict=False):
                file = Path(folder) / "source" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(records_resealed(part) if framed else part)
            _answers(lambda: import_source(Path(folder) / "source" / source, Path(folder) / "logs", "run"))

    return target


def records_resealed(data: bytes) -> bytes:
    """TFRecords with the checksums that fit their lengths and bytes."""
    out, at = b"", 0
    while at + 16 <= len(data):
        head = data[at : at + 8]
        length = min(int.from_bytes(head, "little"), len(data) - at - 16)
        body = data[at + 12 : at + 12 + length]
        out += head + struct.pack("<I", masked_crc32c(head)) + body + struct.pack("<I", masked_crc32c(body))
        at += 16 + length
    return out + data[at:]


def bundle(data: bytes) -> None:
    """A recording that somebody sent as one file."""
    with tempfile.TemporaryDirectory(dir=_HOME.name) as folder:
        path = Path(folder) / "step.tapbundle"
        path.write_bytes(data)
        _answers(lambda: read_bundle(path))


def what_ifs(data: bytes) -> None:
    """The changes that lie beside a recording in somebody's log directory; and a file of matches."""
    with tempfile.TemporaryDirectory(dir=_HOME.name) as folder:
        recording = Path(folder) / "run" / "recordings" / "5-0-00000000"
        recording.mkdir(parents=True)
        (Path(folder) / "run" / "what-ifs.json").write_bytes(data)
        _answers(lambda: read_what_ifs(recording).as_record())
        _answers(lambda: read_matches(Path(folder) / "run" / "what-ifs.json"))


@functools.cache
def _client() -> tuple[Client, str]:
    client = Client(create_app(template().parent))
    return client, client.get("/api/runs").get_json()["runs"][0]["id"]


def questions(data: bytes) -> None:
    """Texts of requests: a condition, a pattern, a selection, steps, names."""
    text = data.decode("utf-8", "replace")
    for route, known, name in ASKED:
        client, run = _client()
        answer = client.get(f"/api/runs/{run}/{route}", query_string=known | {name: text})
        assert answer.status_code < 500, (route, name, text)


TARGETS: dict[str, Target] = {
    "stats": stats,
    "stats_file": stats_file,
    "values": values,
    "graph": graph,
    "events": events,
    "run_json": run_json,
    "archive": archive,
    "npy": _imported("a.npy"),
    "npz": _imported("a.npz"),
    "safetensors": _imported("a.safetensors"),
    "graphdef": _imported("a.pb"),
    "event_file": _imported("events.out.tfevents.1.host"),
    "hdf5": _imported("a.h5"),
    "checkpoint": _folder_of(("c-1.index", "c-1.data-00000-of-00001")),
    "saved_model": _folder_of(("saved_model.pb",)),
    "tfdbg1": _folder_of(TFDBG1),
    "tfdbg2": _folder_of(tuple(f"tfdbg_events.1.host.{kind}" for kind in TFDBG2), framed=True),
    "bundle": bundle,
    "what_ifs": what_ifs,
    "questions": questions,
}
