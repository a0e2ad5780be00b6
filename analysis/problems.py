"""What is wrong with a run: which tensors turned non-finite first, what was lost, what is damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.index import Filters, RunIndex, find_rows

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class NonfiniteTensor:
    """A tensor that held a NaN or infinity: first at `first_step`, where `nan` and `inf` elements were
    (visits and workers
    together), and at `steps` steps in all."""

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
    """`nonfinite`: in order of first step, then of data flow. `dropped`: snapshots that workers report as
    lost.
    `damage`: sentences about what could not be read."""

    nonfinite: list[NonfiniteTensor]
    dropped: int
    damage: list[str]


def problems(run: RunIndex) -> Problems:
    """Looks through all snapshots of a run."""
    return Problems(
        nonfinite=_nonfinite(run),
        dropped=sum(worker.dropped for worker in run.workers),
        damage=run.damage,
    )


def _nonfinite(run: RunIndex) -> list[NonfiniteTensor]:
    catalog = run.catalog
    rows = find_rows(run, Filters(nonfinite=True))
    rows = rows[np.lexsort((catalog.column("step", rows), catalog.column("tensor", rows)))]
    tensor = catalog.column("tensor", rows)
    groups = np.split(rows, np.flatnonzero(np.diff(tensor)) + 1) if len(rows) else []
    found = [_describe(run, group) for group in groups]
    return [tensor for _, tensor in sorted(found, key=lambda entry: entry[0])]


def _describe(run: RunIndex, rows: Array) -> tuple[tuple[int, str, int, str], NonfiniteTensor]:
    """The rows of one tensor, ascending by step -> (where it belongs in the order, what is known of it)."""
    catalog = run.catalog
    steps = catalog.column("step", rows)
    first = rows[steps == steps[0]]
    code = int(catalog.column("tensor", rows[:1])[0])
    node, _ = catalog.tensors.node_and_slot(code)
    graph = run.graph(catalog.tensors.graph_of(code))
    row = graph.row(node)
    nan, pos_inf, neg_inf = (int(catalog.column(name, first).sum()) for name in ("nan", "pos_inf", "neg_inf"))
    tensor = NonfiniteTensor(
        tensor=catalog.tensors.names[code],
        node=node,
        graph=graph.id,
        first_step=int(steps[0]),
        steps=len(np.unique(steps)),
        nan=nan,
        inf=pos_inf + neg_inf,
        op_type=graph.op_type[row],
        layer=graph.layer[row],
    )
    return (tensor.first_step, graph.id, int(graph.order[row]), tensor.tensor), tensor
