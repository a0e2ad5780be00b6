"""Runs are compacted while they grow, by a process that nobody waits for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from compacted import manifest_of, write_worker
from polling import until

from tensortap.compact import background
from tensortap.compact.background import BackgroundCompaction
from tensortap.dump.write.writer import DumpWriter


@pytest.fixture
def compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BackgroundCompaction]:
    """Looks without a rest at a folder that is not there yet."""
    monkeypatch.setattr(background, "POLL_INTERVAL", 0.05)
    monkeypatch.setattr(background, "COOLDOWN_SECONDS", 0.0)
    monkeypatch.setattr(background, "_SHARE", 0.0)
    found = BackgroundCompaction([tmp_path / "logs"])
    yield found
    found.close()


def compacted_snapshots(run_dir: Path) -> int:
    manifest = run_dir / "compact/manifest.json"
    return int(manifest_of(run_dir)["snapshots"]) if manifest.exists() else 0


def test_a_run_that_grows(compaction: BackgroundCompaction, tmp_path: Path) -> None:
    run_dir = tmp_path / "logs/r"
    with DumpWriter(tmp_path / "logs", run="r") as writer:
        for step in range(3):
            writer.log("a", np.full(3, step, np.float32), step=step, keep="summary")
            writer.flush()
            until(lambda: compacted_snapshots(run_dir) == step + 1, "the snapshot", 60)  # noqa: B023
        children = psutil.Process().children()
        child = next(
            each for each in children if "tensortap.scale.task" in each.cmdline() and each.nice() == 19
        )
    write_worker(tmp_path / "logs", range(5), tensors=2, rank=1)
    until(lambda: compacted_snapshots(run_dir) > 3, "another worker", 60)
    compaction.close()
    assert not child.is_running()


def test_a_run_that_cannot_be_compacted(
    compaction: BackgroundCompaction, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        write_worker(tmp_path / "made", range(2))
        (tmp_path / "made/r/compact").write_text("in the way")
        (tmp_path / "made").rename(tmp_path / "logs")
        until(lambda: caplog.records != [], "a warning", 60)
    (record,) = caplog.records
    assert record.getMessage().startswith("r was not compacted; the next try is in 10 minutes: File exists")
