"""What rules and the ledger say of a run that has grown is what they say of it at a first look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, Fed, findings_of, node, synthetic_run

from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.analysis.rules.runner import check_rules
from tensortap.analysis.rules.settings import Settings, parse_settings
from tensortap.analysis.rules.unchanged_stretches import STATISTICS, Stretches
from tensortap.analysis.run_view.incremental_state import AnalysisCache, memory_of
from tensortap.analysis.run_view.run_view import RunView
from tensortap.analysis.run_view.snapshot_rows import SnapshotRows
from tensortap.core.records import Function, Graph
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

NODES = (
    *TRAINING,
    node("relu", "Relu", "product", kind="output"),
    node("tanh", "Tanh", "product", kind="output"),
    node("v", "ReadVariableOp", kind="weight", of="dense_1/kernel"),
    node("gradient_tape/h", "ReluGrad", "gradient_tape/g", kind="gradient", of="dense_1/kernel"),
    node("rate", "ReadVariableOp", kind="weight", of="optimizer/learning_rate"),
    node("half", "Cast", "product", dtype="float16", kind="output"),
)
SETTINGS = parse_settings({"Often": {"where": "abs_max > 0.5", "share": 0.3, "kind": "weight"}})


def made_values(rng: np.random.Generator, name: str, step: int) -> Any:
    """What a node holds at a step: sometimes what rules wait for."""
    kind = rng.integers(6)
    shape = () if name in ("loss", "rate") else (4, 6)
    value = rng.normal(size=shape) * 10.0 ** rng.uniform(-9, 4)
    if kind == 0:
        value = np.zeros(shape)
    elif kind == 1:
        value = np.ones(shape) * 0.25 * (1 + step // 7)  # stays for a while
    elif kind == 2 and name not in ("w", "v"):
        value = np.where(rng.random(shape) < 0.2, np.nan if step > 20 else np.inf, value)
    elif kind == 3:
        value = np.full(shape, 30.0)
    return np.asarray(value, np.float16 if name == "half" else np.float32)


def grown(folder: Path, seed: int) -> Iterator[RunIndex]:
    """A run again and again while several workers write it: steps that repeat, late tensors, rows of
    old steps."""
    rng = np.random.default_rng(seed)
    with ExitStack() as open_files:
        writers = [open_files.enter_context(DumpWriter(folder, run="made")) for _ in range(1 + seed % 3)]
        functions = {"": Function(outputs=["loss:0"])}
        graphs = [writer.graph(Graph("step", list(NODES), functions=functions)) for writer in writers]
        log, step = LogIndex(folder), 0
        for look in range(6):
            for _ in range(int(rng.integers(1, 12))):
                number = int(rng.integers(len(writers)))
                step += int(rng.integers(0, 3))
                at = step if rng.random() < 0.9 else int(rng.integers(step + 1))
                for each in rng.permutation(len(NODES))[: rng.integers(3, len(NODES) + 1)].tolist():
                    if each % 6 <= look:
                        value = made_values(rng, NODES[each].name, at)
                        keep = "value" if rng.random() < 0.5 else "summary"
                        writers[number].log(
                            f"{NODES[each].name}:0", value, step=at, graph=graphs[number], keep=keep
                        )
            for writer in writers:
                writer.flush()
            log.refresh()
            yield log.runs[0]


def cold(run: RunIndex, settings: Settings | None = None) -> tuple[Any, Any]:
    """What is said of a run by who remembers nothing."""
    with memory_of(run):
        return check_rules(run, settings), dead_layer_ledger(run)


@pytest.mark.parametrize("seed", range(6))
def test_findings_of_a_grown_run_are_those_of_a_first_look(tmp_path: Path, seed: int) -> None:
    found = set[str]()
    for run in grown(tmp_path, seed):
        again = check_rules(run, SETTINGS), dead_layer_ledger(run)
        assert again == cold(run, SETTINGS)
        assert not again[0].failed
        found |= {finding.rule for finding in again[0].findings}
    assert len(found) > 5
    log = LogIndex(tmp_path)
    log.refresh()
    if seed % 3 == 0:  # of several workers, snapshots are found in another order
        assert check_rules(log.runs[0], SETTINGS) == again[0]


def test_only_what_was_added_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = SnapshotRows._read
    monkeypatch.setattr(
        SnapshotRows, "_read", lambda rows, column: [original(rows, column), read.append(len(rows))][0]
    )
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", list(TRAINING)))
        log, read_at = LogIndex(tmp_path), []
        for steps in (range(300), range(300, 303), range(303, 303)):
            for step in steps:
                writer.log(GRADIENT.name, np.full(8, 1.0 + step, np.float32), step=step, graph=graph)
            writer.flush()
            log.refresh()
            read.clear()
            check_rules(log.runs[0])
            read_at.append(max(read, default=0))
    assert read_at == [300, 3, 0]


def swapped_rows(folder: Path, steps: range) -> None:
    """A weight of which two rows change places at each step, so that its statistics stay."""
    value = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
    with DumpWriter(folder, run="made") as writer:
        graph = writer.graph(Graph("step", list(TRAINING)))
        for step in steps:
            writer.log("w", np.roll(value, step, 0), step=step, graph=graph, keep="value")
            writer.log(GRADIENT.name, value + step, step=step, graph=graph)


def test_what_was_pruned_is_not_taken_for_a_value(tmp_path: Path) -> None:
    log = LogIndex(tmp_path)
    swapped_rows(tmp_path, range(10))
    for steps in (range(10, 20), range(20, 30)):
        swapped_rows(tmp_path, steps)
        log.refresh()
        assert [f for f in check_rules(log.runs[0]).findings if f.rule == "UnchangedTensor"] == []
        prune_run(log.runs[0].path, Retention(keep_last=10))
        log.refresh()
        assert check_rules(log.runs[0]) == cold(log.runs[0])[0]
        assert [f for f in check_rules(log.runs[0]).findings if f.rule == "UnchangedTensor"] == []


def test_norms_prove_a_large_update_of_values_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[Fed] = [("w", np.full(4, 100.0**step, np.float32), step) for step in range(3)]
    run = synthetic_run(tmp_path, TRAINING, fed, keep="value")
    (found,) = findings_of("WeightUpdateRatio", run)
    monkeypatch.setattr("tensortap.analysis.rules.builtin.updates.stored_values", lambda run, rows: iter(()))
    with memory_of(run):
        assert findings_of("WeightUpdateRatio", run) == [found]


def test_no_rows_start_nowhere(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, [node("x", "Placeholder")], [("x", [1.0], 0)])
    assert SnapshotRows(run, np.zeros(0, np.int64)).starts.tolist() == []
    assert SnapshotRows(run, np.zeros(1, np.int64)).starts.tolist() == [0]


def test_a_look_that_was_ended_leaves_nothing_half_added(tmp_path: Path) -> None:
    *_, run = grown(tmp_path, 1)
    calls = 0

    def end(done: int, total: int, name: str) -> None:
        nonlocal calls
        calls += 1
        if calls > 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_rules(run, Settings(), progress=end)
    assert check_rules(run) == cold(run)[0]


def test_two_looks_at_once_do_not_share_what_they_know(tmp_path: Path) -> None:
    *_, run = grown(tmp_path, 2)
    inside: list[Any] = []

    def look_again(done: int, total: int, name: str) -> None:
        if done == 5 and not inside:
            inside.append(None)
            inside[0] = check_rules(run)

    assert check_rules(run, progress=look_again) == cold(run)[0] == inside[0]


def stretch(values: list[float], pieces: list[int], least: int = 3) -> tuple[int, int] | None:
    """(first step, steps) of the longest stretch of numbers that come in pieces."""
    found, run = Stretches(least, 1e-5, 1e-8), _Columns()
    for begin, stop in zip([0, *pieces], [*pieces, len(values)], strict=True):
        if stop > begin:
            found.add(run.rows(values[begin:stop], begin))
    longest, steps = found.of(0)
    assert steps == len(values)
    return None if longest is None else (longest.first, longest.steps)


class _Columns:
    """Rows of one tensor that hold a number in all statistics."""

    def rows(self, values: list[float], first: int) -> Any:
        made = SnapshotRows.__new__(SnapshotRows)
        count = len(values)
        made.rows = made.step = np.arange(first, first + count)
        made.tensor = np.zeros(count, np.int64)
        columns = dict.fromkeys(STATISTICS, np.array(values)) | {"kept": np.zeros(count)}
        made._parent, made._held = None, {}
        made._read = lambda column: columns[column]  # type: ignore[method-assign]
        return made


def test_the_longest_stretch_begins_where_the_one_before_ended() -> None:
    values = [0.0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3]
    rng = np.random.default_rng(0)
    for _ in range(40):
        pieces = sorted(rng.integers(0, len(values), 3).tolist())
        assert stretch(values, pieces) == (4, 7)
        assert stretch(values, pieces, 8) is None
    assert stretch([0.0] * 300, [1, 2, 150]) == (0, 300)


def test_however_numbers_are_divided_the_longest_stretch_is_the_same() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = np.repeat(rng.integers(0, 3, 12), rng.integers(1, 7, 12)).astype(float)
        values[rng.random(len(values)) < 0.05] = np.nan
        pieces = sorted(rng.integers(0, len(values), int(rng.integers(1, 9))).tolist())
        least = int(rng.integers(2, 5))
        assert stretch(values.tolist(), pieces, least) == stretch(values.tolist(), [], least)


def test_a_graph_that_gets_nodes_gives_its_tensors_new_roles(tmp_path: Path) -> None:
    run = next(grown(tmp_path, 0))
    memory = AnalysisCache()
    first = RunView(run, memory).tensors
    memory.graphs.clear()
    again = RunView(run, memory).tensors
    assert first == again and first is not again
    assert all(one is not other for one, other in zip(first, again, strict=True))
