"""Roles of nodes and captured tensors in the model: weights, gradients, inputs, outputs, the loss."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, is_floating
from tensortap.index.graph.edges import RETURNED
from tensortap.index.graph.graph_index import GraphIndex

from .op_types import INPUTS, VARIABLE_READS

Slot = tuple[int, int]  # (row of a node in its graph, output slot)
_BACKWARD = re.compile(r"(^|/)gradient(s|_tape)(_\d+)?/")
_LOSS = re.compile(r"loss", re.IGNORECASE)
_UPDATE = re.compile(r"Assign|(Resource)?((Sparse)?Apply|Scatter(?!Nd$|NdNon)|StridedSliceAssign)")
_MARK = "tensortap."
GRAPHS = 32  # in the cache; weak keys would never be freed, because the cached roles reference their graph
_ALL_REDUCED = ("CollectiveReduce", "CollectiveReduceV2", "CollectiveReduceV3", "HorovodAllreduce")
_STATISTICS = ("moving_mean", "moving_variance")
_UNTRAINED = ("bias", "beta", "gamma", *_STATISTICS)


class Roles:
    """Roles of a graph's nodes, from marks in the dump or from their names; computed once a graph.

    Attributes:
        graph: the graph.
        kind, variable: row -> `input`, `output`, `weight`, `gradient`; path of the variable (where known).
        trainable: path of a variable -> whether the step requests its gradient (if known).
        omitted: paths of trainable variables that a tape records, but whose gradients are not requested.
        constant: paths of variables outside Keras that were created with `trainable=False`.
        unread: path of a variable with a requested gradient that no node reads -> the line that created its
            layer (file, line, function), or None.
    """

    def __init__(self, graph: GraphIndex) -> None:
        self.graph = graph
        self.kind: dict[int, str] = {}
        self.variable: dict[int, str] = {}
        self.trainable: dict[str, bool] = {}
        self.omitted: set[str] = set()
        self.constant: set[str] = set()
        self.unread: dict[str, tuple[str, int, str] | None] = {}
        for row, attributes in _marked(graph):
            if attributes.get("tensortap.kind"):
                self.kind[row] = attributes["tensortap.kind"]
            if attributes.get("tensortap.unread"):
                self.unread |= _lines(attributes["tensortap.unread"])
            if attributes.get("tensortap.variable"):
                self.variable[row] = attributes["tensortap.variable"]
                if attributes.get("tensortap.trainable"):
                    self.trainable[self.variable[row]] = attributes["tensortap.trainable"] == "true"
                if attributes.get("tensortap.left_out") == "true":
                    self.omitted.add(self.variable[row])
                if attributes.get("tensortap.constant") == "true":
                    self.constant.add(self.variable[row])

    def of_kind(self, kind: str) -> list[int]:
        """Rows of the nodes of a kind, ascending."""
        return [row for row, known in self.kind.items() if known == kind]

    @cached_property
    def reads(self) -> dict[str, list[int]]:
        """Path of each variable that is read as a weight -> rows of these reads, ascending."""
        found: dict[str, list[int]] = {}
        for row in self.of_kind("weight"):
            if row in self.variable:
                found.setdefault(self.variable[row], []).append(row)
        return found

    @cached_property
    def by_target(self) -> tuple[Array, Array]:
        """(edge numbers ordered by target and input position, first of them for each node): data edges."""
        edges = self.graph.edges
        data = np.flatnonzero(edges.control == 0)
        order = data[np.lexsort((edges.input[data], edges.target[data]))]
        starts = np.searchsorted(edges.target[order], np.arange(len(self.graph) + 1))
        return order, starts

    @cached_property
    def by_source(self) -> tuple[Array, Array]:
        """(edge numbers ordered by source, first of them for each node): data edges."""
        edges = self.graph.edges
        data = np.flatnonzero(edges.control == 0)
        order = data[np.argsort(edges.source[data], kind="stable")]
        starts = np.searchsorted(edges.source[order], np.arange(len(self.graph) + 1))
        return order, starts

    def inputs(self, row: int) -> list[tuple[int, int, int]]:
        """(row, slot, input position) of a node's inputs in order; its returned tensors (-1) come first."""
        order, starts = self.by_target
        edges, of_node = self.graph.edges, order[starts[row] : starts[row + 1]]
        columns = (edges.source[of_node], edges.slot[of_node], edges.input[of_node])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def consumers(self, row: int, slot: int | None = None) -> list[int]:
        """Rows of the nodes that take an output (all of a node's if no slot is named)."""
        order, starts = self.by_source
        edges, of_node = self.graph.edges, order[starts[row] : starts[row + 1]]
        if slot is not None:
            of_node = of_node[edges.slot[of_node] == slot]
        found: list[int] = edges.target[of_node].tolist()
        return found

    def inputs_complete(self, row: int) -> bool:
        """Whether every input that the dump lists is a node of the graph."""
        listed = self.graph.cell("inputs", row)
        if listed is None:
            return False
        data = [text for text in listed if not text.startswith("^")]
        return len(data) == sum(position != RETURNED for _, _, position in self.inputs(row))

    def is_backward(self, row: int) -> bool:
        """Whether a node belongs to the backward pass, judged by its scope."""
        return _BACKWARD.search(self.graph.names[row]) is not None

    def read_variable(self, row: int) -> str:
        """The path of the variable that a node reads; empty for other nodes, and if unknown."""
        return self.variable.get(row, "") if row >= 0 and self.graph.op_type[row] in VARIABLE_READS else ""

    def is_update(self, row: int) -> bool:
        """Whether a node changes a variable, its first input."""
        return _UPDATE.match(self.graph.op_type[row]) is not None

    def attributes(self, row: int) -> dict[str, str]:
        """A node's attributes as the dump has them."""
        return _parsed(self.graph.cell("attributes", row))

    @cached_property
    def trained(self) -> dict[str, int]:
        """Path of each variable with a gradient -> row of the gradient. Constants are skipped: the program
        puts zeros where a tape returns None."""
        rows = (row for row in self.of_kind("gradient") if self.graph.op_type[row] != "Const")
        return {self.variable[row]: row for row in rows if row in self.variable}

    @cached_property
    def reached(self) -> Array:
        """The nodes of the forward pass that depend on a weight; if there are no weights, on an input."""
        mask = np.zeros(len(self.graph), np.bool_)
        stack = self.of_kind("weight") or self._of_op(VARIABLE_READS) or self._of_op(INPUTS)
        while stack:
            row = stack.pop()
            if mask[row] or self.is_backward(row):
                continue
            mask[row] = True
            stack += self.consumers(row)
        return mask

    def _of_op(self, op_types: Collection[str]) -> list[int]:
        return [row for row in range(len(self.graph)) if self.graph.op_type[row] in op_types]

    @cached_property
    def loss(self) -> int | None:
        """Row of the scalar to minimize, of the scalars of the forward pass that depend on weights: the last
        one that a gradient tape differentiates; else the last one with `loss` in its name; else the scalar
        that a root function returns; else None."""
        graph = self.graph
        floats = [row for row in np.flatnonzero(self.reached).tolist() if is_floating(graph.dtype[row])]
        scalars = [row for row in floats if graph.shape[row] == "scalar"]
        # After a function call, shapes can be unknown.
        summed = [row for row in floats if not graph.shape[row] and graph.op_type[row] in ("Mean", "Sum")]
        named = self._tape_losses(scalars) or self._named(scalars) or self._named(summed)
        if named:
            return max(named, key=lambda row: int(graph.order[row]))
        computed = [row for row in scalars if graph.op_type[row] not in ("ReadVariableOp", "_Arg", "Const")]
        feeds = [row for row in computed if any(map(self.is_backward, self._followers(row)))]
        returned = [row for row in computed if graph.op_type[row] == "Identity" and not self.consumers(row)]
        return min(feeds or returned or computed, key=lambda row: int(graph.order[row]), default=None)

    def _tape_losses(self, rows: Iterable[int]) -> list[int]:
        """Losses that a tape differentiates; a product may be the loss times a loss scale."""
        return [row for row in rows if self.kind.get(row) == "loss" and self.graph.op_type[row] != "Mul"]

    def _named(self, rows: Iterable[int]) -> list[int]:
        graph = self.graph
        return [
            row
            for row in rows
            if _LOSS.search(graph.names[row]) and not graph.layer[row] and not self.variable.get(row)
        ]

    def _followers(self, row: int) -> Iterator[int]:
        for follower in self.consumers(row):
            yield follower
            if self.graph.op_type[follower] == "Identity":
                yield from self.consumers(follower)


