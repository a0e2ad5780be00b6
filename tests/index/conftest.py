"""A run of the shared dump, as the index sees it."""

from __future__ import annotations

import pytest
from indexed_dump import write_indexed_dump

from tensortap.index.logdir_index import LogIndex


@pytest.fixture(scope="session")
def logdir(tmp_path_factory):
    return write_indexed_dump(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def log(logdir):
    index = LogIndex(logdir)
    index.refresh()
    return index


@pytest.fixture
def run(log):
    return log.runs[0]


@pytest.fixture
def graph_id(run):
    return next(graph.id for graph in run.graphs if graph.name == "train")
