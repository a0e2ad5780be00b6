"""`check --repair`: a copy with what can be read, beside the run, which stays as it is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from dump_tools import read_all, stats_files, values_files
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.__main__ import main
from tensortap.api.logdir import open_logdir
from tensortap.core.errors import InvalidNameError
from tensortap.core.records import Graph, Node
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.dump.recording.recording_files import find_recordings, read_recording, write_recording
from tensortap.dump.write.writer import DumpWriter


def write(logdir):
    with DumpWriter(logdir, "r", compression=None) as writer:
        writer.graph(Graph("g", [Node("a", "Const")]))
        for step in range(6):
            writer.log("a", np.arange(500.0) + step, step=step)
            writer.log("b", np.arange(3), step=step)
            writer.flush()


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(logdir):
    return {(row["node"], row["step"]): row for row in read_all(logdir).rows}


def test_a_damaged_run_is_repaired_beside(tmp_path, capsys):
    write(tmp_path)
    run = tmp_path / "r"
    sound = rows_of(tmp_path)
    (stats,), (values,) = stats_files(tmp_path), values_files(tmp_path)
    data = bytearray(stats.read_bytes())
    starts = [
        i
        for i in range(len(data))
        if data[i : i + 4] == b"\xff\xff\xff\xff" and data[i + 4 : i + 8] != bytes(4)
    ]
    data[starts[3] + 500] ^= 1  # a commit
    stats.write_bytes(data[:-8] + data[-8:][:3])  # and a torn end
    data = bytearray(values.read_bytes())
    data[262_144 + 4000 * 4 + 10] ^= 1  # the value of step 4
    values.write_bytes(data)
    (next((run / "graphs").glob("*.arrows"))).write_bytes(b"broken")
    before = contents(run)
    assert main(["check", str(tmp_path), "--repair"]) == 1
    said = capsys.readouterr().out
    assert "repaired copy" in said
    assert contents(run) == before
    assert main(["check", str(tmp_path / "r.repaired")]) == 0
    found = read_all(tmp_path / "r.repaired")
    assert not found.damage
    assert not found.bad_values
    repaired = rows_of(tmp_path / "r.repaired")
    assert len(repaired) == len(sound) - 2
    for key, row in repaired.items():
        lost = (
            {"value_file", "value_offset", "value_length", "value_crc32c", "value_codec"}
            if key == ("a", 4)
            else set()
        )
        for name in row.keys() - lost:
            assert repr(row[name]) == repr(sound[key][name]), (key, name)
    assert repaired["a", 4]["value_codec"] == ""
    assert repaired["a", 5]["value_codec"] == "raw"
    with DumpWriter(tmp_path, run="sound") as writer:
        writer.log("a", 1.0, step=0)
    assert main(["check", str(tmp_path), "--repair"]) == 1  # never over what is there
    printed = capsys.readouterr()
    assert f"'{tmp_path / 'r.repaired'}' already exists. Remove or rename it" in printed.err
    assert [line.split()[-1] for line in printed.out.splitlines() if not line.startswith(" ")] == [
        "ok",
        "damaged",
        "ok",
        "ok",
    ]


def test_snapshots_that_are_gone_stay_reported(tmp_path):
    """A repaired copy is sound, but says how many of the closed worker's snapshots it lacks."""
    logdir, copy = tmp_path / "logs", tmp_path / "copy"
    write(logdir)
    (stats,) = stats_files(logdir)
    stats.write_bytes(stats.read_bytes()[: stats.stat().st_size * 6 // 10])
    done = repair_run(logdir / "r", copy / "r")
    gone = 12 - done.snapshots
    assert 0 < gone < 12
    assert [text for text in done.skipped if f"{gone} of 12 snapshots" in text and "closed.json" in text]
    (run,) = open_logdir(copy).runs.values()
    (worker,) = run.workers
    assert (worker.snapshots, worker.dropped) == (12 - gone, gone)
    assert main(["check", str(copy)]) == 0
    assert not repair_run(copy / "r", tmp_path / "again").skipped
    for folder in (copy, tmp_path / "again"):  # nor is it counted twice
        (closed,) = folder.rglob("closed.json")
        said = json.loads(closed.read_text())
        assert (said["snapshots"], said["dropped"]) == (12 - gone, gone)


def test_a_sound_run_is_not_copied(tmp_path, capsys):
    write(tmp_path)
    assert main(["check", str(tmp_path), "--repair", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["runs"]
    assert report["repaired"] is None
    assert not (tmp_path / "r.repaired").exists()
    (tmp_path / "taken").mkdir()
    with pytest.raises(InvalidNameError):
        repair_run(tmp_path / "r", tmp_path / "taken")


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2**20), st.integers(1, 255)), min_size=1, max_size=5))
def test_a_repaired_run_is_sound(tmp_path_factory, damages):
    folder = tmp_path_factory.mktemp("repair")
    write(folder)
    sound = rows_of(folder)
    for in_values, at, flip in damages:
        (path,) = values_files(folder) if in_values else stats_files(folder)
        data = bytearray(path.read_bytes())
        data[at % len(data)] ^= flip
        path.write_bytes(data)
    repair_run(folder / "r", folder / "out" / "r")
    found = read_all(folder / "out")
    assert not found.damage
    assert not found.bad_values
    for key, row in rows_of(folder / "out").items():
        assert repr(row["mean"]) == repr(sound[key]["mean"])
        assert row["visit"] == sound[key]["visit"]


