"""Edges between the nodes of a graph, from the tensor names that nodes list as their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    of_input = _parse_all(flat.dictionary, rows)[:, flat.indices.to_numpy()]
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


_NODE_AND_SLOT = r"(?s)\A(?P<node>[^^].*):(?P<slot>[0-9]{1,9})\z"


def _parse_all(texts: pa.StringArray, rows: Mapping[str, int]) -> Int32s:
    """[3, texts]: row, slot, control. What is not `node:slot`, which nearly all are, is parsed one by one."""
    parts = pc.extract_regex(texts, _NODE_AND_SLOT)
    row = rows.get
    nodes = np.array([row(node, -1) for node in parts.field("node").to_pylist()], np.int32)
    slots = pc.fill_null(pc.cast(pc.if_else(parts.is_valid(), parts.field("slot"), None), pa.int32()), 0)
    parsed = np.vstack((nodes, slots.to_numpy(zero_copy_only=False), np.zeros(len(texts), np.int32)))
    others = np.flatnonzero(parts.is_null().to_numpy(zero_copy_only=False))
    if len(others):
        parsed[:, others] = np.array(
            [parse_input(text, rows) for text in texts.take(pa.array(others)).to_pylist()]
        ).T
    return parsed


def _returned(functions: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]) -> Int32s:
    """[5, edges]: source, slot, control, target, input."""
    found = [
        (*parse_input(output, rows), rows[function["caller"]], RETURNED)
        for function in functions.values()
        if function["caller"] in rows
        for output in function["outputs"]
    ]
    return np.array(found, np.int32).reshape(-1, 5).T
