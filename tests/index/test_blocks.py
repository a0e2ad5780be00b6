"""Runs that are sorted, filtered and drawn some rows at a time: the same answers."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.core.errors import LimitError, SelectionError
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.catalog.catalog import Catalog
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query import search
from tensortap.index.query.search import snapshot_place, snapshots, undecided
from tensortap.index.query.sorting import SORT_COLUMNS
from tensortap.index.run_index import RunIndex
from tensortap.index.series.statistic_values import TIMELINE_STATISTICS
from tensortap.index.series.step_statistics import statistic_range
from tensortap.index.series.timeline import timeline

FILTERS = ({}, {"where": "max > 0.5"}, {"match": "1"}, {"steps": "3:9"}, {"steps": 4}, {"nonfinite": True})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunIndex:
    """Some hundred snapshots of two workers, with equal numbers, NaN and constant tensors."""
    folder, rng = tmp_path_factory.mktemp("logs"), np.random.default_rng(3)
    names = [f"block_{at % 3}/op_{at}" for at in range(8)]
    for rank in range(2):
        with DumpWriter(folder, run="r", rank=rank) as writer:
            graph = writer.graph(Graph("step", [Node(name, "Relu") for name in names]))
            for step in range(20):
                for at, name in enumerate(names):
                    value = np.full(3, at) if at < 2 else rng.integers(-2, 3, 4).astype(np.float32)
                    value = np.where(rng.random(len(value)) < 0.02, np.nan, value)
                    writer.log(f"{name}:0", value, step=step, graph=graph)
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Catalog, "rows_at_once", 47)


@given(st.sampled_from(SORT_COLUMNS), st.booleans(), st.sampled_from(FILTERS), st.integers(0, 80))
@settings(max_examples=60, deadline=None)
def test_pages_are_the_same(run: RunIndex, column: str, down: bool, filters: dict, offset: int) -> None:
    asked = {"sort": f"{'-' * down}{column}", "limit": 30, "offset": offset, **filters}
    whole = snapshots(run, **asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "rows_at_once", 47)
        assert snapshots(run, **asked) == whole
        assert undecided(run, where="max > 0.5") == 0


@pytest.mark.parametrize("statistic", TIMELINE_STATISTICS)
def test_timelines_and_ranges_are_the_same(
    run: RunIndex, statistic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = run.graphs[0].id

    def ask() -> list[object]:
        drawn = timeline(run, graph, statistic, columns=7)
        return [getattr(drawn, field.name) for field in fields(drawn)]

    whole, ends = ask(), statistic_range(run, graph, statistic)
    monkeypatch.setattr(Catalog, "rows_at_once", 47)
    for before, after in zip(whole, ask(), strict=True):
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(after, before)
        else:
            assert str(after) == str(before)
    found = statistic_range(run, graph, statistic)
    assert (found.least, found.largest, found.zeros) == pytest.approx(
        (ends.least, ends.largest, ends.zeros), nan_ok=True
    )


@pytest.mark.usefixtures("split")
def test_what_would_take_too_much_is_refused(run: RunIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_SORTED", 100)
    with pytest.raises(LimitError, match="Row 120 of a sorted list is too far down"):
        snapshots(run, sort="max", offset=90, limit=30)
    with pytest.raises(LimitError, match="320 snapshots are too many"):
        snapshot_place(run, "block_0/op_3", 4, sort="max")
    assert snapshot_place(run, "block_0/op_3", 4, sort="max", steps=4) is not None
    with pytest.raises(SelectionError):
        snapshots(run, sort="colour")


@pytest.mark.usefixtures("split")
def test_a_run_without_snapshots_has_none(tmp_path: Path) -> None:
    DumpWriter(tmp_path, run="empty").close()
    log = LogIndex(tmp_path)
    log.refresh()
    assert snapshots(log.runs[0], sort="max").total == 0
    assert snapshot_place(log.runs[0], "x", 0, sort="max") is None
