"""What a tap wrote, read back through the dump room."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.names import tensor_name
from tensortap.core.records import Graph, Node
from tensortap.dump.format.events import EventsTail
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.values_reader import read_value, value_ref


@dataclass(frozen=True)
class Row:
    """One snapshot: the columns of FORMAT.md, and its value if it was kept."""

    columns: dict[str, Any]
    kept: np.ndarray[Any, Any] | None

    def __getattr__(self, column: str) -> Any:
        return self.columns[column]

    @property
    def value(self) -> np.ndarray[Any, Any]:
        assert self.kept is not None, f"only the summary of {self.name} was kept"
        return self.kept

    @property
    def name(self) -> str:
        return tensor_name(self.columns["node"], self.columns["slot"])


class Dumped:
    """All snapshots of a run in the order they were written, and its graphs."""

    def __init__(self, run_dir: Path) -> None:
        self.reader = RunReader(run_dir)
        self.rows: list[Row] = []
        self.dropped = 0
        for worker in self.reader.workers():
            tail = self.reader.tail(worker.worker)
            for commit in tail.poll():
                for index, columns in enumerate(commit.batch.to_pylist()):
                    ref = value_ref(self.reader.path, worker.worker, commit.batch, index)
                    self.rows.append(Row(columns, None if ref is None else read_value(ref)))
            self.dropped += tail.dropped

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind, of all workers."""
        workers = (worker.worker for worker in self.reader.workers())
        found = (event for worker in workers for event in EventsTail(self.reader.path, worker).poll())
        return [event for event in found if event["kind"] == kind]

    @property
    def steps(self) -> list[int]:
        return sorted({row.step for row in self.rows})

    @property
    def names(self) -> set[str]:
        return {row.name for row in self.rows}

    def at(self, name: str, step: int | None = None) -> list[Row]:
        """Snapshots of one tensor by step and visit."""
        found = [row for row in self.rows if row.name == name and step in (None, row.step)]
        return sorted(found, key=lambda row: (row.step, row.visit))

    def value(self, name: str, step: int = 0) -> np.ndarray[Any, Any]:
        """The only value of a tensor at a step."""
        (row,) = self.at(name, step)
        return row.value

    def graph(self, name: str | None = None) -> Graph:
        """The only graph (of that name)."""
        (graph,) = [graph for graph in self.graphs() if name in (None, graph.name)]
        return graph

    def graphs(self) -> list[Graph]:
        return [self.reader.graph(graph_id) for graph_id in self.reader.graph_ids()]

    def node(self, ending: str) -> Node:
        """The only node of any graph whose name ends so."""
        (node,) = [node for graph in self.graphs() for node in graph.nodes if node.name.endswith(ending)]
        return node
