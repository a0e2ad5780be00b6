"""Edges between the nodes of a graph, from the tensor names that nodes list as their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

RETURNED = -1  # `input` of an edge from what a function returns to the node that calls it

Int32s = np.ndarray[Any, np.dtype[np.int32]]


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


class _Source(NamedTuple):
    row: int
    slot: int
    control: bool


def build_edges(
    inputs: pa.ListArray, functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]
) -> Edges:
    """The edges of a graph; inputs that name no node are left out.

    Args:
        inputs: each node's inputs, as in the dump.
        functions: `caller` and `outputs` of each function.
        rows: row of each node name.
    """
    flat = inputs.flatten().dictionary_encode()
    parsed = [parse_input(text, rows) for text in flat.dictionary.to_pylist()]
    of_input = np.array(parsed, np.int32).reshape(-1, 3)[flat.indices.to_numpy()]
    lengths = inputs.value_lengths().to_numpy()
    owner = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    taken = np.column_stack((of_input, owner, position))
    table = np.vstack((taken, _returned(functions, rows))).astype(np.int32)
    source, slot, control, target, place = (np.ascontiguousarray(c) for c in table[table[:, 0] >= 0].T)
    return Edges(source, target, slot, place, control.astype(np.uint8))


def parse_input(text: str, rows: Mapping[str, int]) -> _Source:
    """What `node:slot`, `node` or `^node` names; row -1 if there is no such node."""
    if text.startswith("^"):
        return _Source(rows.get(text[1:], -1), 0, True)
    node, _, slot = text.rpartition(":")
    if node and slot.isascii() and slot.isdigit() and len(slot) < 10:
        return _Source(rows.get(node, -1), int(slot), False)
    return _Source(rows.get(text, -1), 0, False)


def _returned(functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]) -> Int32s:
    """[edges, 5]: source, slot, control, target, input."""
    found = [
        (*parse_input(output, rows), rows[function["caller"]], RETURNED)
        for function in functions.values()
        if function["caller"] in rows
        for output in function["outputs"]
    ]
    return np.array(found, np.int32).reshape(-1, 5)
