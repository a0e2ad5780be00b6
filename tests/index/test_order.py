"""Edges from input names, and data flow order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.index import RETURNED, Edges
from tensortap.index.edges import build_edges, parse_input
from tensortap.index.order import data_flow_order


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


def order(count, pairs, loops=()):
    mask = np.zeros(count, np.bool_)
    mask[list(loops)] = True
    return data_flow_order(count, edges_of(pairs), mask).tolist()


PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@given(PAIRS, st.permutations(range(10)))
def test_every_node_comes_behind_its_inputs(pairs, names):
    acyclic = [(names[min(pair)], names[max(pair)]) for pair in pairs if pair[0] != pair[1]]
    positions = order(10, acyclic)
    assert sorted(positions) == list(range(10))
    assert all(positions[source] < positions[target] for source, target in acyclic)


@given(PAIRS)
def test_cycles_are_tolerated(pairs):
    assert sorted(order(10, pairs)) == list(range(10))


def test_an_edge_that_closes_a_loop_does_not_count():
    # 0 Enter -> 1 Merge -> 2 body -> 3 NextIteration -> 1 Merge
    assert order(4, [(3, 1), (0, 1), (1, 2), (2, 3)], loops=[3]) == [0, 1, 2, 3]


def test_nothing_is_ordered_too():
    assert order(0, []) == []


def test_edges_come_from_inputs_and_from_what_functions_return():
    rows = {"x": 0, "call": 1, "f/y": 2}
    inputs = pa.array([[], ["x:0", "gone:0", "x:12", "^x"], ["x"]], pa.list_(pa.string()))
    functions = {
        "root": {"caller": None, "outputs": ["call:0"]},
        "f": {"caller": "call", "outputs": ["f/y:1"]},
    }
    edges = build_edges(inputs, functions, rows)
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
