"""Finding snapshots: filters, order, pages, and the one that is meant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query import sorting
from tensortap.index.query.search import latest_snapshots, snapshot_place, snapshots
from tensortap.index.query.sorting import SORT_COLUMNS
from tensortap.index.query.tensor_lookup import find_snapshot


def found(run, **filters):
    return [(s.tensor, s.step, s.visit) for s in snapshots(run, **filters).rows]


def test_each_filter_restricts(run, graph_id):
    total = snapshots(run, limit=0).total
    assert total == 26
    worker = run.workers[0].id
    expected = {
        "graph": (graph_id, 24),
        "worker": (worker, 26),
        "node": ("dense/Relu", 12),
        "tensor": ("dense/MatMul", 6),
        "match": ("^dense/.*:0$", 18),
        "op_type": ("MatMul", 12),
        "layer": ("model/dense", 18),
        "steps": ("10:20", 4),
        "dtype": ("int16", 1),
        "nonfinite": (True, 12),
        "kept": (True, 14),
        "where": ("nan > 0 and step >= 40", 8),
    }
    for name, (value, count) in expected.items():
        assert snapshots(run, **{name: value}).total == count, name


def test_filters_combine(run):
    assert found(run, match="Relu", steps="30:", where="visit == 1", nonfinite=True) == [
        ("dense/Relu:0", step, 1) for step in (30, 40, 50)
    ]
    assert found(run, node="dense/Relu", dtype="float16") == []
    assert found(run, op_type="Nothing") == []
    assert found(run, layer="model") != []
    assert found(run, layer="model/den") == []


def test_what_does_not_exist_is_refused(run):
    for filters in ({"graph": "nothing"}, {"worker": "nothing"}, {"tensor": "nothing"}):
        with pytest.raises(NotFoundError):
            snapshots(run, **filters)
    for filters in ({"sort": "nothing"}, {"where": "x"}, {"match": "("}, {"steps": "x"}):
        with pytest.raises(SelectionError):
            snapshots(run, **filters)


def test_pages_are_parts_of_one_order(run):
    everything = snapshots(run, sort="-abs_max", limit=100)
    pages = [snapshots(run, sort="-abs_max", limit=10, offset=offset).rows for offset in (0, 10, 20, 30)]
    assert [s.row for page in pages for s in page] == [s.row for s in everything.rows]
    values = [s.abs_max for s in everything.rows]
    finite = [value for value in values if not np.isnan(value)]
    assert finite == sorted(finite, reverse=True)
    assert all(np.isnan(value) for value in values[len(finite) :])  # the text


def node_text(name):
    def read(run, snapshot):
        graph = run.graph(snapshot.graph)
        return getattr(graph, name)[graph.rows[snapshot.node]]

    return read


OF_NO_FIELD = {
    "flow": lambda run, s: int(run.graph(s.graph).program_order[run.graph(s.graph).rows[s.node]]),
    "zero_share": lambda run, s: s.zero / max(s.size, 1),
    "inf": lambda run, snapshot: snapshot.pos_inf + snapshot.neg_inf,
    "op_type": node_text("op_type"),
    "layer": node_text("layer"),
}


def test_a_tensor_is_found_in_the_sorted_list(run):
    """GIVEN any order and filter WHEN asked where a tensor is THEN that row of the list is it."""
    for query in ({"sort": "-abs_max"}, {"sort": "tensor", "op_type": "MatMul"}, {"steps": "20:"}):
        rows = snapshots(run, **query).rows
        for row in rows:
            place = snapshot_place(run, row.tensor, row.step, **query)
            assert place is not None
            first = next(i for i, r in enumerate(rows) if (r.tensor, r.step) == (row.tensor, row.step))
            assert place == first
    assert snapshot_place(run, "dense/MatMul:0", 7) is None
    assert snapshot_place(run, "nothing:0", 10) is None
    assert snapshot_place(run, "dense/Relu:0", 10, op_type="MatMul") is None


@pytest.mark.parametrize("column", SORT_COLUMNS)
def test_any_column_sorts_both_ways(run, column):
    read = OF_NO_FIELD.get(column) or (lambda run, snapshot: getattr(snapshot, column))
    up, down = (
        [read(run, s) for s in snapshots(run, sort=sort, kept=True, dtype="float32").rows]
        for sort in (column, f"-{column}")
    )
    assert up == sorted(up)
    assert down == sorted(up, reverse=True)


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan, np.inf, -np.inf]), max_size=60),
    st.integers(0, 8),
    st.booleans(),
)
def test_a_partial_sort_is_the_beginning_of_a_whole_one(values, first, descending):
    class Run:
        @property
        def catalog(self):
            return self

        def column(self, name, rows):
            return np.array(values)[rows]

    rows, sort = np.arange(len(values)), "-mean" if descending else "mean"
    whole = sorting.sort_rows(Run(), rows, sort, len(rows))[:first]
    assert sorting.sort_rows(Run(), rows, sort, first)[:first].tolist() == whole.tolist()


@pytest.mark.parametrize("sort", ["step", "-step"])
def test_pages_by_step_are_those_of_a_sorted_list(tmp_path, sort):
    """Without filters only a few steps are looked at; a filter that lets all through sorts all."""
    for rank, steps in enumerate([(5, 6, 7, 1, 2, 6), range(9), (3,)]):
        with DumpWriter(tmp_path, "r", rank=rank) as writer:
            for step in steps:
                for name in ("a", "b", "c")[: 1 + step % 3]:
                    writer.log(name, np.array(float(step)), step=step)
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    whole = [each.row for each in snapshots(run, sort=sort, where="size >= 0", limit=1000).rows]
    assert len(whole) == run.catalog.rows > 25
    for offset in (*range(len(whole)), len(whole), 1000):
        for limit in (0, 1, 4, 1000):
            page = snapshots(run, sort=sort, offset=offset, limit=limit)
            assert [each.row for each in page.rows] == whole[offset : offset + limit]
            assert page.total == len(whole)


def test_pages_keep_their_order_until_the_run_grows(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(20):
            writer.log("a", np.array(-float(step)), step=step)
        writer.flush()
        log = LogIndex(tmp_path)
        log.refresh()
        assert [s.step for s in snapshots(log.runs[0], sort="max", limit=3, offset=3).rows] == [16, 15, 14]
        writer.log("a", np.array(-99.0), step=50)
        writer.flush()
        log.refresh()
        page = snapshots(log.runs[0], sort="max", limit=3, offset=3)
        assert (page.total, [s.step for s in page.rows]) == (21, [17, 16, 15])


def test_a_snapshot_is_located(run, graph_id):
    snapshot = find_snapshot(run, "dense/Relu", step=30, visit=1)
    assert (snapshot.step, snapshot.visit, snapshot.graph, snapshot.slot) == (30, 1, graph_id, 0)
    assert (snapshot.nan, snapshot.pos_inf, snapshot.kept) == (1, 1, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 25}, "nearest steps are 10, 20, 30, 40; it has 6 from 0 to 50"),
        ({"step": 10, "visit": 7}, "Its iterations: 0, 1"),
        ({"step": 10, "worker": "w"}, "No worker"),
        ({"step": 10, "graph": "-"}, "not captured in graph"),
    ],
)
def test_what_cannot_be_located_is_explained(run, options, message):
    with pytest.raises(NotFoundError, match=message):
        find_snapshot(run, "dense/Relu", **options)


def test_the_latest_worker_wins(tmp_path):
    for time in (50.0, 90.0, 70.0):
        with DumpWriter(tmp_path, "r") as writer:
            writer.log("a", np.array(time), step=0, time=time)
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    assert find_snapshot(run, "a", step=0).max == 90.0
    for worker in run.workers:
        assert find_snapshot(run, "a", step=0, worker=worker.id).worker == worker.id


def test_the_latest_snapshot_of_every_tensor_of_every_graph(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        for step, size in ((7, 2), (3, 3), (7, 4)):
            writer.log("b", np.ones(size), step=step)
        writer.log("a", np.ones(5), step=0)
        writer.log("b", np.ones(6), step=1, graph="other")
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    seen = latest_snapshots(log.runs[0])
    reported = [
        (each.last.tensor, each.last.step, each.last.shape, each.last.graph, each.snapshots) for each in seen
    ]
    assert reported == [("a:0", 0, (5,), "-", 1), ("b:0", 7, (2,), "-", 3), ("b:0", 1, (6,), "other", 1)]
