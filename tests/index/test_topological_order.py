"""Edges from input names, and data flow order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.index.graph.edges import (
    RETURNED,
    Edges,
    build_edges,
    data_flow_order,
    parse_input,
    parse_inputs,
    program_order,
)
from tensortap.index.graph.graph_index import rows_of_names


def edges_of(pairs):
    source, target = (
        (np.array(column, np.int32) for column in zip(*pairs, strict=True))
        if pairs
        else (
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
        )
    )
    zeros = np.zeros(len(source), np.int32)
    return Edges(source, target, zeros, zeros, zeros.astype(np.uint8))


def order(count, pairs, loops=(), by=data_flow_order):
    mask = np.zeros(count, np.bool_)
    mask[list(loops)] = True
    return by(count, edges_of(pairs), mask).tolist()


BOTH = pytest.mark.parametrize("by", [data_flow_order, program_order])


PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@BOTH
@given(pairs=PAIRS, names=st.permutations(range(10)))
def test_every_node_comes_behind_its_inputs(by, pairs, names):
    acyclic = [(names[min(pair)], names[max(pair)]) for pair in pairs if pair[0] != pair[1]]
    positions = order(10, acyclic, by=by)
    assert sorted(positions) == list(range(10))
    assert all(positions[source] < positions[target] for source, target in acyclic)


@BOTH
@given(pairs=PAIRS)
def test_cycles_are_tolerated(by, pairs):
    assert sorted(order(10, pairs, by=by)) == list(range(10))


@BOTH
def test_an_edge_that_closes_a_loop_does_not_count(by):
    # 0 Enter -> 1 Merge -> 2 body -> 3 NextIteration -> 1 Merge
    assert order(4, [(3, 1), (0, 1), (1, 2), (2, 3)], loops=[3], by=by) == [0, 1, 2, 3]


def test_constants_stand_where_the_program_made_them():
    # 0 input -> 1 layer -> 3 loss <- 2 constant; a function's body, 5, is recorded after its caller, 4
    assert order(6, [(0, 1), (1, 3), (2, 3), (3, 5), (5, 4)], by=program_order) == [0, 1, 2, 3, 5, 4]


def test_nothing_is_ordered_too():
    assert order(0, []) == []


def test_edges_come_from_inputs_and_from_what_functions_return():
    rows = {"x": 0, "call": 1, "f/y": 2}
    inputs = parse_inputs(pa.array([[], ["x:0", "gone:0", "x:12", "^x"], ["x"]], pa.list_(pa.string())))
    sources = rows_of_names(pa.array(list(rows)), [], inputs.nodes).asked
    functions = {
        "root": {"caller": None, "outputs": ["call:0"]},
        "f": {"caller": "call", "outputs": ["f/y:1"]},
    }
    edges = build_edges(inputs, sources, functions, rows)
    found = zip(edges.source, edges.slot, edges.target, edges.input, edges.control, strict=True)
    assert [tuple(map(int, edge)) for edge in found] == [
        (0, 0, 1, 0, 0),
        (0, 12, 1, 2, 0),
        (0, 0, 1, 3, 1),
        (0, 0, 2, 0, 0),
        (2, 1, 1, RETURNED, 0),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b:3", (0, 3, False)),
        ("a/b", (0, 0, False)),
        ("^a/b", (0, 0, True)),
        ("x:y", (1, 0, False)),
        ("nothing:0", (-1, 0, False)),
        ("a/b:99999999999999999999", (-1, 0, False)),
    ],
)
def test_input_names(text, expected):
    assert parse_input(text, {"a/b": 0, "x:y": 1}) == expected


NAMES = ["a", "a:0", "^a", "a/b", "b:7:0", ":1", "", "é", "é:1", "a:٣"]
ENDS = ["", ":0", ":9", ":00", ":12", ":123456789", ":1234567890", ":", ":x", ":-1"]
INPUTS = st.builds(lambda name, end: name + end, st.sampled_from(NAMES), st.sampled_from(ENDS))


@given(st.lists(st.lists(INPUTS, max_size=4), max_size=6), st.integers(0, 2))
def test_all_inputs_at_once_are_read_as_one_by_one(lists, skipped):
    column = pa.array(lists, pa.list_(pa.string()))[skipped:]
    found = parse_inputs(column)
    rows = {name: row for row, name in enumerate(NAMES)}
    asked = rows_of_names(pa.array(NAMES), [], found.nodes).asked
    read = zip(asked.tolist(), found.slot.tolist(), map(bool, found.control), strict=True)
    assert list(read) == [parse_input(text, rows) for inputs in lists[skipped:] for text in inputs]
    assert found.lengths.tolist() == [len(inputs) for inputs in lists[skipped:]]


def test_rows_of_names():
    found = rows_of_names(pa.array(["a", "b", "a"]), ["c", "b", "d"], pa.array(["a", "d", "gone", "c", "b"]))
    assert found.names.to_pylist() == ["a", "b", "a", "c", "d"]
    assert not found.distinct
    assert found.asked.tolist() == [0, 4, -1, 3, 1]
    assert rows_of_names(pa.array([], pa.string()), [], pa.array([], pa.string())).distinct
