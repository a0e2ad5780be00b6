"""Workers of one run: which one leaves the others, where and when, and which ones are missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compacted import compact
from synthetic_runs import TRAINING, findings_of, node

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.side import Side
from tensortap.analysis.rules.runner import Findings, check_rules
from tensortap.analysis.run_view.run_view import RunView
from tensortap.compact import compactor, parts
from tensortap.core.dtypes import Array
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex, open_run

Values = Callable[[int, int], Array]  # (worker, step) -> what it holds
KERNEL = np.linspace(-1, 1, 64).astype(np.float32)


def job(
    folder: Path, workers: int, tensors: dict[str, Values], nodes: tuple[Node, ...] = TRAINING
) -> RunIndex:
    for rank in range(workers):
        with DumpWriter(folder, run="job", rank=rank) as writer:
            graph = writer.graph(Graph("step", list(nodes), functions={"": Function()})) if nodes else ""
            for step in range(12):
                for name, values in tensors.items():
                    writer.log(name, values(rank, step), step=step, graph=graph)
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def one_leaves(rank: int, step: int) -> Array:
    """Worker 3 misses the update of one element from step 7 on."""
    kernel = KERNEL * np.float32(0.9**step)
    if rank == 3 and step >= 7:
        kernel[5] += np.float32(1e-6)
    return kernel


def equal(rank: int, step: int) -> Array:
    return KERNEL * np.float32(0.8**step)


def own(rank: int, step: int) -> Array:
    return KERNEL * np.float32(1 + rank + step)


@pytest.mark.parametrize("nodes", [TRAINING, ()])
def test_the_worker_that_leaves_is_named(tmp_path: Path, nodes: tuple[Node, ...]) -> None:
    """GIVEN 8 workers with and without a graph, batches of their own, and one whose kernel drifts."""
    (found,) = findings_of(
        "ReplicaDrift", job(tmp_path, 8, {"w": one_leaves, "x": own, "loss": equal}, nodes)
    )
    assert found.severity == "high"
    assert found.text.startswith(f"{'dense/kernel' if nodes else 'w:0'} of worker 3 differs from that of the")
    assert "the other 7 workers from step 7 on" in found.text
    assert (found.first_step, found.last_step, found.steps, found.of) == (7, 11, 5, 12)


def test_two_workers_are_compared_where_their_weights_part(tmp_path: Path) -> None:
    """GIVEN batches that differ from step 0 on."""
    run = job(tmp_path, 4, {"w": one_leaves, "x": own, "loss": own})
    workers = [worker.id for worker in run.workers]
    found = compare(Side(run, worker=workers[0]), Side(run, worker=workers[3]))
    assert (found.a.step, found.differ) == (7, True)
    assert found.first is not None
    assert found.first.difference.tensor == "w:0"
    assert found.first.text.endswith("differ at step 7; they are equal at 7 earlier steps.")
    assert "4 later steps were not compared." in found.notes
    alike = compare(Side(run, worker=workers[0]), Side(run, worker=workers[1]))
    assert (alike.a.step, alike.differ) == (0, True)
    assert alike.notes[0].startswith("1 weight or all-reduced gradient of both workers")
    assert "equal at 12 steps" in alike.notes[0]


def test_a_compacted_copy_reads_only_tensors_that_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a compacted copy WHEN rules run THEN drift is as in the whole job, and equal weights are not
    read."""
    bias = node("b", "ReadVariableOp", kind="weight", of="dense/bias")
    expected = findings_of(
        "ReplicaDrift", job(tmp_path, 8, {"w": one_leaves, "b": equal, "x": own}, (*TRAINING, bias))
    )
    compact(tmp_path / "job")
    for folder in tmp_path.glob("job/*-*/"):
        shutil.rmtree(folder)
    log = LogIndex(tmp_path)
    log.refresh()
    seen: list[str] = []
    rows = RunView.rows
    monkeypatch.setattr(
        RunView,
        "rows",
        lambda self, tensors, **rest: seen.extend(t.name for t in tensors) or rows(self, tensors, **rest),
    )
    assert findings_of("ReplicaDrift", log.runs[0]) == expected
    assert "w:0" in seen
    assert "b:0" not in seen


