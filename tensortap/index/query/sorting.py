"""Rows of the catalog in the order of a column; texts in natural order."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import SelectionError
from tensortap.core.text import natural_ranks

from ..catalog.catalog import Catalog
from ..catalog.columns import StringTable
from ..run_index import RunIndex
from ..snapshot import PLAIN_COLUMNS
from .filter_columns import flow_ranks, text_ranks

SORT_COLUMNS = (
    *("flow", "tensor", "op_type", "layer", "worker", "dtype", "shape", "device", "time"),
    *(*PLAIN_COLUMNS, "inf", "zero_share"),
)
MAX_SORTED = 3  # orders of a run that are kept: 8 bytes per row each


class SortedRows:
    """The rows of a few queries in their order, the last ones; forgotten as soon as the run grows.

    Attributes:
        lock: hold it to add a result, so that no two threads sort the same rows.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._rows: OrderedDict[Hashable, Array] = OrderedDict()
        self._version: object = None

    def get(self, run: RunIndex, query: Hashable) -> Array | None:
        """The cached result of the query, if the run is unchanged."""
        return self._rows.get(query) if self._version == _version(run) else None

    def put(self, run: RunIndex, query: Hashable, rows: Array) -> Array:
        """Keeps the rows, and returns them."""
        if self._version != _version(run):
            self._rows, self._version = OrderedDict(), _version(run)
        self._rows[query] = rows
        while len(self._rows) > MAX_SORTED:
            self._rows.popitem(last=False)
        return rows


def _version(run: RunIndex) -> object:
    return run.generation, run.catalog.rows, run.catalog.prunings, len(run.recorded_graphs)


def sort_rows(run: RunIndex, rows: Array, sort: str, first: int) -> Array:
    """The first rows sorted by a column; avoids a full sort for few rows.

    Raises:
        SelectionError: the column does not exist.
    """
    name, descending = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORT_COLUMNS:
        raise SelectionError(f"{name[:80]!r} is not a column.", f"Sort by one of {', '.join(SORT_COLUMNS)}.")
    keys = _keys(run, rows, name)
    if not descending and bool((keys[1:] >= keys[:-1]).all()):
        return rows  # by step, most are: that is how they were captured
    keys = -keys if descending else keys
    if 0 < first < len(rows) // 8:
        last = np.partition(keys, first - 1)[first - 1]  # NaN is the largest there
        if last == last:
            within = np.flatnonzero(keys <= last)
            rows, keys = rows[within], keys[within]
    return rows[np.argsort(keys, kind="stable")]


def _keys(run: RunIndex, rows: Array, name: str) -> Array:
    catalog = run.catalog
    if name == "inf":
        return catalog.column("pos_inf", rows).astype(np.int64) + catalog.column("neg_inf", rows)
    if name == "flow":
        return flow_ranks(run, catalog.column("tensor", rows))
    if name == "zero_share":
        sizes = np.maximum(catalog.column("size", rows), 1)
        return np.asarray(catalog.column("zero", rows) / sizes)
    if name in ("op_type", "layer"):
        tensor = catalog.column("tensor", rows)
        return text_ranks(run, int(tensor.max(initial=-1)) + 1, name)[tensor]
    values = catalog.column(name, rows)
    if name == "tensor":
        values = catalog.tensors.ranks()[values]
    elif name == "shape":
        values = _ranks(catalog.shapes.values[: int(values.max(initial=-1)) + 1])[values]
    elif name in _TABLES:
        values = natural_ranks(_TABLES[name](catalog).values[: int(values.max(initial=-1)) + 1])[values]
    return values.astype(np.int8) if values.dtype == np.bool_ else values


_TABLES: dict[str, Callable[[Catalog], StringTable]] = {
    "worker": lambda catalog: catalog.workers,
    "dtype": lambda catalog: catalog.dtypes,
    "device": lambda catalog: catalog.devices,
}


def _ranks(known: Sequence[Any]) -> Array:
    """The rank of each shape among all; equal shapes have equal ranks."""
    places = {shape: place for place, shape in enumerate(sorted(set(known)))}
    return np.array([places[shape] for shape in known], np.int64)
