"""Edges of a graph between the rows of its nodes, and the order in which data flow along them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Int32s

from .node_inputs import Inputs, parse_input

RETURNED = -1  # `input` of an edge from what a function returns to the node that calls it


@dataclass(frozen=True, slots=True)
class Edges:
    """One row an edge: rows of the two nodes, output slot of the source, input position at the target
    (-1: the target calls a function that returns it), and whether it is a control edge."""

    source: Int32s
    target: Int32s
    slot: Int32s
    input: Int32s
    control: np.ndarray[Any, np.dtype[np.uint8]]

    def __len__(self) -> int:
        return len(self.source)


def build_edges(
    inputs: Inputs, sources: Int32s, functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]
) -> Edges:
    """The edges of a graph; inputs that name no node are left out.

    Args:
        inputs: what the nodes list.
        sources: row of the node that each input comes from, -1 if there is none.
        functions: `caller` and `outputs` of each function.
        rows: row of each node name; asked for functions only.
    """
    lengths = inputs.lengths
    target = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    first = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, lengths)
    position = (np.arange(len(target)) - first).astype(np.int32)
    known = sources >= 0
    taken: list[Int32s] = [sources, target, inputs.slot, position, inputs.control.astype(np.int32)]
    returned = _returned(functions, rows)
    joined = [np.concatenate((mine[known], more)) for mine, more in zip(taken, returned, strict=True)]
    source, target, slot, place, control = joined
    return Edges(source, target, slot, place, control.astype(np.uint8))


def data_flow_order(count: int, edges: Edges, loops_back: np.ndarray[Any, np.dtype[np.bool_]]) -> Int32s:
    """Position of each node in data flow order. Linear in nodes and edges.

    Args:
        count: number of nodes.
        loops_back: which nodes close a loop (NextIteration): the edges that leave them do not count. Other
            cycles are cut at their first node in the dump's order.
    """
    counted = ~loops_back[edges.source] if len(edges) else np.zeros(0, np.bool_)
    source, target = edges.source[counted], edges.target[counted]
    waiting = np.bincount(target, minlength=count).tolist()
    by_source = np.argsort(source, kind="stable")
    targets = target[by_source].tolist()
    starts = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=count)))).tolist()

    order: list[int] = []
    ready = deque(node for node in range(count) if not waiting[node])
    stuck = iter(range(count))
    placed = bytearray(count)
    while len(order) < count:
        if not ready:
            ready.append(next(node for node in stuck if not placed[node]))
        node = ready.popleft()
        if placed[node]:
            continue
        placed[node] = 1
        order.append(node)
        for follower in targets[starts[node] : starts[node + 1]]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    positions = np.empty(count, np.int32)
    positions[order] = np.arange(count, dtype=np.int32)
    return positions


def _returned(functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]) -> list[Int32s]:
    """Source, target, slot, input and control of the edges from what functions return."""
    parsed = [
        (*parse_input(output, rows), rows[function["caller"]])
        for function in functions.values()
        if function["caller"] in rows
        for output in function["outputs"]
    ]
    found = [
        (source, target, slot, RETURNED, control) for source, slot, control, target in parsed if source >= 0
    ]
    return list(np.array(found, np.int32).reshape(-1, 5).T)
