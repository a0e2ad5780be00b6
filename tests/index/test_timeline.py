"""Steps x scopes: what each cell says, how scopes become rows, how steps share columns."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.core.errors import SelectionError
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.series.scope_tree import scope_rows
from tensortap.index.series.timeline import timeline

PATHS = ["a/b/x", "a/b/y", "a/b/w", "a/c", "d/e/f/g", "d/e/f/h", "z"]


def _tree(paths, scope="", most=9, **by_hand):
    """Each row's path behind one dot for each row around it; `+`: closed, `-`: open."""
    signs = {True: "-", False: "+"}
    rows = scope_rows(paths, scope, most, **by_hand)
    return ["." * row.depth + ("" if row.kind == "node" else signs[row.is_open]) + row.path for row in rows]


@pytest.mark.parametrize(
    ("scope", "most", "expected"),
    [
        ("", 3, ["+a", "+d/e/f", "z"]),
        ("", 4, ["-a", ".+a/b", ".a/c", "+d/e/f", "z"]),
        ("", 7, ["-a", ".-a/b", "..a/b/x", "..a/b/y", "..a/b/w", ".a/c", "+d/e/f", "z"]),
        ("a", 1, ["+a/b", "a/c"]),
        ("a/b", 9, ["a/b/x", "a/b/y", "a/b/w"]),
        ("d", 1, ["-d/e/f", ".d/e/f/g", ".d/e/f/h"]),
        ("z", 9, ["z"]),
        ("nothing", 9, []),
    ],
)
def test_scopes_open_while_there_is_room(scope, most, expected):
    assert _tree(PATHS, scope, most) == expected


def test_a_level_is_opened_before_what_lies_deeper():
    """The model before the insides of a larger scope, such as its gradients."""
    backward = [f"tape/net/{layer}/{op}" for layer in "abc" for op in range(9)]
    forward = [f"net/{layer}/{op}" for layer in "abc" for op in range(3)]
    assert _tree([*forward, *backward, "tape/loss"], most=8) == [
        *("-net", ".+net/a", ".+net/b", ".+net/c", "-tape", ".+tape/net", ".tape/loss")
    ]


def test_rows_are_opened_and_closed_by_hand():
    assert _tree(PATHS, most=2, opened=["d/e/f"], closed=["a"]) == [
        *("+a", "-d/e/f", ".d/e/f/g", ".d/e/f/h", "z"),
    ]
    assert _tree(PATHS, most=4, closed=["a"])[0] == "+a"


def test_ops_that_differ_by_a_number_are_one_row_and_loose_ones_do_not_use_up_the_rows():
    loose = ["AddN", *(f"AddN_{i}" for i in range(1, 60)), *"bcdefgh"]
    assert _tree([*loose, "net/x", "net/y", "net/z_1", "net/z_2"], most=6) == [
        *("+AddN …", *"bcdefgh", "-net", ".net/x", ".net/y", ".net/z_1", ".net/z_2")
    ]
    assert len(_tree(loose, opened=["AddN …"])) == 68


