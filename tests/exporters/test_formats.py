"""Each exporter's file, read back by the program that it is for."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import ml_dtypes
import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import tensortap
from tensortap.__main__ import main
from tensortap.core.errors import InvalidNameError, NotFoundError, SelectionError
from tensortap.core.progress import ignore_count
from tensortap.core.records import Graph, Node
from tensortap.core.sampling import Sample
from tensortap.dump.format.schema import LOST, REFUSED
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import find_recordings, write_recording
from tensortap.dump.write.writer import DumpWriter
from tensortap.exporters.registry import EXPORTERS, exporter_for
from tensortap.importers.importing import import_source
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import Filters, find_rows, snapshots
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.series.histograms import histograms
from tensortap.index.series.history import history
from tensortap.index.snapshot import snapshots_at
from tensortap.index.values import read_slice, stored_sample
from tensortap.stats.summarize import summarize

STEPS = 6


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(3)
    with DumpWriter(path, "exp/a", info={"note": "x"}) as writer:
        graph = writer.graph(Graph("g", [Node("dense/kernel", "ReadVariableOp"), Node("relu", "Relu")]))
        for step in range(STEPS):
            at = {"step": step, "time": 1000.0 + step}
            writer.log("dense/kernel", rng.normal(size=(40, 30)).astype(np.float32), graph=graph, **at)
            relu = np.maximum(rng.normal(size=(100, 30)), 0)
            relu[0, 0] = np.nan if step == 3 else 1
            writer.log("relu", relu, graph=graph, **at)
            writer.log("relu", relu * 2, graph=graph, keep="summary", **at)
            writer.log("half", np.arange(4).astype(ml_dtypes.bfloat16), **at)
            writer.log("=1+1", np.arange(3), **at)
            writer.log("text", ["a", "bcd"], **at)
            writer.log("nothing", np.full(3, np.nan), **at)
    return path


@pytest.fixture
def run(logdir):
    log = LogIndex(logdir)
    log.refresh()
    return log.runs[0]


def export(run, out, name=None, **filters):
    rows = find_rows(run, Filters(**filters)) if filters else None
    shown = []
    exported = exporter_for(out, name).export(run, rows, out, lambda done, total: shown.append((done, total)))
    assert not shown or shown[-1][0] == shown[-1][1]
    assert not list(out.parent.glob(".*")), "a temporary file was left"
    return exported


def test_parquet_holds_every_statistic(run, tmp_path):
    exported = export(run, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.num_rows == exported.snapshots == run.catalog.rows == STEPS * 7
    rows = [row for row in table.to_pylist() if row["tensor"] == "dense/kernel:0"]
    expected = history(run, "dense/kernel").columns
    for name in ("step", "mean", "std", "abs_max", "negative", "size"):
        assert [row[name] for row in rows] == expected[name].tolist()
    assert rows[2]["shape"] == [40, 30]
    assert rows[2]["time"].timestamp() == 1002.0
    assert (rows[2]["node"], rows[2]["slot"], rows[2]["graph"]) == ("dense/kernel", 0, expected["graph"][2])


def test_csv_guards_formulas(run, tmp_path):
    export(run, tmp_path / "a.csv", match="=|kernel", steps="2:4")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["tensor"] for row in rows} == {"'=1+1:0", "dense/kernel:0"}
    assert {row["step"] for row in rows} == {"2", "3"}
    kernel = next(row for row in rows if row["tensor"] == "dense/kernel:0")
    assert float(kernel["mean"]) == find_snapshot(run, "dense/kernel", step=2).mean
    assert kernel["shape"] == "40x30"
    assert kernel["time"] == "1970-01-01T00:16:42+00:00"


def test_npz_holds_the_values(run, tmp_path):
    exported = export(run, tmp_path / "a.npz", steps="1:3")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert len(found.files) == exported.snapshots == 2 * 6
        kernel = read_slice(run, find_snapshot(run, "dense/kernel", step=1))
        np.testing.assert_array_equal(found["dense/kernel:0@1"], kernel)
        assert found["half:0@2"].dtype == np.float32
        assert found["half:0@2"].tolist() == [0, 1, 2, 3]
        assert found["text:0@1"].tolist() == [b"a", b"bcd"]
    assert not exported.left_out


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors"])
def test_values_come_back_at_their_steps(run, tmp_path, name):
    export(run, tmp_path / name, match="kernel|relu")
    import_source(tmp_path / name, tmp_path / "logs", "back")
    back = tensortap.open(tmp_path / "logs").runs["back"]
    assert set(back.tensors) == {"dense/kernel:0", "relu:0"}
    assert back.steps.tolist() == [*range(STEPS)]
    for step in (1, 5):
        for tensor in ("dense/kernel:0", "relu:0"):
            value = read_slice(run, find_snapshot(run, tensor, step=step))
            np.testing.assert_array_equal(back.tensor(tensor, step=step)[:], value)


def test_event_files_come_back_as_snapshots(run, tmp_path):
    export(run, tmp_path / "events", "tensorboard")
    imported = import_source(tmp_path / "events", tmp_path / "logs", "back")
    back = tensortap.open(tmp_path / "logs").runs["back"]
    assert imported.snapshots == 6 * STEPS
    assert set(back.tensors) == {"dense/kernel:0", "relu:0", "half:0", "=1+1:0", "nothing:0"}
    assert any("text:0" in note for note in imported.notes)
    for tensor in ("dense/kernel", "relu", "half", "nothing"):
        ours, theirs = history(run, tensor).columns, back.history(tensor)
        for name in ("step", "visit", "size", "nan", "pos_inf", "zero", "negative", "positive", "min", "max"):
            np.testing.assert_array_equal(theirs[name], ours[name], err_msg=f"{tensor} {name}")
        for name in ("mean", "std", "l2"):
            np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-6)


def test_visits_come_back_in_their_order(tmp_path):
    with DumpWriter(tmp_path / "logs", "r") as writer:
        for visit in range(3):
            writer.log("loop", np.full(2, visit), step=7)
    log = LogIndex(tmp_path / "logs", use_cache=False)
    log.refresh()
    export(log.runs[0], tmp_path / "a.npz")
    import_source(tmp_path / "a.npz", tmp_path / "back", "back")
    back = tensortap.open(tmp_path / "back").runs["back"]
    assert [back.tensor("loop:0", step=7, visit=visit)[0] for visit in range(3)] == [0, 1, 2]


def test_safetensors_holds_the_values(run, tmp_path):
    exported = export(run, tmp_path / "a.safetensors", steps=5)
    found = load_file(tmp_path / "a.safetensors")
    assert found.keys() == {"dense/kernel:0@5", "relu:0@5", "half:0@5", "=1+1:0@5", "nothing:0@5"}
    kernel = read_slice(run, find_snapshot(run, "dense/kernel", step=5))
    np.testing.assert_array_equal(found["dense/kernel:0@5"], kernel)
    assert found["half:0@5"].dtype == ml_dtypes.bfloat16
    assert exported.left_out == ["text:0@5: safetensors has no dtype for string."]


def test_tensorboard_shows_histograms_and_scalars(run, tmp_path):
    export(run, tmp_path / "events", "tensorboard")
    events = EventAccumulator(str(tmp_path / "events"), size_guidance={"histograms": 0, "scalars": 0})
    events.Reload()
    assert events.Tags()["histograms"] == ["dense/kernel:0", "relu:0", "half:0", "=1+1:0"]
    (path,) = (tmp_path / "events").iterdir()
    assert next(EventFileLoader(str(path)).Load()).file_version == "brain.Event:2"
    for tensor in ("dense/kernel", "relu"):
        ours = history(run, tensor).columns
        means = events.Scalars(f"{tensor}:0/mean")
        assert [event.step for event in means] == ours["step"].tolist()
        np.testing.assert_allclose([event.value for event in means], ours["mean"], rtol=1e-6)
        bad = [event.value for event in events.Scalars(f"{tensor}:0/nonfinite")]
        assert bad == (ours["nan"] + ours["pos_inf"]).tolist()
        for event, finite, low in zip(
            events.Histograms(f"{tensor}:0"), ours["size"] - ours["nan"], ours["min"], strict=True
        ):
            proto = event.histogram_value
            assert proto.num == finite == sum(proto.bucket)
            assert proto.min == low
            assert list(proto.bucket_limit) == sorted(set(proto.bucket_limit))
    assert [event.wall_time for event in events.Scalars("half:0/max")] == [1000.0 + s for s in range(STEPS)]
    assert len(events.Scalars("nothing:0/nonfinite")) == STEPS


def test_tensorboard_draws_what_the_dump_says(run, tmp_path):
    """Its own conversion of the histograms to the bins that its page draws keeps where the elements are."""
    from tensorboard.data_compat import migrate_event
    from tensorboard.dataclass_compat import migrate_event as to_dataclass

    export(run, tmp_path / "events", "tensorboard", tensor="relu:0", steps=0)
    (path,) = (tmp_path / "events").iterdir()
    values = [
        value
        for event in EventFileLoader(str(path)).Load()
        for migrated in to_dataclass(migrate_event(event), {})
        for value in migrated.summary.value
        if value.tag == "relu:0"
    ]
    from tensorboard.util import tensor_util

    bins = tensor_util.make_ndarray(values[0].tensor)
    assert bins[:, 2].sum() == 3000
    zeros = bins[(bins[:, 0] <= 0) & (bins[:, 1] <= 0)]
    assert zeros[:, 2].sum() == find_snapshot(run, "relu", step=0).zero


def test_an_archive_is_the_run(run, tmp_path):
    export(run, tmp_path / "a.tap.zip")
    log = LogIndex(tmp_path / "a.tap.zip")
    log.refresh()
    (again,) = log.runs
    assert again.name == "a"
    assert again.info == run.info
    assert not again.damage
    assert again.workers[0].closed
    for tensor in run.tensors:
        assert repr(history(again, tensor).columns) == repr(history(run, tensor).columns)
        ours, theirs = (histograms(r, tensor).counts.tolist() for r in (run, again))
        assert ours == theirs
    np.testing.assert_array_equal(
        read_slice(again, find_snapshot(again, "relu", step=2), "3:5,::7"),
        read_slice(run, find_snapshot(run, "relu", step=2), "3:5,::7"),
    )
    assert [graph.name for graph in again.graphs] == [graph.name for graph in run.graphs]


def test_a_part_of_a_run_is_an_archive_too(run, tmp_path):
    exported = export(run, tmp_path / "a.tap.zip", match="relu", steps="2:4")
    log = LogIndex(tmp_path / "a.tap.zip")
    log.refresh()
    (part,) = log.runs
    assert part.tensors == ["relu:0"]
    assert part.catalog.rows == exported.snapshots == 4
    ours, theirs = (history(r, "relu", steps="2:4").columns for r in (run, part))
    for name in ("step", "visit", "time", "mean", "nan", "kept", "graph"):
        assert repr(ours[name]) == repr(theirs[name])
    np.testing.assert_array_equal(
        read_slice(part, find_snapshot(part, "relu", step=3)),
        read_slice(run, find_snapshot(run, "relu", step=3)),
    )


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_nothing_is_overwritten_and_nothing_exported_is_an_error(run, tmp_path, exporter):
    out = tmp_path / "x"
    with pytest.raises(NotFoundError):
        export(run, out, exporter.name, match="no such tensor")
    assert not list(tmp_path.glob("x")) or exporter.name == "tensorboard"
    out = tmp_path / "taken"
    out.write_text("mine")
    with pytest.raises(InvalidNameError, match="exists"):
        export(run, out, exporter.name)
    assert out.read_text() == "mine"


def test_formats_are_known_by_name(tmp_path):
    assert exporter_for(tmp_path / "a.tap.zip").name == "tap.zip"
    assert exporter_for(tmp_path / "x", "csv").name == "csv"
    with pytest.raises(SelectionError, match="has no known format"):
        exporter_for(tmp_path / "a.txt")
    with pytest.raises(SelectionError, match="not a format"):
        exporter_for(tmp_path / "a.csv", "doc")


def test_the_command(logdir, tmp_path, capsys):
    out = tmp_path / "last.npz"
    run = str(logdir / "exp" / "a")
    assert main(["export", run, "--out", str(out), "--nodes", "kernel|text", "--step", "-1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "path": str(out),
        "format": "npz",
        "snapshots": 2,
        "bytes": out.stat().st_size,
        "left_out": [],
    }
    archive = tmp_path / "a.tap.zip"
    assert main(["export", run, "--out", str(archive), "--where", "nan > 0"]) == 0
    assert "a.tap.zip: 8 snapshots" in capsys.readouterr().out
    assert main(["ls", str(archive), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["snapshots"] == 8
    assert listed["bytes"] > 1000
    assert main(["check", str(archive)]) == 0
    assert main(["export", run, "--out", str(archive)]) == 1
    assert main(["export", run, "--out", str(tmp_path / "b.csv"), "--step", "-99"]) == 1
    assert "fewer than 99 steps" in capsys.readouterr().err


def test_a_part_keeps_samples_and_what_happened(tmp_path):
    """A sample is not taken for the value; batches and triggers of the steps that are left stay."""
    value = np.arange(10_000.0)
    with DumpWriter(tmp_path / "logs", "r") as writer:
        for step in range(3):
            writer.log("huge", value + step, step=step, sample=Sample(7, "random", 3))
            writer.event("batch", step=step, ids=[f"{step}a", "x"], count=2)
            writer.event("trigger", step=step, trigger="T()", reason="why", stops=False)
    log = LogIndex(tmp_path / "logs")
    log.refresh()
    export(log.runs[0], tmp_path / "part.tap.zip", steps=1)
    part = LogIndex(tmp_path / "part.tap.zip")
    part.refresh()
    (found,) = part.runs
    assert [event.step for event in found.events.events()] == [1]
    assert found.events.batches(1)[0].ids == ["1a", "x"]
    assert found.events.steps_of(id="x") == [1]
    (snapshot,) = snapshots_at(found.catalog, np.array([0]))
    assert (snapshot.shape, snapshot.max) == ((10_000,), 10_000)
    assert stored_sample(found, snapshot) == Sample(7, "random", 3)
    np.testing.assert_array_equal(
        read_slice(found, snapshot), value[Sample(7, "random", 3).positions(10_000)] + 1
    )


def test_recordings_are_exported_and_found(tmp_path):
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x", np.ones(3), step=0)
    write_recording(tmp_path / "logs" / "r", Recording("f", b"library", (), 4))
    log = LogIndex(tmp_path / "logs")
    log.refresh()
    export(log.runs[0], tmp_path / "r.tap.zip")
    (place,) = find_recordings(tmp_path / "r.tap.zip" / "r")
    assert (place.step, place.call) == (4, 0)


KILLED = """
import os, signal, sys
from pathlib import Path
from tensortap.exporters.registry import exporter_for
from tensortap.index.logdir_index import LogIndex
log = LogIndex(sys.argv[1])
log.refresh()
kill = lambda done, total: os.kill(os.getpid(), signal.SIGKILL)
exporter_for(Path(sys.argv[2]), sys.argv[3]).export(log.runs[0], None, Path(sys.argv[2]), kill)
"""


@pytest.mark.parametrize("exporter", ["npz", "tensorboard"])
def test_what_a_killed_export_left_goes_with_the_next(run, logdir, tmp_path, exporter):
    out = tmp_path / "out"
    process = subprocess.run([sys.executable, "-c", KILLED, str(logdir), str(out), exporter], check=False)
    assert process.returncode == -9
    (left,) = tmp_path.rglob(".exporting-*")
    strange = left.with_name(f".exporting-elsewhere-{left.name.split('-', 2)[2]}")
    if exporter == "npz":
        strange.mkdir()
    exporter_for(out, exporter).export(run, None, out, ignore_count)
    assert not left.exists() and strange.exists() == (exporter == "npz")


def test_complex_numbers_are_written_where_safetensors_has_a_dtype(tmp_path):
    values = np.array([1 + 2j, complex("nan")], np.complex64)
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("narrow", values, step=0)
        writer.log("wide", values.astype(np.complex128), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    exported = export(log.runs[0], tmp_path / "c.safetensors")
    (found,) = load_file(tmp_path / "c.safetensors").values()
    assert found.dtype == np.complex64 and found.tobytes() == values.tobytes()
    assert exported.left_out == ["wide:0@0: safetensors has no dtype for complex128."]


def test_a_part_says_what_became_of_values(tmp_path):
    summary = summarize(np.arange(3.0))
    with DumpWriter(tmp_path / "logs", "r") as writer:
        for name, kept in (("refused", REFUSED), ("damaged", LOST), ("summary", None)):
            writer.log_summary(name, summary, step=0, kept=kept)
        writer.log("torn", np.arange(5000.0), step=0)
        (values,) = (writer.run_dir / writer.worker).glob("values-*")
    values.write_bytes(values.read_bytes()[:-8])
    log = LogIndex(tmp_path / "logs")
    log.refresh()
    export(log.runs[0], tmp_path / "part.tap.zip", steps=0)
    part = LogIndex(tmp_path / "part.tap.zip")
    part.refresh()
    reported = {row.node: row.no_value for row in snapshots(part.runs[0]).rows}
    assert reported == {"refused": "refused", "damaged": "damaged", "summary": "summary", "torn": "damaged"}
