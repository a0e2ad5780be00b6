"""Files with holes, which may claim any length and cost their sender nothing (`tar -S`): readers end."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tensortap.core.errors import DamagedError
from tensortap.core.records import Graph, Node
from tensortap.dump.format.events import EventsTail
from tensortap.dump.maintenance.integrity import check_graph_def
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.stats_reader import StatsTail
from tensortap.dump.write.writer import DumpWriter

HUGE = 1 << 40


@pytest.fixture
def run(tmp_path: Path) -> RunReader:
    with DumpWriter(tmp_path, "run") as writer:
        graph = writer.graph(Graph("g", [Node("x", "Relu")], graph_def=b"\n\x00"))
        writer.log("x:0", np.ones(3), step=0, graph=graph)
        writer.event("note", step=0)
    return RunReader(tmp_path / "run")


def _lengthen(run: RunReader, pattern: str) -> None:
    (path,) = run.path.glob(pattern)
    os.truncate(path, HUGE)


def test_statistics(run: RunReader) -> None:
    _lengthen(run, "*/stats-000000.arrows")
    tail = StatsTail(run.path, run.workers()[0].worker)
    assert sum(commit.batch.num_rows for commit in tail.poll()) == 1
    assert tail.pending is not None


def test_events(run: RunReader) -> None:
    _lengthen(run, "*/events-000000.jsonl")
    tail = EventsTail(run.path, run.workers()[0].worker)
    found = []
    while events := tail.poll():
        found += events
    assert "note" in [event["kind"] for event in found]
    assert tail.damage[-1].endswith("the events file is too long.")


def test_a_graph_def(run: RunReader) -> None:
    _lengthen(run, "graphs/*.pb")
    with pytest.raises(DamagedError, match="the limit of a GraphDef is 2 GiB"):
        check_graph_def(run, run.graph_ids()[0])
