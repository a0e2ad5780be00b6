"""The captured tensors of a run: a code for each (graph, node, slot), and totals of its snapshots."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from tensortap.core.dtypes import Array, Int32s
from tensortap.core.names import tensor_name
from tensortap.core.text import natural_ranks

from .columns import GrowingColumn, StringTable, factorize_rows
from .step_totals import Tally

NO_GRAPH = "-"
NO_GRAPH_NAME = "without a graph"  # in menus; sentences do not put "of" before it


class TensorTable:
    """Codes of (graph, node, slot), in order of first capture; graph and node are codes themselves."""

    def __init__(self) -> None:
        self.graphs = StringTable()
        self.nodes = StringTable()
        self.names: list[str] = []
        self.snapshots, self.kept, self.nonfinite = Tally(), Tally(), Tally()
        self._graph, self._node, self._slot = (GrowingColumn(np.int32) for _ in range(3))
        self._last_row = GrowingColumn(np.int64)
        self._codes: dict[tuple[int, int, int], int] = {}
        self._by_name: dict[str, list[int]] = {}
        self._lock = threading.Lock()
        self._sorted: list[str] = []
        self._ranks = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, graph: Int32s, node: Int32s, slot: Int32s) -> Int32s:
        """The codes of rows given by graph code, node code and slot; assigns new ones as needed."""
        if not len(graph):
            return np.zeros(0, np.int32)
        codes, first = factorize_rows((graph, node, slot))
        return self._intern(graph[first], node[first], slot[first])[codes]

    def _intern(self, graph: Int32s, node: Int32s, slot: Int32s) -> Int32s:
        """The codes of distinct rows, new ones where needed; in bulk, as a graph has 100,000 of them."""
        keys = list(zip(graph.tolist(), node.tolist(), slot.tolist(), strict=True))
        codes = np.array([self._codes.get(key, -1) for key in keys], np.int32)
        new, count = np.flatnonzero(codes < 0), len(self.names)
        codes[new] = np.arange(count, count + len(new))
        added = [keys[at] for at in new.tolist()]
        self._codes.update(zip(added, range(count, count + len(new)), strict=True))
        texts = self.nodes.values
        names = [tensor_name(texts[node_code], slot_number) for _, node_code, slot_number in added]
        for column, values in ((self._graph, graph), (self._node, node), (self._slot, slot)):
            column.extend(values[new])
        for code, name in enumerate(names, count):
            self._by_name.setdefault(name, []).append(code)
        self.names += names  # last, because readers may request as many tensors as there are names
        return codes

    def arrays(self) -> dict[str, Array]:
        """Everything but the strings, for `restore`."""
        count = len(self)
        tallies = {"snapshots": self.snapshots, "kept": self.kept, "nonfinite": self.nonfinite}
        columns = {"graph": self._graph, "node": self._node, "slot": self._slot, "last_row": self._last_row}
        views = {name: column.view() for name, column in columns.items()}
        return views | {name: tally.totals(count) for name, tally in tallies.items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restores the output of `arrays` into an empty table with known strings."""
        self._intern(arrays["graph"], arrays["node"], arrays["slot"])
        self._last_row.extend(arrays["last_row"])
        for name in ("snapshots", "kept", "nonfinite"):
            getattr(self, name).restore(arrays[name])

    def note_rows(self, codes: Int32s, first_row: int) -> None:
        """Updates the last row of each tensor; `codes` belong to the rows from `first_row`."""
        missing = len(self.names) - len(self._last_row)
        self._last_row.extend(np.full(missing, -1, np.int64))
        self._last_row.view()[codes] = np.arange(first_row, first_row + len(codes))

    def last_row(self, code: int) -> int:
        """The row of a tensor's latest snapshot."""
        return int(self._last_row.view()[code])

    def in_graph(self, graph_id: str) -> Int32s:
        """The codes of the tensors captured in a graph."""
        graph = self.graph_code(graph_id)
        found: Int32s = np.flatnonzero(self._graph.view() == (-1 if graph is None else graph)).astype(
            np.int32
        )
        return found

    def of_node(self, graph_id: str, node: str) -> list[int]:
        """The codes of a node's captured tensors."""
        code = self.nodes.code(node)
        codes = self.in_graph(graph_id)
        found: list[int] = codes[self._node.view()[codes] == (-1 if code is None else code)].tolist()
        return found

    def named(self, name: str) -> list[int]:
        """The codes of a tensor name, one for each graph it was captured in."""
        return list(self._by_name.get(name, ()))

    def graph_of(self, code: int) -> str:
        """The graph id of a tensor, `-` without one."""
        return self.graphs[int(self._graph.view()[code])] or NO_GRAPH

    def graphs_of(self, codes: Int32s) -> list[str]:
        """The graph ids of some tensors, `-` without one."""
        ids = [graph_id or NO_GRAPH for graph_id in self.graphs.values]
        return [ids[graph] for graph in self._graph.view()[codes].tolist()]

    def node_and_slot(self, code: int) -> tuple[str, int]:
        """The node name and output slot of a tensor."""
        return self.nodes[int(self._node.view()[code])], int(self._slot.view()[code])

    def nodes_and_slots(self, codes: Int32s) -> tuple[list[str], Int32s]:
        """The node names and output slots of some tensors."""
        names = self.nodes.values
        return [names[node] for node in self._node.view()[codes].tolist()], self._slot.view()[codes]

    def graph_code(self, graph_id: str) -> int | None:
        """The code of a graph id with captured tensors."""
        return self.graphs.code("" if graph_id == NO_GRAPH else graph_id)

    def columns(self, length: int) -> tuple[Int32s, Int32s, Int32s]:
        """Graph code, node code and slot of the first `length` tensors."""
        return self._graph.view(length), self._node.view(length), self._slot.view(length)

    def sorted_names(self) -> list[str]:
        """All distinct tensor names, ascending."""
        with self._lock:
            if len(self._sorted) != len(self._by_name):
                self._sorted = sorted(self._by_name.copy())
            return self._sorted

    def ranks(self) -> Array:
        """The rank of each tensor's name in natural order, int64 [count]; cached until tensors are added."""
        with self._lock:
            if len(self._ranks) != len(self.names):
                self._ranks = natural_ranks(self.names.copy())
            return self._ranks
