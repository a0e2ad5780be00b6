"""Tensors that one worker captured of one graph at one step, as needed to follow non-finite values."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at

from ..model_graph.roles import Roles, Slot, roles_of

NEVER = 2**31 - 1  # the visit of the first NaN or infinity, for a tensor without any


class StepTensors:
    """The tensors of a graph at a step, by (row of the node, output slot).

    Attributes:
        run, graph, roles, step, worker: identify the tensors; `worker` is an id.
        captured: slot -> rows of the catalog, by ascending visit.
        bad: slot -> the first visit with NaN or infinity; only tensors that have one.
    """

    def __init__(self, run: RunIndex, graph: GraphIndex, step: int, worker: int | None) -> None:
        self.run, self.graph, self.step = run, graph, step
        self.roles: Roles = roles_of(graph)
        self.captured: dict[Slot, Array] = {}
        self.bad: dict[Slot, int] = {}
        self._snapshots: dict[tuple[Slot, int | None], Snapshot] = {}
        catalog = run.catalog
        code = catalog.steps.code(step)
        rows = np.zeros(0, np.int64) if code is None else catalog.rows_of_step(code)
        rows = rows[np.isin(catalog.column("tensor", rows), catalog.tensors.in_graph(graph.id))]
        if worker is not None:
            rows = rows[catalog.column("worker", rows) == worker]
        self.worker = "" if worker is None else catalog.workers[worker]
        self._fill(rows)

    def _fill(self, rows: Array) -> None:
        catalog = self.run.catalog
        rows = rows[np.lexsort((catalog.column("visit", rows), catalog.column("tensor", rows)))]
        tensor = catalog.column("tensor", rows)
        starts = np.flatnonzero(np.append(True, tensor[1:] != tensor[:-1])) if len(rows) else rows
        counts = [catalog.column(name, rows) for name in ("nan", "pos_inf", "neg_inf")]
        bad = np.logical_or.reduce([count > 0 for count in counts])
        first = np.where(bad, catalog.column("visit", rows).astype(np.int64), NEVER)
        first = np.minimum.reduceat(first, starts) if len(rows) else first
        groups = np.split(rows, starts[1:]) if len(rows) else []
        for code, group, visit in zip(tensor[starts].tolist(), groups, first.tolist(), strict=True):
            node, slot = catalog.tensors.node_and_slot(code)
            row = self.graph.rows.get(node)
            if row is not None:  # a node may just have appeared
                self.captured[row, slot] = group
                if visit != NEVER:
                    self.bad[row, slot] = visit

    def snapshot(self, slot: Slot, visit: int | None = None) -> Snapshot:
        """The snapshot of a captured tensor at a visit; else the last one before it, else the first."""
        known = self._snapshots.get((slot, visit))
        if known is None:
            rows = self.captured[slot]
            visits = self.run.catalog.column("visit", rows)
            at = max(int(np.searchsorted(visits, visits[0] if visit is None else visit, "right")) - 1, 0)
            known = self._snapshots[slot, visit] = snapshots_at(self.run.catalog, rows[at : at + 1])[0]
        return known

    @cached_property
    def by_row(self) -> dict[int, list[Slot]]:
        """Row of each captured node -> its captured slots."""
        found: dict[int, list[Slot]] = {}
        for slot in self.captured:
            found.setdefault(slot[0], []).append(slot)
        return found

    def bad_at(self, slot: Slot, visit: int | None) -> bool:
        """Whether a tensor was non-finite by a visit (at any, without one)."""
        return slot in self.bad and (visit is None or self.bad[slot] <= visit)

    def name(self, slot: Slot) -> str:
        """The tensor name of a slot."""
        return f"{self.graph.names[slot[0]]}:{slot[1]}"