@pytest.mark.parametrize(("scope", "dots"), [("", "."), ("net", "")])
def test_of_a_crowd_the_smallest_are_one_row_until_it_is_opened(scope, dots):
    """GIVEN one scope with 125 rows in it THEN 40 are told, those of several nodes first."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    paths = [f"net/{letters[i // 26]}{letters[i % 26]}" for i in range(124)] + ["net/last/x", "net/last/y"]
    rows = [row for row in _tree(paths, scope, most=40) if row != "-net"]
    assert len(rows) == 40
    assert rows[:2] == [f"{dots}net/aa", f"{dots}net/ab"]
    assert rows[-2:] == [f"{dots}+net/…", f"{dots}+net/last"]
    opened = _tree(paths, scope, most=40, opened=["net/…"])
    assert opened[-2:] == [f"{dots}.{paths[123]}", f"{dots}+net/last"]
    assert len(opened) == len(rows) + 86 + (scope == "")
    assert len(_tree(paths, opened=["net"])) == 126


def test_a_node_that_is_a_scope_too_is_a_row_of_its_own():
    assert _tree(["call", "call/x", "call/y"]) == ["-call", ".call", ".call/x", ".call/y"]


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


def _cells(found, name="value"):
    return getattr(found, name).reshape(len(found.rows), len(found.first))


def _row(found, path, name="value"):
    rows = [row.path for row in found.rows]
    values = np.array(found.tensor.to_list()) if name == "tensor" else getattr(found, name)
    return values.reshape(len(rows), -1)[rows.index(path)].tolist()


def test_cells_hold_their_worst_tensor(run):
    found = timeline(run, "-", "abs_max")
    assert [(row.path, n) for row, n in zip(found.rows, found.nodes, strict=True)] == [
        ("net", 2),
        ("loss", 1),
    ]
    assert found.node == ["", "loss"]
    assert _row(found, "net") == [1, 2, 4, 6, 8, 10, 12, 14]
    assert _row(found, "net", "tensor") == ["net/relu:0"] + ["net/dense:0"] * 7
    assert np.isnan(_row(found, "loss")[:3]).all()
    assert _row(found, "loss")[3:] == [1, 1, 3, 3, 3]
    assert _cells(found, "health").tolist() == [[1] * 8, [0, 0, 0, 2, 2, 3, 3, 3]]
    assert _row(found, "loss", "bad") == [0, 0, 0, 1, 1, 1, 1, 1]
    assert _row(found, "loss", "step") == [-1, -1, -1, 3, 4, 5, 6, 7]
    assert _row(found, "loss", "tensor") == [""] * 3 + ["loss:0"] * 5


def test_an_open_row_shows_the_worst_of_what_lies_in_it(run):
    found = timeline(run, "-", "abs_max", opened=["net"])
    assert [(row.path, row.depth) for row in found.rows] == [
        *(("net", 0), ("net/relu", 1), ("net/dense", 1), ("loss", 0))
    ]
    assert _row(found, "net") == [1, 2, 4, 6, 8, 10, 12, 14]
    assert _row(found, "net", "tensor")[:2] == ["net/relu:0", "net/dense:0"]


def test_rows_beyond_the_limit_have_no_cells_and_count_in_what_they_lie_in(run):
    found = timeline(run, "-", "abs_max", opened=["net"], limit=2)
    assert [row.path for row in found.rows] == ["net", "net/relu"]
    assert (found.left_out, found.value.size) == (2, 2 * 8)
    assert _row(found, "net") == [1, 2, 4, 6, 8, 10, 12, 14]
    assert _row(found, "net", "tensor") == ["net/relu:0"] + ["net/dense:0"] * 7


@pytest.mark.parametrize(("statistic", "worst"), [("min", -6), ("max", 3), ("mean", -6), ("l2", 12)])
def test_what_is_worst_is_a_matter_of_the_statistic(run, statistic, worst):
    assert _row(timeline(run, "-", statistic), "net")[3] == worst


def test_zeros_are_those_of_the_worst_tensor_that_is_computed(tmp_path):
    """GIVEN a layer that dies among its weights, masks and scalars THEN its row says how much is dead."""
    ops = {"net/relu": "Relu", "net/bias": "ReadVariableOp", "net/mask": "Greater", "net/sum": "Sum"}
    nodes = [Node(name, op) for name, op in ops.items()]
    nodes += [Node("net/wide", "Reshape", ["net/bias"]), Node("net/half", "Cast", ["net/wide"])]
    with DumpWriter(tmp_path, "r") as writer:
        graph = writer.graph(Graph("net", nodes))
        for step in range(3):
            for name in ("net/bias:0", "net/wide:0", "net/half:0"):
                writer.log(name, np.zeros(4, np.float32), step=step, graph=graph)
            writer.log("net/relu:0", np.float32([0] * step + [1] * (4 - step)), step=step, graph=graph)
            writer.log("net/mask:0", np.zeros(4, np.int32), step=step, graph=graph)
            writer.log("net/sum:0", np.float32(0), step=step, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    found = timeline(log.runs[0], graph, "zero_share", closed=["net"])
    assert _row(found, "net") == [0, 1 / 4, 2 / 4]
    assert _row(found, "net", "tensor") == ["net/relu:0"] * 3
    assert np.isnan(_row(timeline(log.runs[0], graph, "zero_share", opened=["net"]), "net/bias")).all()


def test_random_bits_do_not_stretch_the_scale(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(3):
            writer.log("net/dense:0", np.float32(step), step=step)
            writer.log("shuffle/bits:0", np.int32(2**30 + step), step=step)
        for step in range(3, 6):
            writer.log("shuffle/bits:0", np.int32(2**30 + step), step=step)
    log = LogIndex(tmp_path)
    log.refresh()
    found = timeline(log.runs[0], "-", "max")
    assert np.nanmax(found.value) == 2
    assert (_row(found, "shuffle/bits", "health") == np.array([1] * 6)).all()
    alone = timeline(log.runs[0], "-", "max", steps="3:")
    assert np.nanmax(alone.value) == 2**30 + 5


def test_a_bad_cell_is_the_first_that_is_bad_at_its_first_visit(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(2):
            for visit in range(3):
                writer.log("while/log:0", np.float32(np.nan if visit else 1), step=step, visit=visit)
                writer.log("while/mul:0", np.float32(np.nan), step=step, visit=visit)
    log = LogIndex(tmp_path)
    log.refresh()
    found = timeline(log.runs[0], "-", "nan_share", columns=1, closed=["while"])
    chosen = [_row(found, "while", name) for name in ("tensor", "step", "visit")]
    assert chosen in ([["while/log:0"], [0], [1]], [["while/mul:0"], [0], [0]])


def test_steps_share_columns_where_there_are_too_many(run):
    found = timeline(run, "-", "max", rows=2, columns=3)
    assert found.first.tolist() == [0, 3, 6]
    assert found.last.tolist() == [2, 5, 7]
    assert [_row(found, "net", name) for name in ("value", "step")] == [[2, 5, 7]] * 2
    assert _row(found, "loss", "health") == [0, 3, 3]
    assert _row(found, "loss", "step") == [-1, 5, 6]


def test_a_range_of_steps_has_columns_of_its_own(run):
    found = timeline(run, "-", "max", rows=2, columns=3, steps="3:6")
    assert found.first.tolist() == [3, 4, 5]
    assert found.last.tolist() == [3, 4, 5]
    assert _row(found, "loss", "health") == [2, 2, 3]
    assert _row(found, "loss", "step") == [3, 4, 5]
    assert timeline(run, "-", "max", steps="90:").value.size == 0


def test_a_scope_stands_where_its_last_node_is():
    """A constant of the loss can run before the model does; the loss comes after it all the same."""
    order = ["loss/const", "net/dense", "net/relu", "loss/mean", "adam/update"]
    assert _tree(order, most=3) == ["+net", "+loss", "adam/update"]
    assert _tree(order, opened=["net", "loss"]) == [
        *("-net", ".net/dense", ".net/relu", "-loss", ".loss/const", ".loss/mean", "adam/update")
    ]


def test_what_never_changes_counts_only_where_nothing_else_does(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        graph = writer.graph(
            Graph(
                "step",
                [
                    Node("rest", "Mul"),
                    Node("net/mask", "Mul"),
                    Node("net/out", "Relu"),
                    Node("net/same", "Relu"),
                ],
            )
        )
        for step in range(3):
            writer.log("net/mask", np.float32([0, -1e38]), step=step, graph=graph)
            writer.log("net/same", np.float32([0, 1]), step=step, graph=graph)
            writer.log("rest", np.float32([0, -1e38]), step=step, graph=graph)
            writer.log("net/out", np.float32([0, step + 1]), step=step, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    found = timeline(run, graph, "abs_max", closed=["net"])
    assert [row.path for row in found.rows] == ["net", "rest"]  # the model before ops outside of scopes
    assert found.value.reshape(2, 3)[0].tolist() == [1, 2, 3]
    assert found.value.reshape(2, 3)[1] == pytest.approx([1e38] * 3)
    zeros = timeline(run, graph, "zero_share", closed=["net"])
    assert zeros.value.reshape(2, 3)[1].tolist() == [0.5] * 3


def test_a_graph_of_which_nothing_was_captured_has_no_rows(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        graph = writer.graph(Graph("step", [Node("net/out", "Relu")]))
        writer.log("other", np.float32(1), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    assert timeline(log.runs[0], graph, "abs_max").rows == []


def test_an_unknown_statistic_is_named(run):
    with pytest.raises(SelectionError, match="median"):
        timeline(run, "-", "median")
