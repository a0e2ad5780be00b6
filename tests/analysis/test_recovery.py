"""What makes an infinity finite again, and what only seems to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from synthetic_runs import X, node, synthetic_run

from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.core.records import Function, Graph
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex


def test_reading_a_shape_heals_nothing(tmp_path: Path) -> None:
    """GIVEN log(0), of which one node takes the shape, and another the exponential."""
    nodes = (
        X,
        node("log", "Log", "x"),
        node("shape", "Shape", "log", dtype="int32"),
        node("back", "Exp", "log"),
    )
    fed = [("x", np.float32([1, 0]), 0), ("log", np.float32([0, -np.inf]), 0), ("shape", np.int32([2]), 0)]
    report = nan_report(synthetic_run(tmp_path, nodes, [*fed, ("back", np.float32([1, 0]), 0)]))
    assert report.origins == []
    assert report.demoted[0].demoted.startswith("back (Exp) turns it into a finite number")


def test_what_reaches_a_tensor_at_a_later_visit_than_its_first_bad_one_is_followed(tmp_path: Path) -> None:
    """GIVEN a loop whose sum is infinite at once by one logarithm, at its second visit by another, and an
    exponential behind it."""
    nodes = (X, node("y", "Placeholder", kind="input"), node("log", "Log", "x"), node("late", "Log", "y"))
    nodes += (node("sum", "AddV2", "log", "late"), node("back", "Exp", "sum"))
    seen = {"x": [0, 1], "y": [1, 0], "log": [-np.inf, 0], "late": [0, -np.inf], "sum": [-np.inf] * 2}
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", list(nodes), functions={"": Function(outputs=[])}))
        for name, values in {**seen, "back": [0, 0]}.items():
            for visit, value in enumerate(values):
                writer.log(name, np.float32([value]), step=0, graph=graph, visit=visit)
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    reported = {origin.tensor: origin.demoted for origin in nan_report(run).demoted}
    assert reported.keys() == {"log:0", "late:0"}
    assert all(text.startswith("back (Exp) turns it into a finite number") for text in reported.values())
