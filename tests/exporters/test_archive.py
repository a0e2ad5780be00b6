"""Archives of runs that change meanwhile, have runs below them, or events of any kind."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from tensortap.core.errors import InvalidNameError, ValuePrunedError
from tensortap.core.progress import ignore_count
from tensortap.dump.format.events import EventsTail, encode_event
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.exporters import tap_zip
from tensortap.exporters.registry import exporter_for
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.values import read_slice


def only_run(path):
    log = LogIndex(path, use_cache=False)
    log.refresh()
    (run,) = log.runs
    return run


def export(run, out, rows=None):
    return exporter_for(out).export(run, rows, out, ignore_count)


def test_values_that_are_pruned_meanwhile_are_pruned_in_the_archive(tmp_path, monkeypatch):
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x", np.arange(5000.0), step=0)
    run = only_run(tmp_path / "logs")
    members = tap_zip._members

    def pruned_meanwhile(run_dir, below=""):
        found = list(members(run_dir, below))
        if not below:
            assert prune_run(run_dir, Retention(max_bytes=1)).values == 1
        return found

    monkeypatch.setattr(tap_zip, "_members", pruned_meanwhile)
    assert export(run, tmp_path / "r.tap.zip").left_out == []
    mailed = only_run(tmp_path / "r.tap.zip")
    with pytest.raises(ValuePrunedError):
        read_slice(mailed, find_snapshot(mailed, "x", step=0))


def test_what_vanishes_while_the_files_are_listed_is_skipped(tmp_path, monkeypatch):
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x", np.arange(5000.0), step=0)
    run = only_run(tmp_path / "logs")
    scan = tap_zip.scan

    def vanishing(folder):
        found = scan(folder)
        for path in folder.glob("values-*"):
            path.unlink()
        return found

    monkeypatch.setattr(tap_zip, "scan", vanishing)
    (sentence,) = export(run, tmp_path / "r.tap.zip").left_out
    assert "values-000000.safetensors" in sentence


def test_runs_below_a_run_stay_outside(tmp_path):
    for name in ("tb", "tb/train"):
        with DumpWriter(tmp_path / "logs", name) as writer:
            writer.log("x", 1.0, step=0)
    export(only_run(tmp_path / "logs" / "tb"), tmp_path / "tb.tap.zip")
    assert [name for name, _ in find_runs(tmp_path / "tb.tap.zip")] == ["tb"]
    with zipfile.ZipFile(tmp_path / "tb.tap.zip") as mailed:
        assert not any("train" in name for name in mailed.namelist())


def test_events_of_a_part_are_those_that_were_written(tmp_path):
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x", 1.0, step=1)
        writer.event("batch", step=1, ids=["p", "q"], count=2, time=1000.0)
        writer.event("note", step=1, self=3)
        writer.event("note", step=2)
        events = next((tmp_path / "logs").rglob("events-*.jsonl"))
    with events.open("ab") as file:
        file.write(encode_event({"kind": "odd", "step": [1]}) + b"damaged\n")
    exported = export(only_run(tmp_path / "logs"), tmp_path / "r.tap.zip", np.array([0]))
    assert "does not match its checksum" in exported.left_out[0]
    run = tmp_path / "r.tap.zip" / "r"
    (worker,) = RunReader(run).workers()
    batch, note = EventsTail(run, worker.worker).poll()
    assert (batch["ids"], batch["time"]) == (["p", "q"], 1000.0)
    assert (note["kind"], note["self"]) == ("note", 3)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x", np.arange(3.0), step=0)
    with pytest.raises(InvalidNameError, match="There is no folder") as caught:
        export(only_run(tmp_path / "logs"), tmp_path / "none" / "x.npz")
    assert ".tmp" not in str(caught.value)
