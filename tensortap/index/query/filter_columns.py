"""Rows of the catalog as conditions see them: numbers by column, texts by their few distinct values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensortap.core.dtypes import Array, Mask
from tensortap.core.text import natural_ranks

from ..catalog.columns import Coded
from ..catalog.tensor_table import NO_GRAPH
from ..graph.graph_index import GraphIndex
from ..run_index import RunIndex
from ..unknown_counts import unknown_counts
from .filter_expressions import FitsTexts

_SLOTS = 1 << 16  # more outputs than any op has
NODE_TEXTS: dict[str, Callable[[GraphIndex], Coded]] = {
    "op": lambda graph: graph.op_type,
    "op_type": lambda graph: graph.op_type,
    "layer": lambda graph: graph.layer,
}


class CatalogColumns:
    """The columns of some snapshots of a run, as conditions read them."""

    def __init__(self, run: RunIndex, rows: Array | slice) -> None:
        self._run, self._rows = run, rows
        self._unknown = unknown_counts(run.catalog, rows)

    def number(self, field: str) -> Array:
        return self._run.catalog.column(field, self._rows)

    def unknown(self, field: str) -> Mask | None:
        return self._unknown.get(field)

    def text(self, field: str, fits: FitsTexts) -> Mask:
        catalog = self._run.catalog
        if field in ("dtype", "device", "worker"):
            table = {"dtype": catalog.dtypes, "device": catalog.devices, "worker": catalog.workers}[field]
            codes = catalog.column(field, self._rows)
            return fits(table.values[: int(codes.max(initial=-1)) + 1])[codes]
        tensor = catalog.column("tensor", self._rows)
        return self._by_tensor(field, fits, int(tensor.max(initial=-1)) + 1)[tensor]

    def _by_tensor(self, field: str, fits: FitsTexts, count: int) -> Mask:
        tensors = self._run.catalog.tensors
        if field == "tensor":
            return fits(tensors.names[:count])
        if field in NODE_TEXTS:
            column = NODE_TEXTS[field]
            return tensors_by_node(
                self._run, count, lambda graph: _fitting(column(graph), fits), otherwise=bool(fits([""])[0])
            )
        graph, node, _ = tensors.columns(count)
        graphs = [graph_id or NO_GRAPH for graph_id in tensors.graphs.values]
        codes, values = (graph, graphs) if field == "graph" else (node, tensors.nodes.values)
        found: Mask = fits(values[: int(codes.max(initial=-1)) + 1])[codes]
        return found


def _fitting(texts: Coded, fits: FitsTexts) -> Mask:
    found: Mask = fits(texts.values)[texts.codes]
    return found


def tensors_by_node(
    run: RunIndex, count: int, fits: Callable[[GraphIndex], Mask], *, otherwise: bool = False
) -> Mask:
    """Which of the first `count` tensors have a node that fits, bool [count].

    Args:
        fits: which nodes of a graph fit, bool [nodes].
        otherwise: the result for tensors without a node in a recorded graph.
    """
    tensors = run.catalog.tensors
    mask = np.full(count, otherwise, np.bool_)
    for overview in run.graphs:
        graph = run.graph(overview.id)
        nodes = fits(graph)
        for code in tensors.in_graph(graph.id).tolist():
            row = graph.rows.get(tensors.node_and_slot(code)[0])
            if row is not None and code < count:
                mask[code] = nodes[row]
    return mask


def flow_ranks(run: RunIndex, codes: Array) -> Array:
    """The position of each tensor in data flow order, graph by graph, int64 [codes]; unrecorded nodes come
    last.

    Args:
        codes: of tensors. Only the graphs that captured one of them are read.
    """
    tensors = run.catalog.tensors
    if not len(codes):
        return np.zeros(0, np.int64)
    graph, _, slot = tensors.columns(int(codes.max()) + 1)
    ranks = np.full(len(graph), np.iinfo(np.int64).max, np.int64)
    first = 0
    for graph_code in np.unique(graph[codes]).tolist():
        found = run.graph(tensors.graphs[graph_code] or NO_GRAPH)
        order = found.program_order
        here = np.unique(codes[graph[codes] == graph_code])
        names, _ = tensors.nodes_and_slots(here)
        rows = np.array([found.rows.get(name, -1) for name in names], np.int64)
        known = rows >= 0
        ranks[here[known]] = first + order[rows[known]].astype(np.int64) * _SLOTS + slot[here[known]]
        first += len(found) * _SLOTS
    result: Array = ranks[codes]
    return result


def text_ranks(run: RunIndex, count: int, field: str) -> Array:
    """The rank of a text of each of the first `count` tensors' nodes in natural order, int64 [count].

    Args:
        field: one of `NODE_TEXTS`; the text is empty for tensors without a node in a recorded graph.
    """
    tensors = run.catalog.tensors
    texts = [""] * count
    for overview in run.graphs:
        graph = run.graph(overview.id)
        column = NODE_TEXTS[field](graph)
        for code in tensors.in_graph(graph.id).tolist():
            row = graph.rows.get(tensors.node_and_slot(code)[0])
            if row is not None and code < count:
                texts[code] = column[row]
    return natural_ranks(texts)
