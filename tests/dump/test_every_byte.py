"""`check` sees each changed byte of each kind of file in a run."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.core.records import Graph, Node
from tensortap.dump.format.layout import HEADER, VIEWER_PART
from tensortap.dump.maintenance.run_check import check_run
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write.writer import DumpWriter

ALL = 1 << 20
OF_A_DAY = 1000  # bytes of a file that `make test` changes; `make nightly` changes them all


def write_values(run: Path) -> None:
    with DumpWriter(run.parent, run.name, info={"note": "kept"}) as writer:
        writer.log("a", np.arange(1100, dtype=np.int8), step=0)
        writer.log("b", np.arange(300.0), step=0)
        writer.log("c", np.arange(3.0), step=0)
        writer.event("spike", step=0)


def write_two(run: Path) -> None:
    write_values(run)
    write_values(run)


def write_events(run: Path) -> None:
    with DumpWriter(run.parent, run.name) as writer:
        for step in range(3):
            writer.event("spike", step=step, x=step)


def write_graph(run: Path) -> None:
    with DumpWriter(run.parent, run.name) as writer:
        stack = (("train.py", 3, "main"),)
        nodes = [Node("abc", "Const", stack=0)]
        graph_def = b"\x0a\x05\x0a\x03abc"
        graph = Graph("g", nodes, stacks=(stack,), sources={"train.py": "x\n"}, graph_def=graph_def)
        writer.log("abc", 1.0, step=0, graph=writer.graph(graph))


def write_recordings(run: Path) -> None:
    write_events(run)
    kernel = Argument("variable", "kernel", (np.arange(9000.0),), "float64", (9000,))
    write_recording(run, Recording("f", b"library", (kernel,), 3))


KINDS: dict[str, tuple[Callable[[Path], None], int]] = {
    "run.json": (write_values, ALL),
    "*/worker.json": (write_values, ALL),
    "*/closed.json": (write_values, ALL),
    "*/stats-000000.arrows": (write_values, ALL),
    "*/values-000000.safetensors": (write_values, 300),  # of its header, and all behind it
    "*/events-000000.jsonl": (write_events, ALL),
    "graphs/*.arrows": (write_graph, ALL),
    "graphs/*.pb": (write_graph, ALL),
    "recordings/*/recording.json": (write_recordings, ALL),
    "recordings/*/small.bin": (write_recordings, ALL),
    "recordings/blobs/*.blob": (write_recordings, 300),
}


@pytest.mark.slow
@pytest.mark.parametrize("pattern", KINDS)
def test_each_changed_byte_is_reported(tmp_path: Path, pattern: str, request: pytest.FixtureRequest) -> None:
    write, most = KINDS[pattern]
    run = tmp_path / "r"
    write(run)
    every = request.config.getoption("nightly")
    assert check_run("r", run).damage == []
    (file,) = run.glob(pattern)
    whole = file.read_bytes()
    draw = random.Random(0)
    front = HEADER if most < ALL and len(whole) > HEADER else len(whole)
    first = range(front) if front <= most else [*range(200), *draw.sample(range(front), most)]
    places = [*first, *range(front, len(whole))]
    if len(places) > OF_A_DAY and not every:
        places = draw.sample(places, OF_A_DAY)
    missed = []
    for at in places:
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        if not check_run("r", run).damage:
            missed.append(at)
    assert missed == []


@pytest.mark.parametrize("pattern", KINDS)
def test_a_file_cut_anywhere_is_reported(tmp_path: Path, pattern: str) -> None:
    write, _ = KINDS[pattern]
    run = tmp_path / "r"
    write(run)
    (file,) = run.glob(pattern)
    whole = file.read_bytes()
    for size in (0, 1, len(whole) // 3, len(whole) - 200, len(whole) - 9, len(whole) - 1):
        if 0 <= size < len(whole):
            file.write_bytes(whole[:size])
            assert check_run("r", run).damage != [], size
    file.write_bytes(whole + b"x")
    assert check_run("r", run).damage != []
    file.write_bytes(whole)
    assert check_run("r", run).damage == []


def add_bytes(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(100))


def exchange(path: Path) -> None:
    """The file of another worker instead."""
    (other,) = (each for each in path.parents[1].glob(f"*/{path.name}") if each != path)
    path.write_bytes(other.read_bytes())


def take_run_file(path: Path) -> None:
    """The description of the run instead."""
    path.write_bytes((path.parents[1] / "run.json").read_bytes())


def shift(path: Path) -> None:
    """Its first and last third exchanged: both keys of the checksum are elsewhere, and it is still JSON."""
    record = json.loads(path.read_bytes())
    path.write_text(
        json.dumps(dict(sorted(record.items(), key=lambda item: item[0] in ("closed", "checksum"))))
    )


@pytest.mark.parametrize(
    ("write", "pattern", "harm", "sentence"),
    [
        (write_graph, "graphs/*.arrows", Path.unlink, "its file is missing"),
        (write_recordings, "recordings/*/recording.json", Path.unlink, "recording.json is missing"),
        (
            write_values,
            "*/values-000000.safetensors",
            add_bytes,
            "100 bytes follow the end given in its header",
        ),
        (write_values, "*/closed.json", shift, "a checksum in the wrong place"),
        (write_values, "*/worker.json", take_run_file, "worker.json names no worker"),
        (write_two, "*/worker.json", exchange, "worker.json: It belongs to worker"),
        (write_two, "*/closed.json", exchange, "closed.json: It belongs to worker"),
        (write_two, "*/stats-000000.arrows", exchange, "its commits are skipped. It belongs to worker"),
        (write_two, "*/events-000000.jsonl", exchange, "Lines are skipped. It belongs to worker"),
    ],
)
def test_what_no_checksum_covers_is_reported(
    tmp_path: Path, write: Callable[[Path], None], pattern: str, harm: Callable[[Path], None], sentence: str
) -> None:
    run = tmp_path / "r"
    write(run)
    harm(next(run.glob(pattern)))
    assert any(sentence in text for text in check_run("r", run).damage)


def test_a_closing_that_is_gone_is_reported(tmp_path: Path) -> None:
    """It is not damage: a process may have been stopped right before it."""
    run = tmp_path / "r"
    write_values(run)
    next(run.glob("*/closed.json")).unlink()
    report = check_run("r", run)
    assert report.damage == []
    assert "closed.json is missing" in report.pending[0]


def test_a_changed_story_in_an_archive_is_reported(tmp_path: Path) -> None:
    write_values(tmp_path / "r")
    path = tmp_path / "r.tap.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "r/run.json", "r/run.json")
        archive.writestr(VIEWER_PART, b"a story")
    assert check_run("r", path / "r").damage == []
    whole = path.read_bytes()
    at = whole.index(b"a story")
    path.write_bytes(whole[:at] + b"?" + whole[at + 1 :])
    assert check_run("r", path / "r").damage == [
        f"{VIEWER_PART} does not match its checksum. Copy the archive again, or export the run again."
    ]
