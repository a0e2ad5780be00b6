"""A run as rules see it: its tensors with their roles, and the statistics of all snapshots as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast
from weakref import ref

import numpy as np

from tensortap.core.dtypes import Array, is_floating
from tensortap.core.progress import Advance, ignore_advance
from tensortap.index.run_index import RunIndex

from ..model_graph.roles import Roles, Slot, TensorRole, roles_of
from .incremental_state import Add, AnalysisCache, TensorState
from .snapshot_rows import DecodedRows, SnapshotRows, short

T = TypeVar("T")
S = TypeVar("S", bound=TensorState)
_MAX_SINGLE_LOOKUPS = 16  # maximum number of tensors whose rows are looked up singly
_BATCH_ROWS = 1 << 18  # rows that are checked at once


class RunView:
    """A run for rules and other analyses.

    Attributes:
        run: the index. tensors: by code. rows_seen: snapshots that there were when it was made.
        advance: a slow rule calls it with its progress; may raise to stop the work.
        wait: returns when no other thread reads the rows any more: who needs all of them waits first.

    Args:
        memory: cached results of earlier analyses, used by no other caller meanwhile.
    """

    def __init__(self, run: RunIndex, memory: AnalysisCache | None = None) -> None:
        self.run = run
        self.advance: Advance = ignore_advance
        self.wait: Callable[[], object] = lambda: None
        self.rows_seen = run.catalog.rows  # first: tensors are known before the rows that name them
        self._memory = memory or AnalysisCache()
        self._graphs: dict[str, Roles] = {}
        self._known: dict[Hashable, Any] = {}
        self._rows_by_start: dict[tuple[int, bool], SnapshotRows] = {}
        self.tensors = self._roles_of_tensors(len(run.catalog.tensors))
        self._is_noted = False

    def roles(self, graph: str) -> Roles:
        """The roles of a graph's nodes."""
        if graph not in self._graphs:
            self._graphs[graph] = roles_of(self.run.graph(graph))
        return self._graphs[graph]

    def _roles_of_tensors(self, count: int) -> list[TensorRole]:
        """Roles of the tensors; roles of unchanged graphs are reused from the last refresh."""
        memory, names = self._memory, self.run.catalog.tensors.graphs_of(np.arange(count, dtype=np.int32))
        same = {name: known() is self.roles(name).graph for name, known in memory.graphs.items()}
        memory.tensors = [
            memory.tensors[code] if code < len(memory.tensors) and same.get(name, False) else self._role(code)
            for code, name in enumerate(names)
        ]
        memory.graphs = {name: ref(roles.graph) for name, roles in self._graphs.items()}
        return memory.tensors

    def _role(self, code: int) -> TensorRole:
        tensors = self.run.catalog.tensors
        node, slot = tensors.node_and_slot(code)
        roles = self.roles(tensors.graph_of(code))
        graph = roles.graph
        row = graph.rows.get(node, -1)
        kind = roles.kind.get(row, "") if slot == 0 or row < 0 or roles.kind.get(row) == "input" else ""
        if row == roles.loss and slot == 0:
            kind = "loss"
        return TensorRole(
            code=code,
            name=tensors.names[code],
            node=node,
            slot=slot,
            graph=graph.id,
            row=row,
            op_type=graph.op_type[row] if row >= 0 else "",
            layer=graph.layer[row] if row >= 0 else "",
            kind=kind,
            variable=roles.variable.get(row, ""),
            order=int(graph.order[row]) if row >= 0 else 0,
            backward=row >= 0 and roles.is_backward(row),
        )

    def where(self, fits: Callable[[TensorRole], object]) -> list[TensorRole]:
        """The tensors that fit."""
        return [tensor for tensor in self.tensors if fits(tensor)]

    def of_kind(self, *kinds: str) -> list[TensorRole]:
        """The tensors of some kinds. Callers must not change the list."""
        name = " ".join(("of kind", *sorted(kinds)))
        return self.cached(name, lambda: self.where(lambda tensor: tensor.kind in kinds))

    def tensor_at(self, graph: str, place: Slot) -> TensorRole | None:
        """The captured tensor of a place in a graph."""
        by_place = self.cached(
            "tensors by place", lambda: {(t.graph, t.row, t.slot): t for t in self.tensors if t.row >= 0}
        )
        return by_place.get((graph, *place))

    def cached(self, name: str, find: Callable[[], T]) -> T:
        """The result of `find`, which several rules share; computed by the first caller with that name."""
        if name not in self._known:
            self._known[name] = find()
        return cast(T, self._known[name])

    def rows(self, tensors: Iterable[TensorRole], *, floats: bool = True) -> SnapshotRows:
        """All snapshots of some tensors; by default only of floating-point ones."""
        codes = [tensor.code for tensor in tensors]
        if len(codes) > _MAX_SINGLE_LOOKUPS:
            order, starts = self._ordered
            parts = [order[starts[code] : starts[code + 1]] for code in codes]
        else:
            found = (self.run.catalog.rows_of_tensor(code) for code in codes)
            parts = [rows[: np.searchsorted(rows, self.rows_seen)] for rows in found]
        rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        if floats:
            rows = rows[self._is_float[self.run.catalog.column("dtype", rows)]]
        return SnapshotRows(self.run, rows)

    def few_rows(self, tensors: Sequence[TensorRole]) -> SnapshotRows:
        """The same, of so few tensors that a compacted run is not read as a whole for them."""
        found = self.run.unread_rows_of(np.array([tensor.code for tensor in tensors], np.int32))
        if found is None:
            self.wait()
            return self.rows(tensors)
        steps = np.array(self.run.catalog.steps.values)
        floats = self._is_float[found["dtype"]]
        found = {name: column[floats] for name, column in found.items()}
        return DecodedRows(self.run, found | {"step": steps[found["step"]]})

    @cached_property
    def _ordered(self) -> tuple[Array, Array]:
        """(all rows ordered by tensor and step, where each tensor begins)."""
        catalog, everything = self.run.catalog, slice(0, self.rows_seen)
        tensor = catalog.column("tensor", everything)
        order = np.argsort(short(catalog.column("step", everything)), kind="stable")
        order = order[np.argsort(short(tensor)[order], kind="stable")]
        return order, np.concatenate(([0], np.cumsum(np.bincount(tensor, minlength=len(self.tensors)))))

    def rows_at(self, step: int, *, floats: bool = False) -> SnapshotRows:
        """All snapshots of a step; of floating point tensors only, if wanted."""
        catalog = self.run.catalog
        code = catalog.steps.code(step)
        rows = np.zeros(0, np.int64) if code is None else catalog.rows_of_step(code)
        rows = rows[rows < self.rows_seen]
        if floats:
            rows = rows[self._is_float[catalog.column("dtype", rows)]]
        return SnapshotRows(self.run, rows)

    def each(self, tensors: Iterable[TensorRole]) -> Iterator[tuple[TensorRole, SnapshotRows]]:
        """Tensors one by one, in order, with their snapshots: far faster than asking for those one by one."""
        tensors = list(tensors)
        rows = self.rows(tensors)
        places = dict(rows.groups())
        for tensor in tensors:
            yield tensor, rows.part(places.get(tensor.code, slice(0, 0)))

    def incremental(
        self, key: Hashable, make: Callable[[], S], tensors: Iterable[TensorRole], add: Add[S]
    ) -> S:
        """Facts about the floating-point snapshots of some tensors: the cached state under this key, extended
        by the new snapshots.

        Args:
            key: names all that it depends on. make: makes what knows nothing.
            add: adds snapshots, for each tensor in order after earlier ones. The state must not depend on
                how they are divided into calls.
        """
        if ("growing", key) in self._known:
            return cast(S, self._known["growing", key])
        self._note()
        held = self._memory.take(key, make)
        wanted = np.zeros(len(self.tensors), np.bool_)
        wanted[[tensor.code for tensor in tensors]] = True
        anew = wanted & (~held.wanted | (self._memory.rows_of_late_data > held.rows)) & bool(held.rows)
        for code in np.flatnonzero((held.wanted & ~wanted) | anew).tolist():
            held.state.forget(code)
        added = self._rows_from(held.rows, floats=True)
        fit = (wanted & ~anew)[added.tensor]
        self._feed(held.state, added.part(fit, share=len(added) <= _BATCH_ROWS), add)
        self._feed(held.state, self.rows([self.tensors[code] for code in np.flatnonzero(anew).tolist()]), add)
        held.wanted, held.rows = wanted, self.rows_seen
        self._memory.put(key, held)
        self._known["growing", key] = held.state
        return held.state

    def _note(self) -> None:
        """Tells the memory of new rows: not before a rule needs that, because it reads all of them."""
        if not self._is_noted:
            self._is_noted = True
            added = self._rows_from(self._memory.rows, floats=False)
            self._memory.note(self.run, added, self.rows_seen, len(self.tensors))

    def _feed(self, state: S, rows: SnapshotRows, add: Add[S]) -> None:
        if 0 < len(rows) <= _BATCH_ROWS:
            add(state, rows)
            return
        for start in range(0, len(rows), _BATCH_ROWS):
            add(state, rows.part(slice(start, start + _BATCH_ROWS), share=False))

    def _rows_from(self, first: int, *, floats: bool) -> SnapshotRows:
        """The snapshots from a row of the catalog on, ordered."""
        if (first, floats) not in self._rows_by_start:
            if floats:
                rows = self._rows_from(first, floats=False)
                fit = self._is_float[self.run.catalog.column("dtype", rows.rows)]
                found = rows.part(fit, share=len(rows) <= _BATCH_ROWS)
            elif first:
                found = SnapshotRows(self.run, np.arange(first, self.rows_seen))
            else:
                found = SnapshotRows(self.run, self._ordered[0])
            self._rows_by_start[first, floats] = found
        return self._rows_by_start[first, floats]

    @property
    def _is_float(self) -> Array:
        return np.array([is_floating(name) for name in self.run.catalog.dtypes.values], np.bool_)

    def dtypes(self, rows: SnapshotRows) -> tuple[Array, list[str]]:
        """Codes of the dtypes of some snapshots, and the dtypes by code."""
        return self.run.catalog.column("dtype", rows.rows), list(self.run.catalog.dtypes.values)
