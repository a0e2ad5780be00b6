"""Memory of a run that grows while it is looked at: what was read is saved and let go, in small pieces."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tensortap.dump.write.writer import DumpWriter
from tensortap.index.cache import saved_run
from tensortap.index.catalog.ragged import Ragged, starts_of
from tensortap.index.catalog.segments import COLUMNS, Segment, Tail, freeze
from tensortap.index.logdir_index import LogIndex

TENSORS, ROWS, BUCKETS = 50, 20_000, 100


@pytest.mark.parametrize(("longest", "segments"), [(0.0, 1), (1e9, 0)])
def test_a_run_that_always_has_more_is_saved_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest: float, segments: int
) -> None:
    monkeypatch.setattr(saved_run, "FEWEST", 1)
    monkeypatch.setattr(saved_run, "_LONGEST", longest)
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x:0", np.ones(3), step=0)
    log = LogIndex(tmp_path / "logs", cache=tmp_path / "cache")
    log._find_runs()
    (run,) = log.runs
    assert run.poll(), "there may be more"
    assert len(run.catalog.parts.segments) == segments
    assert len(run.catalog.parts.tail) == (not segments)


def grown(first: int, rows: int) -> Tail:
    tail = Tail(first, histograms=True)
    columns = {name: np.zeros(rows, np.int64) for name in COLUMNS}
    columns["tensor"] = (np.arange(first, first + rows) % TENSORS).astype(np.int32)
    lengths = np.full(rows, BUCKETS)
    numbers = np.arange(first * BUCKETS, (first + rows) * BUCKETS)
    counts = (numbers * 7919 % 251).astype(np.uint8)
    tail.add(columns, Ragged(starts_of(lengths), (numbers % 1000).astype(np.uint16), counts))
    return tail


def test_saving_more_unpacks_little_at_a_time() -> None:
    segment, tail = Segment(0, freeze([grown(0, ROWS)])), grown(ROWS, 100)
    unpacked = ROWS * BUCKETS * 3
    tracemalloc.start()
    arrays = freeze([segment, tail])
    made, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most - made < unpacked
    whole, rows = Segment(0, arrays), np.arange(ROWS + 100)
    expected = [*segment.histograms(rows[:ROWS]), *(tail.histograms(rows[:100]) or [])]
    for found, wanted in zip(whole.histograms(rows), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
