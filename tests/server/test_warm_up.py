"""The newest run's graph is there before a page asks."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.server.app import create_app
from tensortap.server.warm_up import warm_up

PATIENCE = 60.0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[GraphIndex]:
    """The graphs whose answers were made."""
    graphs: list[GraphIndex] = []
    monkeypatch.setattr("tensortap.server.warm_up.encoded_graph", graphs.append)
    return graphs


def write(logdir: Path, run: str, node: str, value: float) -> None:
    with DumpWriter(logdir, run=run) as writer:
        graph = writer.graph(Graph(name=f"graph_of_{run}", nodes=[Node(node, "Const")]))
        writer.log(f"{node}:0", [value], step=0, graph=graph)


def test_the_newest_run_is_read_and_its_graph_encoded(tmp_path: Path, made: list[GraphIndex]) -> None:
    for value, run in enumerate(["older", "newer"]):
        write(tmp_path, run, "x", float(value))
    app = create_app(tmp_path, token=None)
    newest = app.test_client().get("/api/runs").json["runs"][0]
    warm_up(app).join(PATIENCE)
    assert [graph.name for graph in made] == [f"graph_of_{newest['name']}"]


def test_without_runs_there_is_nothing_to_do(
    tmp_path: Path, made: list[GraphIndex], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warm_up(create_app(tmp_path, token=None)).join(PATIENCE)
    assert not made
    assert not caplog.records
