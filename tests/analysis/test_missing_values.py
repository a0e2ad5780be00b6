"""Where values would tell more, what is said is why they are not there, and what helps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from two_dumps import node

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.side import Side
from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.core.records import Function, Graph
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

IMPORTED = {"imported from": "events", "format": "tfdbg2"}


def written(folder: Path, name: str, keep: str = "value", info: dict[str, str] | None = None) -> Path:
    """A run in which a logarithm of 0 is born, in values large enough for a file."""
    nodes = [node("x", "Placeholder"), node("y", "Log", "x"), node("loss", "Sum", "y")]
    with DumpWriter(folder, name, info=info or {}) as writer:
        graph = writer.graph(Graph("step", nodes, functions={"": Function()}))
        x = np.linspace(0, 1, 1000, dtype=np.float32)
        with np.errstate(divide="ignore"):
            values = {"x": x, "y": np.log(x), "loss": np.array(-np.inf, np.float32)}
        for tensor, value in values.items():
            writer.log(tensor, value, step=0, graph=graph, keep=keep)
    return folder / name


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, RunIndex]:
    written(tmp_path, "whole")
    written(tmp_path, "summaries", keep="summary")
    prune_run(written(tmp_path, "pruned"), Retention(max_bytes=1))
    written(tmp_path, "imported", keep="summary", info=IMPORTED)
    log = LogIndex(tmp_path)
    log.refresh()
    return {run.name: run for run in log.runs}


def test_a_origin_without_its_value_says_why(runs: dict[str, RunIndex]) -> None:
    notes = {name: " ".join(nan_report(run).notes) for name, run in runs.items()}
    assert "elements" not in notes["whole"]
    assert 'Capture with Watch(keep="value") to see the offending elements' in notes["summaries"]
    assert "the value of y:0 is pruned (it was removed to save space)." in notes["pruned"]
    assert "the imported data (tfdbg2) have no value for it" in notes["imported"]
    assert not any(
        "Watch" in notes[name] or "Only summaries" in notes[name] for name in ("pruned", "imported")
    )


def test_a_comparison_of_summaries_says_why(runs: dict[str, RunIndex]) -> None:
    def noted(a: str, b: str) -> str:
        (note,) = (n for n in compare(Side(runs[a]), Side(runs[b])).notes if "by summaries only" in n)
        assert "lower bounds" not in note  # they agree
        return note.partition("may still differ. ")[2]

    assert (
        noted("summaries", "summaries") == 'Capture with Watch(keep="value") in both runs for exact results.'
    )
    assert noted("whole", "summaries") == 'Capture with Watch(keep="value") in B for exact results.'
    assert noted("pruned", "whole") == "Values are missing: 2 pruned in A."
    assert noted("summaries", "pruned") == (
        'Values are missing: 2 pruned in B. Capture with Watch(keep="value") in A for exact results.'
    )
    assert "3 not in the imported data in B." in noted("whole", "imported")
