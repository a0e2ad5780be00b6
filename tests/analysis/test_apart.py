"""Analyses in processes of their own: the same results, progress, an end to it, and what was added."""

from __future__ import annotations

import contextlib
import gc
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tensortap.analysis.rules.runner import check_rules
from tensortap.analysis.workers.pool import AnalystEndedError, Analysts
from tensortap.analysis.workers.tasks import Task, place_of
from tensortap.core.errors import TensortapError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex


@pytest.fixture(scope="module")
def analysts() -> Iterator[Analysts]:
    made = Analysts(most=1)
    yield made
    made.close()


def log_of(folder: Path) -> RunIndex:
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def ask(analysts: Analysts, run: RunIndex, told: list[str]) -> object:
    place = place_of(run)
    assert place is not None
    task = Task("findings", (place,), {"mute": [], "table": {}})
    return analysts.do(task, lambda done, total, doing: told.append(doing), lambda end: None)


def test_the_result_is_that_of_this_process_and_grows_with_the_run(
    analysts: Analysts, tmp_path: Path
) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
        writer.flush()
        run, told = log_of(tmp_path), list[str]()
        before = ask(analysts, run, told)
        assert before == check_rules(run)
        assert told[0] == "reading"
        writer.log("a", np.array([np.nan, 1, 2], np.float32), step=1)
        writer.flush()
        after = ask(analysts, run, told)
    assert after == check_rules(log_of(tmp_path))
    assert after != before


def test_a_run_without_its_run_json_is_found_by_the_process(analysts: Analysts, tmp_path: Path) -> None:
    """Else its analyses would slow the server that asks for them."""
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.array([np.nan, 1], np.float32), step=0)
    run_dir = next(tmp_path.rglob("run.json")).parent
    (run_dir / "run.json").unlink()
    run = log_of(tmp_path)
    assert not run.described
    assert ask(analysts, run, []) == check_rules(run)
    shutil.rmtree(run_dir)
    assert place_of(run) is None


def test_a_task_that_raises_leaves_the_process_for_the_next(analysts: Analysts, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    run = log_of(tmp_path)
    place = place_of(run)
    assert place is not None
    with pytest.raises(TensortapError, match="no snapshot at step 7"):
        analysts.do(Task("nan", (place,), {"step": 7}), lambda *_: None, lambda end: None)
    assert ask(analysts, run, []) == check_rules(run)


def test_work_is_ended_from_another_thread(analysts: Analysts, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    run = log_of(tmp_path)
    place = place_of(run)
    assert place is not None

    def end_soon(end: Callable[[], None] | None) -> None:
        if end is None:
            return
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()

    with pytest.raises(AnalystEndedError):
        analysts.do(Task("ledger", (place,)), lambda *_: None, end_soon)
    assert ask(analysts, run, []) == check_rules(run)


def test_a_process_that_rests_is_no_longer_ended_for_its_last_task(
    analysts: Analysts, tmp_path: Path
) -> None:
    """GIVEN a task that is through THEN what ends its process was taken back: another one may have that."""
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    run = log_of(tmp_path)
    place = place_of(run)
    assert place is not None
    ends: list[object] = []
    analysts.do(Task("ledger", (place,)), lambda *_: None, ends.append)
    assert callable(ends[0])
    assert ends[1:] == [None]


def test_a_process_that_ended_while_it_rested_is_not_lent(analysts: Analysts, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    run = log_of(tmp_path)
    place = place_of(run)
    assert place is not None
    ends: list[Callable[[], None] | None] = []
    analysts.do(Task("ledger", (place,)), lambda *_: None, ends.append)
    assert ends[0] is not None
    ends[0]()
    assert ask(analysts, run, []) == check_rules(run)


@pytest.mark.parametrize("how", ["closed", "idle", "ended at work", "found dead"])
def test_an_ended_process_leaves_no_pipe_open(tmp_path: Path, how: str) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    place = place_of(log_of(tmp_path))
    assert place is not None
    made = Analysts(most=1, idle=0.0 if how == "idle" else 300.0)
    ends = list[Callable[[], None] | None]()
    before = set(threading.enumerate())
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        with contextlib.suppress(AnalystEndedError):
            at_work = (lambda end: end and end()) if how == "ended at work" else ends.append
            made.do(Task("ledger", (place,)), lambda *_: None, at_work)
        if how == "found dead":
            assert ends[0] is not None
            ends[0]()
            made.do(Task("ledger", (place,)), lambda *_: None, ends.append)
        for thread in set(threading.enumerate()) - before if how == "idle" else ():
            thread.join()
        made.close()
        ends.clear()
        del made
        gc.collect()
    assert not [str(one.message) for one in told if one.category is ResourceWarning]
