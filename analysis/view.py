"""A run as rules see it: its tensors with their roles, and the statistics of all snapshots as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensortap.index import RunIndex

from .limits import LARGEST
from .roles import Roles, roles_of

Array = np.ndarray[Any, np.dtype[Any]]
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


class Rows:
    """Snapshots ordered by tensor, step and visit. `rows["abs_max"]` is a column, float64."""

    def __init__(self, run: RunIndex, rows: Array) -> None:
        catalog = run.catalog
        visit, step, tensor = (catalog.column(name, rows) for name in ("visit", "step", "tensor"))
        if not _in_order(tensor, step, visit):  # snapshots are captured in order, mostly
            order = np.lexsort((visit, step, tensor))
            rows, tensor, step = rows[order], tensor[order], step[order]
        self._run = run
        self.rows, self.tensor, self.step = rows, tensor, step

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> Array:
        found: Array = self._run.catalog.column(column, self.rows).astype(np.float64)
        return found

    @cached_property
    def finite(self) -> Array:
        """Finite elements of each."""
        found: Array = self["zero"] + self["negative"] + self["positive"]
        return found

    @cached_property
    def rms(self) -> Array:
        """Root mean square of the finite elements; never below the mean of their absolute values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self["l2"] / np.sqrt(self.finite)

    @cached_property
    def starts(self) -> Array:
        """Where each tensor begins."""
        return np.flatnonzero(np.append(True, self.tensor[1:] != self.tensor[:-1]))[: len(self) or None]

    def groups(self) -> Iterator[tuple[int, slice]]:
        """(code of the tensor, its rows) one by one."""
        if not len(self):
            return
        stops = np.append(self.starts[1:], len(self)).tolist()
        for start, stop in zip(self.starts.tolist(), stops, strict=True):
            yield int(self.tensor[start]), slice(start, stop)


def _in_order(tensor: Array, step: Array, visit: Array) -> bool:
    """Whether rows are ordered by tensor, step and visit already."""
    new_tensor, same = tensor[1:] > tensor[:-1], tensor[1:] == tensor[:-1]
    later = (step[1:] > step[:-1]) | ((step[1:] == step[:-1]) & (visit[1:] >= visit[:-1]))
    return bool(np.all(new_tensor | (same & later)))


class RunView:
    """What rules look at.

    Attributes:
        run: the index. tensors: by code.
    """

    def __init__(self, run: RunIndex) -> None:
        self.run = run
        catalog = run.catalog
        count = len(catalog.tensors)
        self.rows_seen = catalog.rows
        self._graphs: dict[str, Roles] = {}
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
        """The tensors of some kinds."""
        return self.where(lambda tensor: tensor.kind in kinds)

    def rows(self, tensors: Iterable[TensorRole], *, floats: bool = True) -> Rows:
        """All snapshots of some tensors; of floating point ones only, unless said otherwise."""
        codes = [tensor.code for tensor in tensors]
        parts = [self._order[self._starts[code] : self._starts[code + 1]] for code in codes]
        rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        if floats:
            rows = rows[self._is_float[self.run.catalog.column("dtype", rows)]]
        return Rows(self.run, rows)

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