def test_a_drift_is_published_before_the_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a compacted copy of many parts that was opened, but not read WHEN rules run THEN a drift is known
    before the rows are read, and is the same afterwards."""
    names = [f"x{number}" for number in range(12)]
    nodes = (*TRAINING, *(node(name, "Relu") for name in names))
    expected = check_rules(job(tmp_path, 8, {"w": one_leaves, **dict.fromkeys(names, own)}, nodes))
    monkeypatch.setattr(compactor, "PART_BYTES", 20_000)
    monkeypatch.setattr(parts, "_ROW_GROUP", 40)
    assert compact(tmp_path / "job").parts > 3
    for folder in tmp_path.glob("job/*-*/"):
        shutil.rmtree(folder)
    run = open_run(tmp_path / "job", "job", "job")
    run.poll()
    early: list[Findings] = []
    unread: list[int] = []
    found = check_rules(run, publish=early.append, wait=lambda: unread.append(run.progress()[0]))
    assert early[0].findings == [each for each in expected.findings if each.rule == "ReplicaDrift"]
    assert len(early) == early[0].rules == 1
    assert unread[0] == 0
    assert run.progress()[0] > 0
    assert found == expected


def test_tensors_that_follow_are_counted(tmp_path: Path) -> None:
    bias = node("b", "ReadVariableOp", kind="weight", of="dense/bias")

    def later(rank: int, step: int) -> Array:
        return one_leaves(rank, step) if step >= 9 else equal(rank, step)

    (found,) = findings_of("ReplicaDrift", job(tmp_path, 5, {"w": one_leaves, "b": later}, (*TRAINING, bias)))
    assert found.tensor == "w:0"
    assert found.text.endswith("1 other tensor also differs, the first from step 9 on.")


def test_two_workers_that_part_are_both_named(tmp_path: Path) -> None:
    def parts(rank: int, step: int) -> Array:
        return one_leaves(3 * rank, step)

    (found,) = findings_of("ReplicaDrift", job(tmp_path, 2, {"w": parts}))
    assert found.severity == "medium"
    assert "differs between the two workers from step 7 on" in found.text


def test_a_worker_that_began_elsewhere_is_named(tmp_path: Path) -> None:
    def restored(rank: int, step: int) -> Array:
        return equal(rank, step + (rank == 1))

    (found,) = findings_of("ReplicaDrift", job(tmp_path, 4, {"w": restored}))
    assert "of worker 1 differs" in found.text
    assert found.first_step == 0


@pytest.mark.parametrize("workers", [1, 2, 6])
@pytest.mark.parametrize("values", [equal, own])
def test_workers_in_step_and_workers_on_their_own_are_fine(
    tmp_path: Path, workers: int, values: Values
) -> None:
    assert findings_of("ReplicaDrift", job(tmp_path, workers, {"w": values})) == []


def test_moving_averages_are_each_workers_own(tmp_path: Path) -> None:
    average = node("m", "ReadVariableOp", kind="weight", of="norm/moving_mean")
    assert findings_of("ReplicaDrift", job(tmp_path, 5, {"m": one_leaves}, (*TRAINING, average))) == []


def test_sums_that_differ_by_rounding_agree(tmp_path: Path) -> None:
    """GIVEN a worker whose processor adds in another order."""
    large = np.float64(1e8)

    def rounded(rank: int, step: int) -> Array:
        return np.array([large + step, large * (1 + 1e-14 * (rank == 2)), -1.0, 2 * large])

    assert findings_of("ReplicaDrift", job(tmp_path, 4, {"w": rounded})) == []


def ranks(folder: Path, reached: dict[int, int]) -> RunIndex:
    """A run whose workers of these ranks captured so many steps."""
    for rank, steps in reached.items():
        with DumpWriter(folder, run="job", rank=rank) as writer:
            for step in range(steps):
                writer.log("x", KERNEL + np.float32(rank), step=step)
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


@pytest.mark.parametrize(
    ("reached", "texts"),
    [
        ({0: 9, 1: 9, 2: 9}, []),
        ({0: 9, 1: 7, 2: 9}, []),  # it may just be a little slower
        (
            {0: 9, 1: 4, 2: 9},
            ["Worker 1 wrote nothing after step 3; the 2 other workers continued to step 8."],
        ),
        ({0: 9, 3: 9, 4: 9}, ["Workers 1, 2 wrote no snapshot; the 3 other workers continued to step 8."]),
        ({0: 9, 1: 90, 2: 9}, []),  # it is the one that continued alone
    ],
)
def test_missing_workers(tmp_path: Path, reached: dict[int, int], texts: list[str]) -> None:
    assert [found.text for found in findings_of("MissingWorker", ranks(tmp_path, reached))] == texts


def test_a_worker_that_was_started_again_is_not_missing(tmp_path: Path) -> None:
    ranks(tmp_path, {0: 4, 1: 9, 2: 9})
    assert findings_of("MissingWorker", ranks(tmp_path, {0: 9})) == []


def timed(folder: Path, workers: int, steps: int, seconds: Callable[[int, int], float]) -> RunIndex:
    """A run whose workers take so long for a step, each by a clock of its own."""
    for rank in range(workers):
        clock = 1e9 + 1000 * rank
        with DumpWriter(folder, run="job", rank=rank) as writer:
            for step in range(0, 2 * steps, 2):
                writer.log("x", KERNEL, step=step, time=clock)
                writer.log("y", KERNEL, step=step, time=clock + 0.01)
                clock += 2 * seconds(rank, step)
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def test_a_worker_that_keeps_up_slowly_is_named(tmp_path: Path) -> None:
    def seconds(rank: int, step: int) -> float:
        return 0.5 * (1.5 if rank == 3 else 1) * (4 if step == 6 else 1)  # all wait once, as for a checkpoint

    (found,) = findings_of("SlowWorker", timed(tmp_path, 6, 8, seconds))
    assert found.text == (
        "A step of worker 3 takes 1.5 times as long as that of the other 5 workers: 0.75 s instead of 0.5 s."
    )
    assert (found.first_step, found.last_step, found.steps, found.of) == (2, 14, 7, 7)


@pytest.mark.parametrize(("workers", "steps"), [(2, 8), (6, 5), (6, 1)])
def test_of_few_workers_or_steps_none_is_slow(tmp_path: Path, workers: int, steps: int) -> None:
    assert findings_of("SlowWorker", timed(tmp_path, workers, steps, lambda rank, _: 1.0 + rank % 2)) == []


def test_workers_that_vary_and_clocks_that_are_set_back_are_fine(tmp_path: Path) -> None:
    def seconds(rank: int, step: int) -> float:
        return -3600.0 if (rank, step) == (2, 8) else 0.5 + 0.4 * ((rank + step // 2) % 3 == 0)

    assert findings_of("SlowWorker", timed(tmp_path, 6, 30, seconds)) == []
