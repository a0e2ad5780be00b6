"""Events of a run, through the index and the Python surface."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensortap
from tensortap.core.errors import NotFoundError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_events import SampleUse


def test_events_and_batches_appear_as_they_are_written(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer, DumpWriter(tmp_path, "r") as other:
        writer.event("watch", step=0, rules=[], source="program")
        run = tensortap.open(tmp_path).runs["r"]
        with pytest.raises(NotFoundError, match=r"were not recorded.*trace_batches"):
            run.steps_of(file="a.png")
        for step in range(4):
            writer.event("batch", step=step, ids=[str(step), "common"], files=[f"{step % 2}.png"], count=2)
        other.event("batch", step=1, ids=["77"])
        writer.event("trigger", step=3, trigger="NonFinite()")
        run.refresh()

        assert [(event.kind, event.step) for event in run.events] == [("watch", 0), ("trigger", 3)]
        first, second = sorted(run.batch(1), key=lambda batch: batch.count, reverse=True)
        assert (first.ids, first.files, first.count) == (["1", "common"], ["1.png"], 2)
        assert (second.ids, second.files, second.worker) == (["77"], None, other.worker)
        assert run.batch(9) == []
        assert run.steps_of(file="1.png") == [1, 3]
        assert run.steps_of(id=77) == [1]
        assert run.steps_of(id="common", file="0.png") == [0, 2]
        assert run.steps_of(file="no such") == []


def test_ids_and_files_are_found_by_a_part_of_them(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        for step in (3, 5, 5, 9):
            writer.event("batch", step=step, ids=[f"ID-{step}"], files=["Shards/part-1.csv", f"{step}.csv"])
    log = LogIndex(tmp_path)
    log.refresh()
    events = log.runs[0].events
    total, (first, second) = events.samples("CSV", files=True, limit=2)
    assert (total, first) == (4, SampleUse("Shards/part-1.csv", 3, 3, 9))
    assert (second.text, second.steps) == ("3.csv", 1)
    assert events.samples("id-5", files=False, limit=9) == (1, [SampleUse("ID-5", 1, 5, 5)])
    assert events.samples(".*", files=False, limit=9) == (0, [])
    assert events.batch_steps == [3, 5, 9]


def test_odd_events_are_passed_over(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.event("batch", step=1, ids="abc", files=[1, None, "x" * 10_000], count="many")
        writer.event("batch")
        writer.event("later version", step=2, anything={"a": [1]})
        worker = writer.worker
    with next((tmp_path / "r" / worker).glob("events-*.jsonl")).open("ab") as file:
        file.write(b"nonsense\n")
    log = tensortap.open(tmp_path)
    run = log.runs["r"]
    (batch,) = run.batch(1)
    assert (batch.ids, batch.files and len(batch.files[2]), batch.count) == (None, 4096, 3)
    assert [event.kind for event in run.events] == ["later version"]