def _marked(graph: GraphIndex) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows and attributes of the nodes that tensortap has marked."""
    if graph.table is None:
        return
    for row, text in enumerate(graph.table.column("attributes").to_pylist()):
        if _MARK in text:
            yield row, _parsed(text)


def _lines(text: str) -> dict[str, tuple[str, int, str] | None]:
    """The source lines of variables that no node reads; malformed ones count as unknown."""
    found: dict[str, tuple[str, int, str] | None] = {}
    for path, line in _read_json(text).items():
        match line:
            case [str(file), int(number), str(function)]:
                found[path] = file, number, function
            case _:
                found[path] = None
    return found


def _parsed(text: str | None) -> dict[str, str]:
    return {key: str(value) for key, value in _read_json(text).items()}


def _read_json(text: str | None) -> dict[str, Any]:
    """A JSON object; empty if the text is not one."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=GRAPHS)
def roles_of(graph: GraphIndex) -> Roles:
    """The roles of a graph's nodes."""
    return Roles(graph)


@dataclass(frozen=True, slots=True)
class TensorRole:
    """A captured tensor. `kind`: `input`, `output`, `weight`, `gradient`, `update`, `loss` or empty;
    `variable`: path of the variable that is read, or that a gradient belongs to; `order`: place in the data
    flow of its graph; `row`: row of its node in the graph, -1 if unknown; `backward`: a node of the backward
    pass."""

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

    @property
    def is_statistic(self) -> bool:
        """Whether it is a moving mean or variance: batch normalization sets them, no gradient does."""
        return self.variable.rpartition("/")[2].startswith(_STATISTICS)

    @property
    def is_replicated(self) -> bool:
        """Whether data-parallel workers hold equal copies: weights, and sums over workers.

        Moving averages of batch normalization are each worker's own until they are saved.
        """
        return (self.kind == "weight" and not self.is_statistic) or self.op_type in _ALL_REDUCED


