"""Analyses in worker processes: the same results as here, and what was added to a growing run."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensortap.analysis.rules.runner import check_rules
from tensortap.core.errors import TensortapError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.server.jobs.analysis_worker import place_of
from tensortap.system.subprocess_worker import ChildPool

FINDINGS = {"mute": [], "table": {}}


@pytest.fixture(scope="module")
def workers() -> Iterator[ChildPool]:
    made = ChildPool("server.jobs.analysis_worker")
    yield made
    made.close()


def log_of(folder: Path) -> RunIndex:
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def ask(
    workers: ChildPool, run: RunIndex, seen: list[Any], what: str = "findings", options: Any = FINDINGS
) -> Any:
    request = {"what": what, "places": [place_of(run)], "options": options}
    found, damage = pickle.loads(workers.ask(request, progress=seen.append)[1])
    assert damage == run.damage
    return found


def test_the_result_is_that_of_this_process_and_grows_with_the_run(
    workers: ChildPool, tmp_path: Path
) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
        writer.flush()
        run, seen = log_of(tmp_path), list[Any]()
        before = ask(workers, run, seen)
        assert before == check_rules(run)
        assert seen[0] == [0, 0, "reading"]
        writer.log("a", np.array([np.nan, 1, 2], np.float32), step=1)
        writer.flush()
        after = ask(workers, run, seen)
    assert after == check_rules(log_of(tmp_path))
    assert after != before


def test_a_run_without_its_run_json_is_found_by_the_process(workers: ChildPool, tmp_path: Path) -> None:
    """Else its analyses would slow the server that asks for them."""
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.array([np.nan, 1], np.float32), step=0)
    run_dir = next(tmp_path.rglob("run.json")).parent
    (run_dir / "run.json").unlink()
    run = log_of(tmp_path)
    assert not run.described
    assert ask(workers, run, []) == check_rules(run)
    shutil.rmtree(run_dir)
    assert place_of(run) is None


def test_an_analysis_that_cannot_be_done_says_why(workers: ChildPool, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    run = log_of(tmp_path)
    with pytest.raises(TensortapError, match="no snapshot at step 7"):
        ask(workers, run, [], "nan", {"step": 7})
    assert ask(workers, run, []) == check_rules(run)