def write_all_there_is(run):
    """A run with events, a GraphDef and two recordings that share a large part."""
    node = b"\x0a\x05\x0a\x03abc"
    with DumpWriter(run.parent, run.name) as writer:
        writer.log("a", np.arange(500.0), step=0)
        writer.graph(Graph("g", [Node("abc", "Const")], graph_def=node * 3))
        for step in range(5):
            writer.event("spike", step=step, x=step)
    shared = Argument("variable", "kernel", (np.arange(20_000.0),), "float64", (20_000,))
    for step in (3, 4):
        write_recording(run, Recording("f", b"library", (shared,), step))


def test_recordings_are_copied_with_the_parts_that_they_share(tmp_path):
    write_all_there_is(tmp_path / "r")
    assert repair_run(tmp_path / "r", tmp_path / "copy").skipped == []
    copies = find_recordings(tmp_path / "copy")
    assert [place.step for place in copies] == [3, 4]
    for place in copies:
        np.testing.assert_array_equal(read_recording(place.path).arguments[0].arrays[0], np.arange(20_000.0))


@pytest.mark.parametrize(
    ("pattern", "damage", "reported"),
    [
        ("events-*.jsonl", lambda data: data.replace(b'"x": 2', b'"x": 7'), "does not match its checksum"),
        ("*.pb", lambda data: data[:-2], "does not match its checksum"),
        ("3-*/recording.json", lambda data: b"garbage", "recording.json is not JSON"),
        ("*.blob", lambda data: data[:-1] + b"x", "fails its checksum"),
    ],
)
def test_damage_of_any_file_is_found_and_skipped(tmp_path, capsys, pattern, damage, reported):
    write_all_there_is(tmp_path / "r")
    assert main(["check", str(tmp_path)]) == 0
    assert "5 events, 2 recordings" in capsys.readouterr().out
    path = next((tmp_path / "r").rglob(pattern))
    path.write_bytes(damage(path.read_bytes()))
    assert main(["check", str(tmp_path), "--repair"]) == 1
    assert reported in " ".join(capsys.readouterr().out.split())
    assert main(["check", str(tmp_path / "r.repaired")]) == 0


def test_what_fails_while_it_is_copied_leaves_no_copy(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr("tensortap.dump.maintenance.repair.read_value", lambda ref: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        repair_run(tmp_path / "r", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
