"""Edges of a graph between the rows of its nodes, and the order in which data flow along them.

A node lists its inputs as `node:slot`, `node` (slot 0), or `^node` for a control edge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Int32s

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_DIGITS = 9  # of a slot; longer numbers belong to the name
_CARET, _COLON, _ZERO, _NINE = b"^:09"

RETURNED = -1  # `input` of an edge from a function's result to the node that calls it


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
    """The edges of a graph; inputs that name no node are skipped.

    Args:
        inputs: the nodes' lists of inputs.
        sources: row of the node that each input comes from, -1 if there is none.
        functions: `caller` and `outputs` of each function.
        rows: row of each node name; only called if there are functions.
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
    source, target = _counted(edges, loops_back)
    waiting, targets, starts = _followers(count, source, target)
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


def program_order(count: int, edges: Edges, loops_back: np.ndarray[Any, np.dtype[np.bool_]]) -> Int32s:
    """Position of each node in the data flow order that is closest to the program's.

    Constants are where they are used, gradients after the loss. Arguments as `data_flow_order`.
    """
    source, target = _counted(edges, loops_back)
    if bool((source < target).all()):
        return np.arange(count, dtype=np.int32)
    waiting, targets, starts = _followers(count, source, target)
    ready = [node for node in range(count) if not waiting[node]]
    positions, placed, stuck = np.full(count, -1, np.int32), 0, iter(range(count))
    while placed < count:
        node = heappop(ready) if ready else next(node for node in stuck if positions[node] < 0)
        if positions[node] >= 0:  # of a cycle that was cut
            continue
        positions[node] = placed
        placed += 1
        for follower in targets[starts[node] : starts[node + 1]]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, follower)
    return positions


def _counted(edges: Edges, loops_back: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[Int32s, Int32s]:
    """Sources and targets of the edges that do not close a loop."""
    counted = ~loops_back[edges.source] if len(edges) else np.zeros(0, np.bool_)
    return edges.source[counted], edges.target[counted]


def _followers(count: int, source: Int32s, target: Int32s) -> tuple[list[int], list[int], list[int]]:
    """How many edges lead to each node, targets by source, and where those of each source begin."""
    targets = target[np.argsort(source, kind="stable")]
    starts = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=count))))
    return np.bincount(target, minlength=count).tolist(), targets.tolist(), starts.tolist()


def _returned(functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]) -> list[Int32s]:
    """Source, target, slot, input and control flag of the edges from results of functions."""
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


@dataclass(frozen=True, slots=True)
class Inputs:
    """One row an input, in the order of the nodes that list them.

    Attributes:
        nodes: name of the node it comes from.
        slot: output slot of that node. control: 1 for a control edge.
        lengths: how many inputs each node lists.
    """

    nodes: pa.StringArray
    slot: Int32s
    control: Bytes
    lengths: Int32s


def parse_input(text: str, rows: Mapping[str, int]) -> tuple[int, int, bool]:
    """Row (-1 for an unknown node), slot, and control flag of one input."""
    if text.startswith("^"):
        return rows.get(text[1:], -1), 0, True
    node, _, slot = text.rpartition(":")
    if node and slot.isascii() and slot.isdigit() and len(slot) <= _DIGITS:
        return rows.get(node, -1), int(slot), False
    return rows.get(text, -1), 0, False


def parse_inputs(inputs: pa.ListArray) -> Inputs:
    """All inputs of a graph at once, as `parse_input` reads them one by one.

    Args:
        inputs: each node's inputs, as in the dump; no nulls.
    """
    lengths = inputs.value_lengths().to_numpy().astype(np.int32, copy=False)
    ends, data = _bytes_of(inputs.flatten())
    starts = np.concatenate(([0], ends[:-1]))
    control = np.zeros(len(ends), np.uint8)
    some = np.flatnonzero(ends > starts)
    control[some] = data[starts[some]] == _CARET
    slot, cut = _slots(np.flatnonzero(control == 0), starts, ends, data)
    keep = np.ones(len(data), np.bool_)
    keep[starts[control == 1]] = False
    for place in range(1, int(cut.max(initial=0)) + 1):
        keep[ends[cut >= place] - place] = False
    offsets = np.concatenate(([0], ends - np.cumsum(cut + control))).astype(np.int32)
    nodes = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data[keep]))
    return Inputs(nodes, slot, control, lengths)


def _bytes_of(texts: pa.StringArray) -> tuple[Int32s, Bytes]:
    """(where each text ends, all bytes)."""
    if not len(texts):
        return np.zeros(0, np.int32), np.zeros(0, np.uint8)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    whole = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return bounds[1:] - bounds[0], whole[bounds[0] : bounds[-1]]


def _slots(left: np.ndarray[Any, Any], starts: Int32s, ends: Int32s, data: Bytes) -> tuple[Int32s, Int32s]:
    """(slot, bytes to remove) of every text; both 0 for texts not in `left` and without `:slot`."""
    value, slot, cut = (np.zeros(len(ends), np.int32) for _ in range(3))
    for digits in range(1, _DIGITS + 1):
        left = left[ends[left] - digits - 1 > starts[left]]  # a name stays
        digit = data[ends[left] - digits]
        is_digit = (digit >= _ZERO) & (digit <= _NINE)
        left = left[is_digit]
        value[left] += (digit[is_digit] - _ZERO).astype(np.int32) * 10 ** (digits - 1)
        ends_here = data[ends[left] - digits - 1] == _COLON
        found = left[ends_here]
        slot[found], cut[found] = value[found], digits + 1
        left = left[~ends_here]
        if not len(left):
            break
    return slot, cut