_MAX_DEPTH = 20  # casts and calls between a read and the variable's handle


def first_input(roles: Roles, row: int) -> int:
    """The first input of a node: of an update or a read, the variable; the node itself without inputs."""
    return next((source for source, _, position in roles.inputs(row) if position == 0), row)


def is_ambiguous_read(roles: Roles, row: int) -> bool:
    """Whether a node reads a variable that shares its path with another one, so that the gradient is
    ambiguous."""
    return row in _ambiguous_reads(roles)


@lru_cache(maxsize=GRAPHS)
def _ambiguous_reads(roles: Roles) -> set[int]:
    """Rows of reads of variables that share their path with another variable of the graph. If the graph
    updates only one of these, its reads are not listed: the gradient belongs to it."""
    ambiguous = set[int]()
    for rows in roles.reads.values():
        handles: dict[int, list[int]] = {}
        for row in rows:
            if roles.inputs(row):
                handles.setdefault(_handle(roles, row), []).append(row)
        if len(handles) > 1:
            updated = [handle for handle in handles if _is_updated(roles, handle)]
            known = handles[updated[0]] if len(updated) == 1 else []
            ambiguous |= {row for same in handles.values() for row in same} - set(known)
    return ambiguous


def _handle(roles: Roles, row: int) -> int:
    """The variable that a read belongs to, through casts and calls."""
    for _ in range(_MAX_DEPTH):
        row, before = first_input(roles, row), row
        if row == before:
            break
    return row


def _is_updated(roles: Roles, handle: int) -> bool:
    users = roles.consumers(handle)
    return any(roles.is_update(user) and first_input(roles, user) == handle for user in users)


def updates_of(roles: Roles, read: int) -> list[int]:
    """The ops of the graph that change the variable that a node reads."""
    return _updates(roles).get(_handle(roles, read), [])


@lru_cache(maxsize=GRAPHS)
def _updates(roles: Roles) -> dict[int, list[int]]:
    """The ops that change variables, by the variable's handle."""
    found: dict[int, list[int]] = {}
    for row in filter(roles.is_update, range(len(roles.graph.names))):
        found.setdefault(_handle(roles, row), []).append(row)
    return found
