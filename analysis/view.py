"""A run as rules see it: its tensors with their roles, and the statistics of all snapshots as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from tensortap.index import RunIndex

from .limits import LARGEST
from .roles import Roles, roles_of
from .rows import Rows

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")
_UNTRAINED = ("bias", "beta", "gamma", "moving_mean", "moving_variance")


@dataclass(frozen=True, slots=True)
class TensorRole:
    """A captured tensor. `kind`: `input`, `output`, `weight`, `gradient`, `loss` or empty; `variable`: path
    of the variable that is read, or that a gradient belongs to; `order`: place in the data flow of its graph;
    `row`: row of its node in the graph, -1 if unknown; `backward`: a node of the backward pass."""

    code: int
    name: str
    node: str
    slot: int
    graph: str
    row: int
    op_type: str
    layer: str
    kind: str
    variable: str
    order: int
    backward: bool

    @property
    def is_kernel(self) -> bool:
        """Whether the variable is a matrix or filter rather than a bias, scale or statistic."""
        return not self.variable.rpartition("/")[2].startswith(_UNTRAINED)


class RunView:
    """What rules look at.

    Attributes:
        run: the index. tensors: by code. rows_seen: snapshots that there were when it was made.
        advance: what a rule that takes long tells how far it is; what it raises ends the work.
    """

    def __init__(self, run: RunIndex) -> None:
        self.run = run
        self.advance: Callable[[int, int, str], None] = lambda done, total, doing: None
        catalog = run.catalog
        count = len(catalog.tensors)
        self.rows_seen = catalog.rows
        self._graphs: dict[str, Roles] = {}
        self._known: dict[str, Any] = {}
        self.tensors = [self._role(code) for code in range(count)]
        column = catalog.column("tensor", slice(0, self.rows_seen))
        self._order = np.argsort(column, kind="stable")
        self._starts = np.searchsorted(column[self._order], np.arange(count + 1))

    def roles(self, graph: str) -> Roles:
        """The roles of a graph's nodes."""
        if graph not in self._graphs:
            self._graphs[graph] = roles_of(self.run.graph(graph))
        return self._graphs[graph]

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
        """The tensors of some kinds; a list that callers leave as it is."""
        name = " ".join(("of kind", *sorted(kinds)))
        return self.once(name, lambda: self.where(lambda tensor: tensor.kind in kinds))

    def once(self, name: str, find: Callable[[], T]) -> T:
        """What `find` finds, which several rules need: found by the first that asks for that name."""
        if name not in self._known:
            self._known[name] = find()
        return cast(T, self._known[name])

    def rows(self, tensors: Iterable[TensorRole], *, floats: bool = True) -> Rows:
        """All snapshots of some tensors; of floating point ones only, unless said otherwise."""
        codes = [tensor.code for tensor in tensors]
        parts = [self._order[self._starts[code] : self._starts[code + 1]] for code in codes]
        rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        if floats:
            rows = rows[self._is_float[self.run.catalog.column("dtype", rows)]]
        return Rows(self.run, rows)

    def rows_at(self, step: int) -> Rows:
        """All snapshots of a step."""
        catalog = self.run.catalog
        code = catalog.steps.code(step)
        rows = np.zeros(0, np.int64) if code is None else catalog.rows_of_step(code)
        return Rows(self.run, rows[rows < self.rows_seen])

    def each(self, tensors: Iterable[TensorRole]) -> Iterator[tuple[TensorRole, Rows]]:
        """Tensors one by one, in order, with their snapshots: far faster than asking for those one by one."""
        tensors = list(tensors)
        rows = self.rows(tensors)
        places = dict(rows.groups())
        for tensor in tensors:
            yield tensor, rows.part(places.get(tensor.code, slice(0, 0)))

    @cached_property
    def all_rows(self) -> Rows:
        """All snapshots of floating point tensors."""
        return self.rows(self.tensors)

    @property
    def _is_float(self) -> Array:
        return np.array([name in LARGEST for name in self.run.catalog.dtypes.values], np.bool_)

    def dtypes(self, rows: Rows) -> tuple[Array, list[str]]:
        """Codes of the dtypes of some snapshots, and the dtypes by code."""
        return self.run.catalog.column("dtype", rows.rows), list(self.run.catalog.dtypes.values)
