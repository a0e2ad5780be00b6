"""What a source calls its runs becomes names under which they are found."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.core.errors import InvalidNameError
from tensortap.dump.read.runs import find_runs
from tensortap.importers.run_builder import RunBuilder, run_name_of


def imported(logdir, run, belows):
    target = RunBuilder(logdir, run, "test", "source", lambda text: None)
    for below in belows:
        with target.writer(below) as out:
            assert out.log("x", np.ones(2), step=0)
    return target.finish()


def test_every_run_that_is_reported_is_found(tmp_path):
    belows = ["", "x/y/z/deep", "ok", "ok/graphs", "node1-4711-0a1b2c3d", "x/y/z-deep", "..", "a\\b"]
    done = imported(tmp_path, "tb", belows)
    assert sorted(done.runs) == [name for name, _ in find_runs(tmp_path)]
    assert done.runs == [
        "tb",
        "tb/x/y/z-deep",
        "tb/ok",
        "tb/ok/graphs_",
        "tb/node1-4711-0a1b2c3d_",
        "tb/x/y/z-deep-2",
        "tb/run",
        "tb/a_b",
    ]
    assert "'x/y/z/deep' in the source is imported as the run 'tb/x/y/z-deep'" in done.notes[0]
    assert done.notes[-1] == "3 more: runs renamed."


def test_a_name_that_leaves_no_room_for_runs_below_it(tmp_path):
    with pytest.raises(InvalidNameError, match="already has 4 folders"):
        imported(tmp_path, "a/b/c/d", ["train"])


def test_a_source_of_any_name_has_a_run_name():
    assert run_name_of("graphs") == "graphs_"
    assert run_name_of("node1-4711-0a1b2c3d") == "node1-4711-0a1b2c3d_"
    assert run_name_of("a/b/c/d/e/f") == "a/b/c/d-e-f"
    assert run_name_of(" ./.. ") == "run"
