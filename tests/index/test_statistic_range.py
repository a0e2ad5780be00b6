"""Between which numbers a statistic lies over all steps: whose snapshots count, and how much."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.index.series.step_statistics import StatisticRange, statistic_range

STEPS = 4


def run_of(folder: Path, values: dict[str, list[float]]) -> RunIndex:
    """A run of a graph whose nodes have one element a step, and another graph of larger ones."""
    with DumpWriter(folder, "r") as writer:
        graph = writer.graph(Graph("train", [Node(name, "Op", output_dtypes=["float32"]) for name in values]))
        for name, elements in values.items():
            for visit, element in enumerate(elements):
                value = np.array([element], np.float32)
                writer.log(f"{name}:0", value, step=visit % STEPS, visit=visit // STEPS, graph=graph)
        writer.log("elsewhere:0", np.array([9e9], np.float32), step=0)
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def range_of(run: RunIndex, statistic: str, **options: str) -> StatisticRange:
    """Of the graph that is no bare list of what was logged."""
    return statistic_range(
        run, next(graph.id for graph in run.graphs if graph.id != "-"), statistic, **options
    )


def test_all_steps_of_the_graph_count_and_what_is_not_finite_does_not(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"a": [1, -2, math.nan, math.inf], "b": [0, 3, 100, -7]})
    assert range_of(run, "max") == StatisticRange(-7, -7, 100, 100, True)
    assert range_of(run, "abs_max") == StatisticRange(1, 1, 100, 100, True)
    assert range_of(run_of(tmp_path / "no", {"a": [1, 5]}), "abs_max") == StatisticRange(1, 1, 5, 5, False)


def test_a_hundredth_at_each_end_does_not_stretch_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, {f"n{i}": [float(i)] * STEPS for i in range(-200, 201)})
    found = range_of(run, "mean")
    assert (found.least, found.largest) == (-200, 200)
    assert -198 <= found.low <= -195 and 195 <= found.high <= 198


def test_visits_of_a_loop_do_not_outvote_the_rest(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"loop": [5.0] * 400, "small": [0.001], "large": [1000.0]})
    assert range_of(run, "abs_max").low == pytest.approx(0.001)
    assert range_of(run, "abs_max").high == 1000


def test_where_nothing_counts_there_is_no_range(tmp_path: Path) -> None:
    found = range_of(run_of(tmp_path, {"a": [0.0], "b": [math.nan]}), "abs_max")
    assert math.isnan(found.low) and math.isnan(found.largest) and found.zeros


def test_what_cannot_be_asked_for_is_reported(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"a": [0.0]})
    with pytest.raises(SelectionError, match="median"):
        range_of(run, "median")
    with pytest.raises(NotFoundError):
        range_of(run, "max", worker="nobody")
    with pytest.raises(NotFoundError):
        statistic_range(run, "no graph", "max")
