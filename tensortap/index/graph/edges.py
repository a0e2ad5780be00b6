"""Edges between the nodes of a graph, from the tensor names that nodes list as their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .inputs import Inputs, parse_input

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
