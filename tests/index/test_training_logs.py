"""Loss and metrics out of a run's events: bounded, thinned, whatever stands in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.series.training_logs import training_logs


def test_logs_are_thinned_but_for_the_first_that_is_not_finite(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        for step in range(500):
            loss: object = "nan" if step >= 333 else 1.0 / (step + 1)
            writer.event("logs", step=step, phase="train", epoch=step // 100, values={"loss": loss})
        writer.event("logs", step=499, phase="epoch", epoch=4, values={"val_loss": 2})
        writer.event("logs", step=7, phase="test", epoch=0, values={"loss": 3.5})
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    found = training_logs(run, limit=10)
    steps = [row.step for row in found.rows]
    assert (steps[0], steps[-1], found.thinned_from) == (0, 499, 500)
    assert 333 in steps
    assert len(steps) <= 11
    assert np.isnan(found.column("loss")[-1])
    assert [logs.values for logs in found.epochs] == [{"val_loss": 2.0}]
    assert [row.step for row in training_logs(run, phase="test").rows] == [7]
    assert run.events.events("logs") == []  # they do not push out triggers and warnings


def test_what_is_no_number_is_skipped(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        writer.event(
            "logs", step=0, phase="nonsense", epoch="x", values={"a": "text", "b": True, "c": 10**400}
        )
        writer.event("logs", step=1, values=[1, 2])
        writer.event("logs", step=2, phase="train", epoch=0, values={f"m{i}": i for i in range(500)})
    log = LogIndex(tmp_path)
    log.refresh()
    found = training_logs(log.runs[0])
    assert [len(row.values) for row in found.rows] == [0, 0, 100]
