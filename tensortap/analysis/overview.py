"""Problems of a run at a glance: which tensors became non-finite first, lost data, damaged data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.query.search import Filters, find_rows
from tensortap.index.run_index import RunIndex

from .model_graph.roles import roles_of


@dataclass(frozen=True, slots=True)
class NonfiniteTensor:
    """A tensor that held a NaN or infinity: first at `first_step`, where `nan` and `inf` elements were
    (visits and workers together), and at `steps` steps in all."""

    tensor: str
    node: str
    graph: str
    first_step: int
    steps: int
    nan: int
    inf: int
    op_type: str
    layer: str


@dataclass(frozen=True, slots=True)
class Problems:
    """`nonfinite`: in order of first step; of one step first graphs that compute gradients, then those in
    which more tensors are non-finite; within a graph in data flow order.
    `dropped`: snapshots and recordings that workers report as lost.
    `damage`: sentences about what could not be read."""

    nonfinite: list[NonfiniteTensor]
    dropped: int
    damage: list[str]


def problems(run: RunIndex) -> Problems:
    """Find the problems of a run in all its snapshots."""
    return Problems(
        nonfinite=_nonfinite(run),
        dropped=run.dropped,
        damage=run.damage,
    )


def _nonfinite(run: RunIndex) -> list[NonfiniteTensor]:
    catalog = run.catalog
    rows = find_rows(run, Filters(nonfinite=True))
    if not len(rows):
        return []
    rows = rows[np.lexsort((catalog.column("step", rows), catalog.column("tensor", rows)))]
    tensor, step = catalog.column("tensor", rows), catalog.column("step", rows)
    new_tensor = np.append(True, tensor[1:] != tensor[:-1])
    new_step = new_tensor | np.append(True, step[1:] != step[:-1])
    starts = np.flatnonzero(new_tensor)
    first_step = step[starts]
    at_first = step == np.repeat(first_step, np.diff(np.append(starts, len(rows))))
    nan, pos_inf, neg_inf = (
        np.add.reduceat(np.where(at_first, catalog.column(name, rows), 0).astype(np.int64), starts)
        for name in ("nan", "pos_inf", "neg_inf")
    )
    steps = np.add.reduceat(new_step.astype(np.int64), starts)
    totals = zip(tensor[starts], first_step, steps, nan, pos_inf + neg_inf, strict=True)
    graphs = {graph: run.graph(graph) for graph in map(catalog.tensors.graph_of, tensor[starts].tolist())}
    found = [_describe(run, graphs, *map(int, total)) for total in totals]
    rank = _graph_ranks(graphs, [tensor for _, tensor in found])
    return [tensor for _, tensor in sorted(found, key=lambda entry: _key(entry[0], entry[1], rank))]


def _graph_ranks(
    graphs: Mapping[str, GraphIndex], found: list[NonfiniteTensor]
) -> dict[str, tuple[int, int]]:
    """Id of a graph -> what sorts it: those that compute gradients first, then by how much of them is bad."""
    counts = Counter(tensor.graph for tensor in found)
    return {
        name: (not roles_of(graph).of_kind("gradient"), -counts[graph.id]) for name, graph in graphs.items()
    }


def _key(place: int, tensor: NonfiniteTensor, rank: Mapping[str, tuple[int, int]]) -> tuple[object, ...]:
    return tensor.first_step, rank[tensor.graph], tensor.graph, place, tensor.tensor


def _describe(
    run: RunIndex,
    graphs: Mapping[str, GraphIndex],
    code: int,
    first_step: int,
    steps: int,
    nan: int,
    inf: int,
) -> tuple[int, NonfiniteTensor]:
    """Position of a tensor in the data flow of its graph, and facts about it."""
    tensors = run.catalog.tensors
    node, _ = tensors.node_and_slot(code)
    graph = graphs[tensors.graph_of(code)]
    row = graph.rows.get(node)  # None for a node that was captured a moment ago
    name = tensors.names[code]
    place, op_type, layer = (
        (0, "", "") if row is None else (int(graph.order[row]), graph.op_type[row], graph.layer[row])
    )
    tensor = NonfiniteTensor(name, node, graph.id, first_step, steps, nan, inf, op_type, layer)
    return place, tensor
