"""The graphs of a run: recorded ones are read on demand, others are built from their snapshots."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Ints
from tensortap.core.errors import DamagedError, DeniedError, NotFoundError, RemoteReadError
from tensortap.core.names import GRAPHS
from tensortap.core.text import did_you_mean
from tensortap.dump.read.runs import RunReader
from tensortap.storage.uri import is_remote

from .catalog.catalog import Catalog
from .catalog.tensor_table import NO_GRAPH, NO_GRAPH_NAME
from .graph.graph_index import GraphIndex
from .unknown_counts import at_least, not_counted_by_tensor

_KEPT = 8  # graphs of a run held in memory; one of 200,000 nodes takes some 150 MB
_ROWS_AT_ONCE = 1 << 20  # looked at, so that a large run takes no more memory than a small one


_Size = tuple[str, str, int, int, int]


@dataclass(frozen=True, slots=True)
class GraphOverview:
    """Summary of a graph. `nonfinite`: number of snapshots with NaN or infinity; None if none is known and
    the import format does not count them all. Steps: those with its snapshots. Workers: those that captured
    it, in the order of their first capture in this run.

    `way`: how its tensors were captured (`in-place`, `shadow`, or empty if that is unknown).
    """

    id: str
    name: str
    way: str
    nodes: int
    edges: int
    functions: int
    snapshots: int
    nonfinite: int | None
    first_step: int | None
    last_step: int | None
    step_count: int
    workers: list[str]


@dataclass(slots=True)
class _Held:
    graph: GraphIndex
    tensors: int  # captured tensors when it was last compared with the catalog


class GraphCache:
    """Graphs by id. Thread-safe."""

    def __init__(self, reader: RunReader, catalog: Catalog, node_counts: dict[str, int]) -> None:
        self.recorded: list[str] = []
        self.damage: dict[str, str] = {}
        self._unlisted: list[str] = []  # a sentence if the graphs cannot be listed
        self._refused: dict[str, str] = {}  # unreadable graphs -> a sentence
        self._reader, self._catalog = reader, catalog
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._sizes: dict[str, tuple[tuple[int, bool], _Size]] = {}
        self._node_counts = node_counts  # of recorded graphs, whose ids are hashes: shared by all runs
        self._not_counted: tuple[int, Ints] = (-1, np.zeros(0, np.int64))  # of how many rows
        self._workers: set[tuple[int, int]] = set()  # codes of a graph and of a worker that captured it
        self._seen_rows = 0  # the run of these
        self._lock = threading.RLock()

    def poll(self) -> None:
        """Looks for new graphs. Raises OSError: they cannot be listed, for another reason than
        permissions."""
        try:
            recorded, denied = self._reader.graph_ids(), []
        except PermissionError:
            recorded, denied = [], [str(DeniedError(GRAPHS))]
        self._unlisted = denied  # replaced, not changed, for concurrent readers
        for graph_id in list(self._refused):
            self._ask_again(graph_id)
        if is_remote(self._reader.path):  # requests for their sizes do not wait for an address
            for graph_id in recorded:
                if graph_id not in self._node_counts:
                    self._note_size(graph_id)
        self.recorded = recorded

    def _ask_again(self, graph_id: str) -> None:
        try:
            self._reader.graph_size(graph_id)
        except DeniedError:
            return
        except (DamagedError, NotFoundError, OSError):
            pass  # asking for it raises the reason
        del self._refused[graph_id]
        self._sizes.pop(graph_id, None)

    @property
    def denied(self) -> list[str]:
        """Sentences about unreadable graphs; they are read again later."""
        return self._unlisted + list(self._refused.values())

    @property
    def missing(self) -> list[str]:
        """Sentences about graphs that snapshots name, and that are not there."""
        if self._unlisted:
            return []
        named = dict.fromkeys(filter(None, self._catalog.tensors.graphs.values))
        return [_missing_text(graph) for graph in named if graph not in self.recorded]

    def get(self, graph_id: str) -> GraphIndex:
        """A graph, with all nodes that were captured so far.

        Raises:
            NotFoundError: neither was it recorded, nor do snapshots name it.
        """
        with self._lock:
            self.require(graph_id)
            codes = self._catalog.tensors.in_graph(graph_id)
            held = self._held.get(graph_id)
            if held is None or self._outdated(held, codes):
                held = _Held(self._build(graph_id, codes), len(codes))
            held.tensors = len(codes)
            self._held[graph_id] = held
            self._held.move_to_end(graph_id)
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
            return held.graph

    def require(self, graph_id: str) -> None:
        """Raises NotFoundError if a graph was neither recorded nor do snapshots name it."""
        if graph_id not in self.recorded and self._catalog.tensors.graph_code(graph_id) is None:
            hint = did_you_mean(graph_id, self.ids(), "List the run's graphs to see their ids.")
            raise NotFoundError(f"The run has no graph {graph_id[:200]!r}.", hint)

    def ids(self) -> list[str]:
        """All graphs: recorded, or named by snapshots."""
        tensors = self._catalog.tensors
        captured = [graph or NO_GRAPH for graph in tensors.graphs.values]
        return list(dict.fromkeys([*self.recorded, *captured]))

    def overviews(self) -> list[GraphOverview]:
        """Summaries of all graphs, the one with the most snapshots first."""
        tensors = self._catalog.tensors
        count = len(tensors)
        graph_of = tensors.columns(count)[0]
        of_tensors = (
            tensors.snapshots.totals(count),
            tensors.nonfinite.totals(count),
            self._uncounted(count),
        )
        totals = [np.bincount(graph_of, each, len(tensors.graphs)).astype(np.int64) for each in of_tensors]
        found = []
        for graph_id in self.ids():
            code = tensors.graph_code(graph_id)
            numbers = (0, 0, 0) if code is None else (int(total[code]) for total in totals)
            snapshots, nonfinite, not_counted = numbers
            steps = self._catalog.graph_steps.of(code).span()
            bad = at_least(nonfinite, not_counted)
            workers = self._workers_of(code)
            found.append(GraphOverview(graph_id, *self._size(graph_id), snapshots, bad, *steps, workers))
        return sorted(found, key=lambda graph: -graph.snapshots)

    def _workers_of(self, graph: int | None) -> list[str]:
        """The workers that captured tensors of a graph (by its code). Only new rows are checked."""
        catalog, seen = self._catalog, self._seen_rows
        if catalog.writers:
            return [catalog.workers[worker] for of, worker in sorted(catalog.writers) if of == graph]
        if seen < catalog.rows:
            graphs, width = catalog.tensors.columns(len(catalog.tensors))[0], len(catalog.workers)
            if width == 1:
                self._workers |= {(of, 0) for of in np.unique(graphs).tolist()}
            for start in range(seen, catalog.rows, _ROWS_AT_ONCE) if width > 1 else ():
                rows = slice(start, min(start + _ROWS_AT_ONCE, catalog.rows))
                of_rows = graphs[catalog.column("tensor", rows)].astype(np.int64)
                pairs = np.bincount(of_rows * width + catalog.column("worker", rows))
                self._workers |= {divmod(pair, width) for pair in np.flatnonzero(pairs).tolist()}
            self._seen_rows = catalog.rows
        return [catalog.workers[worker] for of, worker in sorted(self._workers) if of == graph]

    def _uncounted(self, count: int) -> Ints:
        """`not_counted_by_tensor` of the first tensors; recomputed when there are more snapshots."""
        rows, known = self._not_counted
        if rows != self._catalog.rows or len(known) < count:
            self._not_counted = self._catalog.rows, not_counted_by_tensor(self._catalog)
        return self._not_counted[1][:count]

    def nodes(self) -> int:
        """Nodes of all graphs together: recorded ones, and captured ones of unrecorded graphs."""
        return sum(self._count(graph_id) for graph_id in self.ids())

    def _count(self, graph_id: str) -> int:
        tensors = self._catalog.tensors
        if graph_id in self.recorded and graph_id not in self._node_counts:
            self._note_size(graph_id)
        if graph_id in self.recorded and graph_id in self._node_counts:
            return self._node_counts[graph_id]
        nodes = tensors.columns(len(tensors))[1]
        return int(np.count_nonzero(np.bincount(nodes[tensors.in_graph(graph_id)])))  # codes, from 0 on

    def _note_size(self, graph_id: str) -> None:
        if self._is_unreadable(graph_id):
            return
        try:
            self._node_counts[graph_id] = self._reader.graph_size(graph_id)
        except (DamagedError, NotFoundError) as error:
            self._note_damage(graph_id, error)
        except RemoteReadError:  # it is counted when its address answers again
            return
        except OSError as error:  # a failing disk: tried again with the next poll
            self._refused[graph_id] = f"graph {graph_id} cannot be read: {error.strerror}."

    def _note_damage(self, graph_id: str, error: DamagedError | NotFoundError) -> None:
        if isinstance(error, DeniedError):
            self._refused[graph_id] = f"graph {error}"
        else:
            self.damage[graph_id] = f"graph {graph_id}: {error.message}"

    def _is_unreadable(self, graph_id: str) -> bool:
        return graph_id in self.damage or graph_id in self._refused

    def _size(self, graph_id: str) -> _Size:
        """Name, way, nodes, edges and functions of a graph; read again when snapshots name new tensors."""
        version = (len(self._catalog.tensors.in_graph(graph_id)), graph_id in self.recorded)
        known = self._sizes.get(graph_id)
        if known is None or known[0] != version:
            graph = self.get(graph_id)
            known = (version, (graph.name, graph.way, len(graph), len(graph.edges), len(graph.functions)))
            self._sizes[graph_id] = known
        return known[1]

    def _outdated(self, held: _Held, codes: np.ndarray[Any, np.dtype[np.int32]]) -> bool:
        graph_id = held.graph.id
        if held.graph.table is None and graph_id in self.recorded and not self._is_unreadable(graph_id):
            return True
        if held.tensors == len(codes):
            return False
        return not held.graph.rows.keys() >= set(self._catalog.tensors.nodes_and_slots(codes)[0])

    def _build(self, graph_id: str, codes: np.ndarray[Any, np.dtype[np.int32]]) -> GraphIndex:
        table, about = self._read(graph_id)
        nodes, slots = self._catalog.tensors.nodes_and_slots(codes)

        @cache
        def forms() -> dict[str, dict[int, tuple[str, str]]]:  # for nodes that were not recorded
            known = self._last_forms(codes)
            of_node: dict[str, dict[int, tuple[str, str]]] = {}
            for node, slot, code in zip(nodes, slots.tolist(), codes.tolist(), strict=True):
                of_node.setdefault(node, {})[slot] = known[code]
            return of_node

        captured = dict.fromkeys(nodes)
        return GraphIndex(graph_id, table, about, list(captured), lambda node: _by_slot(forms()[node]))

    def _read(self, graph_id: str) -> tuple[pa.RecordBatch | None, dict[str, Any]]:
        if graph_id == NO_GRAPH:
            return None, {"name": NO_GRAPH_NAME}
        if graph_id not in self.recorded or self._is_unreadable(graph_id):
            why = self.damage.get(graph_id) or self._refused.get(graph_id)
            return None, {"damage": why or _missing_text(graph_id)}
        try:
            return self._reader.graph_table(graph_id)
        except (DamagedError, NotFoundError) as error:
            self._note_damage(graph_id, error)
            return None, {"damage": f"graph {graph_id}: {error.message}"}

    def _last_forms(self, codes: np.ndarray[Any, np.dtype[np.int32]]) -> dict[int, tuple[str, str]]:
        """(dtype, shape as JSON) of tensors' latest snapshots."""
        rows = np.array([self._catalog.last_row(code) for code in codes.tolist()], np.int64)
        dtypes, shapes = (self._catalog.column(name, rows).tolist() for name in ("dtype", "shape"))
        text = cache(lambda shape: str(list(self._catalog.shapes.values[shape])))
        names = self._catalog.dtypes.values
        return {
            code: (names[dtype], text(shape))
            for code, dtype, shape in zip(codes.tolist(), dtypes, shapes, strict=True)
        }


def _missing_text(graph_id: str) -> str:
    return f"graph {graph_id}: its file is missing."


def _by_slot(known: dict[int, tuple[str, str]]) -> list[tuple[str, str]]:
    """Slots 0 to the highest known one (but not thousands of unknown ones below a made-up number)."""
    if max(known) >= 10 * len(known) + 100:
        return [known[slot] for slot in sorted(known)]
    return [known.get(slot, ("", "")) for slot in range(max(known) + 1)]
