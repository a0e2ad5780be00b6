"""Edges between the nodes of a graph, from the tensor names that nodes list as their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    of_input = _parse_all(flat.dictionary.to_pylist(), rows)[:, flat.indices.to_numpy()]
    lengths = inputs.value_lengths().to_numpy()
    owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    position = np.arange(len(owner), dtype=np.int32) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    taken = np.vstack((of_input, owner, position.astype(np.int32)))
    table = np.hstack((taken, _returned(functions, rows)))
    source, slot, control, target, place = np.ascontiguousarray(table[:, table[0] >= 0])
    return Edges(source, target, slot, place, control.astype(np.uint8))


def parse_input(text: str, rows: Mapping[str, int]) -> tuple[int, int, bool]:
    """Row (-1 if there is no such node), slot, and whether it is a control edge, of `node:slot`, `node` or
    `^node`."""
    if text.startswith("^"):
        return rows.get(text[1:], -1), 0, True
    node, _, slot = text.rpartition(":")
    if node and slot.isascii() and slot.isdigit() and len(slot) < 10:
        return rows.get(node, -1), int(slot), False
    return rows.get(text, -1), 0, False


def _parse_all(texts: Sequence[str], rows: Mapping[str, int]) -> Int32s:
    """[3, texts]: row, slot, control."""
    parsed = (field for text in texts for field in parse_input(text, rows))
    return np.fromiter(parsed, np.int32, 3 * len(texts)).reshape(-1, 3).T


def _returned(functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]) -> Int32s:
    """[5, edges]: source, slot, control, target, input."""
    found = [
        (*parse_input(output, rows), rows[function["caller"]], RETURNED)
        for function in functions.values()
        if function["caller"] in rows
        for output in function["outputs"]
    ]
    return np.array(found, np.int32).reshape(-1, 5).T
