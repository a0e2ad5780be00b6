"""One tensor on all workers: values, middle and extremes, and who leaves the others."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.partial_summary import partial_summary
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.index.series.worker_grid import worker_grid


@pytest.fixture
def job(tmp_path: Path) -> RunIndex:
    """Four workers of ten steps: `w` is alike but for rank 2 from step 7 on, `x` is each worker's own. Rank 1
    did not capture step 3."""
    for rank in range(4):
        with DumpWriter(tmp_path, run="job", rank=rank) as writer:
            for step in range(10):
                if (rank, step) == (1, 3):
                    continue
                drift = 1e-6 * (rank == 2 and step >= 7)
                writer.log("w", np.full(4, step + drift), step=step)
                writer.log("w", np.full(4, 99.0), step=step)  # a further iteration
                writer.log("x", np.array([rank, np.nan if rank == 3 and step == 5 else step]), step=step)
    log = LogIndex(tmp_path)
    log.refresh()
    return log.runs[0]


def test_the_worker_that_leaves_comes_first(job: RunIndex) -> None:
    found = worker_grid(job, "w")
    assert found.rank == [2, 1, 0, 3]
    assert found.missing.tolist() == [0, 1, 0, 0]
    assert found.differing.tolist() == [3, 0, 0, 0]
    assert found.first_differing.tolist() == [7, -1, -1, -1]
    np.testing.assert_allclose(found.value[0], [*range(7), 7 + 1e-6, 8 + 1e-6, 9 + 1e-6], rtol=0)
    assert found.median.tolist() == found.low.tolist() == list(range(10))
    assert found.high.tolist() == found.value[0].tolist()
    assert np.flatnonzero(np.isnan(found.value[1])).tolist() == [3]
    assert np.argwhere(~found.captured).tolist() == [[1, 3]]
    assert found.thinned_from is None


def test_differences_are_found_at_steps_that_are_thinned_out(job: RunIndex) -> None:
    found = worker_grid(job, "w", steps="0:9", limit=2)
    assert found.step.tolist() == [0, 8]
    assert found.thinned_from == 9
    assert found.value.shape == (4, 2)
    assert (found.differing[0], found.first_differing[0]) == (2, 7)


def test_counts(job: RunIndex) -> None:
    found = worker_grid(job, "x", "nan")
    assert (found.rank[0], found.differing[0], found.first_differing[0]) == (3, 1, 5)
    assert found.high.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert worker_grid(job, "x").differing.sum() > 20


def test_shares(job: RunIndex) -> None:
    found = worker_grid(job, "x", "nan_share", steps="4:6")
    assert (found.rank[0], found.value[0].tolist()) == (3, [0.0, 0.5])


def test_counts_that_an_import_lacks_are_unknown(tmp_path: Path) -> None:
    for rank in range(2):
        with DumpWriter(tmp_path, run="job", rank=rank, info={"not counted": "nan"}) as writer:
            writer.log_summary("w", partial_summary("float32", (3, 3), 9), step=0)
            writer.log("w", np.array([0.0, np.nan]), step=1)
    log = LogIndex(tmp_path)
    log.refresh()
    for statistic, known in {"zero": 1, "nan": 1, "zero_share": 0.5, "nan_share": 0.5}.items():
        found = worker_grid(log.runs[0], "w", statistic)
        np.testing.assert_array_equal(found.value, [[np.nan, known]] * 2)
        assert found.captured.all() and not found.differing.any()
    assert worker_grid(log.runs[0], "w", "size").value.tolist() == [[9, 2]] * 2


@pytest.mark.parametrize("statistic", ["mean", "nan"])
def test_a_few_steps_at_a_time_give_the_same(
    job: RunIndex, monkeypatch: pytest.MonkeyPatch, statistic: str
) -> None:
    """GIVEN a grid that does not fit in memory at once."""
    whole = [worker_grid(job, tensor, statistic, limit=7) for tensor in "wx"]
    monkeypatch.setattr("tensortap.index.series.worker_grid._CELLS_AT_ONCE", 12)
    for before, tensor in zip(whole, "wx", strict=True):
        after = worker_grid(job, tensor, statistic, limit=7)
        for field in fields(before):
            np.testing.assert_array_equal(getattr(after, field.name), getattr(before, field.name))


def test_graphs_of_one_function_are_compared(tmp_path: Path) -> None:
    """GIVEN workers whose graphs differ by the devices that they name."""
    for rank in range(3):
        with DumpWriter(tmp_path, run="job", rank=rank) as writer:
            node = Node("w", "ReadVariableOp", device=f"/job:worker/task:{rank}/device:GPU:0")
            for name in ("train", "test"):
                graph = writer.graph(Graph(name, [node]))
                writer.log("w:0", np.full(3, float(rank == 1)), step=5 + len(name), graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    graph = next(each.id for each in run.graphs if each.name == "train")
    found = worker_grid(run, "w", graph=graph)
    assert (found.rank, found.step.tolist(), found.graph) == ([1, 0, 2], [10], graph)


def test_what_cannot_be_asked(job: RunIndex) -> None:
    with pytest.raises(SelectionError, match="'middle' is not a statistic"):
        worker_grid(job, "w", "middle")
    with pytest.raises(NotFoundError, match="w"):
        worker_grid(job, "w", steps="90:")
