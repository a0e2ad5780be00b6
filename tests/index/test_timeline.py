"""Steps x scopes: what each cell says, how scopes become rows, how steps share columns."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.dump import DumpWriter, SelectionError
from tensortap.index import LogIndex, timeline
from tensortap.index.scope_rows import scope_rows

PATHS = ["a/b/x", "a/b/y", "a/c", "d/e/f/g", "d/e/f/h", "z"]


@pytest.mark.parametrize(
    ("scope", "most", "expected"),
    [
        ("", 3, ["a", "d/e/f", "z"]),
        ("", 4, ["a/b", "a/c", "d/e/f", "z"]),
        ("", 5, ["a/b/x", "a/b/y", "a/c", "d/e/f", "z"]),
        ("", 100, PATHS),
        ("a", 1, ["a/b", "a/c"]),
        ("a/b", 9, ["a/b/x", "a/b/y"]),
        ("d", 1, ["d/e/f/g", "d/e/f/h"]),
        ("z", 9, ["z"]),
        ("nothing", 9, []),
    ],
)
def test_scopes_open_while_there_is_room(scope, most, expected):
    assert [row.path for row in scope_rows(PATHS, scope, most)] == expected


def test_a_node_that_is_a_scope_too_is_a_row_of_its_own():
    rows = scope_rows(["call", "call/x", "call/y"], "", 9)
    assert [(row.path, row.leaf) for row in rows] == [("call", True), ("call/x", True), ("call/y", True)]


@pytest.fixture
def run(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(8):
            writer.log("net/relu:0", np.array([0.0, 0.0, step, 1.0]), step=step)
            writer.log("net/dense:0", np.full(4, -2.0 * step), step=step, visit=0)
            if step > 2:
                writer.log("loss:0", np.array([np.inf, 1.0] if step < 5 else [np.nan, 3.0]), step=step)
    log = LogIndex(tmp_path)
    log.refresh()
    return log.runs[0]


def _cells(found):
    shape = (len(found.rows), len(found.first))
    return found.value.reshape(shape), found.health.reshape(shape), found.bad.reshape(shape)


def test_cells_hold_the_extreme_of_their_tensors_and_the_worst_health(run):
    found = timeline(run, "-", "abs_max", rows=2)
    assert [(row.path, n) for row, n in zip(found.rows, found.nodes, strict=True)] == [
        ("net", 2),
        ("loss", 1),
    ]
    assert found.node == ["", "loss"]
    value, health, bad = _cells(found)
    assert value[0].tolist() == [1, 2, 4, 6, 8, 10, 12, 14]
    assert np.isnan(value[1, :3]).all()
    assert value[1, 3:].tolist() == [1, 1, 3, 3, 3]
    assert health.tolist() == [[1] * 8, [0, 0, 0, 2, 2, 3, 3, 3]]
    assert bad[1].tolist() == [-1, -1, -1, 3, 4, 5, 6, 7]


def test_shares_and_means_are_of_all_elements(run):
    zeros, _, _ = _cells(timeline(run, "-", "zero_share", rows=2))
    assert zeros[0].tolist() == [7 / 8] + [2 / 8] * 7
    mean, _, _ = _cells(timeline(run, "-", "mean", rows=2))
    assert mean[0, 3] == pytest.approx((0 + 0 + 3 + 1 - 24) / 8)
    assert mean[1, 6] == 3


def test_steps_share_columns_where_there_are_too_many(run):
    found = timeline(run, "-", "max", rows=2, columns=3)
    assert found.first.tolist() == [0, 3, 6]
    assert found.last.tolist() == [2, 5, 7]
    value, health, bad = _cells(found)
    assert value[0].tolist() == [2, 5, 7]
    assert health[1].tolist() == [0, 3, 3]
    assert bad[1].tolist() == [-1, 5, 6]


def test_a_range_of_steps_has_columns_of_its_own(run):
    found = timeline(run, "-", "max", rows=2, columns=3, steps="3:6")
    assert found.first.tolist() == [3, 4, 5]
    assert found.last.tolist() == [3, 4, 5]
    _, health, bad = _cells(found)
    assert health[1].tolist() == [2, 2, 3]
    assert bad[1].tolist() == [3, 4, 5]
    assert timeline(run, "-", "max", steps="90:").value.size == 0


def test_a_scope_stands_where_its_last_node_is():
    """A constant of the loss can run before the model does; the loss comes after it all the same."""
    order = ["loss/const", "net/dense", "net/relu", "loss/mean", "adam/update"]
    assert [row.path for row in scope_rows(order, "", 3)] == ["net", "loss", "adam/update"]
    assert [row.path for row in scope_rows(order, "", 9)] == [
        "net/dense",
        "net/relu",
        "loss/const",
        "loss/mean",
        "adam/update",
    ]


def test_an_unknown_statistic_is_named(run):
    with pytest.raises(SelectionError, match="median"):
        timeline(run, "-", "median")
