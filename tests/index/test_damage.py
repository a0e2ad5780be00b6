"""Whatever is wrong with a dump's bytes: every question is answered, or refused with a sentence."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Iterator
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from tensortap.analysis.overview import problems
from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.core.histogram import Histogram
from tensortap.core.records import Function, Graph, Node, Summary
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.node_detail import node_detail
from tensortap.index.query.search import snapshots
from tensortap.index.query.source_lines import embedded_source
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.run_index import RunIndex
from tensortap.index.series.histograms import histograms
from tensortap.index.series.history import history
from tensortap.index.series.step_statistics import step_statistics
from tensortap.index.values import nonfinite_elements, read_slice

HISTOGRAM = Histogram(np.array([7, 300, 900], np.uint16), np.array([1, 2**62, 2**62]))


def harm(path: Path, rng: random.Random) -> None:
    """Flips bytes of a file, cuts it, or fills a part with zeros."""
    data = bytearray(path.read_bytes())
    # A sealed values file is mostly blanks; its values lie behind them.
    first = 262_144 if path.suffix == ".safetensors" and rng.random() < 0.8 else 0
    at = rng.randrange(first, len(data))
    kind = rng.choice(["flip", "cut", "zero", "insert"])
    if kind == "flip":
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(first, len(data))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zero":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    else:
        data[at:at] = rng.randbytes(16)
    path.write_bytes(data)


def questions(run: RunIndex) -> Iterator[object]:
    """Asks everything, as far as the run still tells that it is there."""
    yield run.overview(), run.workers, run.steps, run.damage, run.tensors, problems(run)
    for tensor in run.tensors:
        yield history(run, tensor), histograms(run, tensor)
    for graph in run.graphs:
        index = run.graph(graph.id)
        yield index.paths, index.edges, index.order, index.shape, index.op_type, index.functions
        yield [step_statistics(run, graph.id, int(step)) for step in run.steps.step]
        yield [node_detail(run, name, graph=graph.id) for name in index.names]
    for snapshot in snapshots(run, limit=1000).rows:
        yield find_snapshot(run, snapshot.tensor, step=snapshot.step, visit=snapshot.visit)
        with contextlib.suppress(TensortapError):
            yield read_slice(run, snapshot, "..., 0"), nonfinite_elements(run, snapshot)
    yield embedded_source(run, "train.py")


@pytest.mark.parametrize("seed", range(60))
def test_nothing_but_sentences(logdir, tmp_path, seed):
    rng = random.Random(seed)
    shutil.copytree(logdir, tmp_path / "logs")
    found = (path for path in (tmp_path / "logs").rglob("*") if path.is_file())
    files = sorted(path for path in found if path.stat().st_size)
    for path in rng.sample(files, rng.randint(1, 2)):
        harm(path, rng)
    log = LogIndex(tmp_path / "logs")
    log.refresh()
    asked = 0
    for run in log.runs:
        with contextlib.suppress(TensortapError):
            for _ in questions(run):
                asked += 1
    assert asked or not log.runs or log.runs[0].error or log.runs[0].catalog.rows == 0


def test_a_made_up_dump_is_only_odd(tmp_path):
    """Checksums match, but nothing makes sense."""
    odd = Summary(
        "?", (2**62, 5), 5, 2**62, 2**62, 1, 2**62, 0, 3, 9, inf, nan, 1.0, -1.0, inf, nan, HISTOGRAM
    )
    nodes = [
        Node(
            "a", "Odd", ["a:0", "b:999999999999", "^^", ":", "b"], "f", stack=99, output_shapes=[[None] * 99]
        ),
        Node("a", "Odd", [], "g", attributes={"x": "\x00"}, stack=-7),
        Node("b\x00/../c", "NextIteration", ["a:0"], "nobody", output_dtypes=["?"] * 3),
    ]
    functions = {"f": Function("g", "a", "body", ["a:7", "x"]), "g": Function("f", "a", "cond", ["a"])}
    with DumpWriter(tmp_path, "odd") as writer:
        graph = writer.graph(Graph("\x1b", nodes, functions, stacks=[[("x.py", -1, "f")]]))
        for at in ({"graph": graph}, {"graph": "never recorded"}, {}):
            for step in (0, 2**63 - 1):
                writer.log_summary("a:2147483647", odd, step=step, **at)
                writer.log_summary("b", odd, step=step, time=0.0, **at)
    log = LogIndex(tmp_path)
    log.refresh()
    with pytest.raises(NotFoundError, match=r"train\.py"):
        list(questions(log.runs[0]))
    for scale in ("symlog", "linear"):
        assert len(histograms(log.runs[0], "b", graph="-", scale=scale, merge_visits=True).step) == 2


def test_descriptions_and_graphs_that_are_gone_are_damage(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", 1.0, step=0, graph=writer.graph(Graph("g", [Node("x", "Const")])))
    for pattern in ("*/worker.json", "graphs/*.arrows"):
        next((tmp_path / "r").glob(pattern)).unlink()
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    (run,) = log.runs
    worker, graph = run.damage
    assert "worker.json is missing. Host and pid are taken from the folder name." in worker
    assert graph.endswith("its file is missing.")
    assert run.graph(run.graphs[0].id).damage == graph


def test_missing_data_are_listed_once_a_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a damaged graph WHEN it is read THEN it is listed, and without changes not collected again."""
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", 1.0, step=0, graph=writer.graph(Graph("g", [Node("x", "Const")])))
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    (run,) = log.runs
    before = run.revision
    assert run.missing_data == []
    (path,) = tmp_path.rglob("graphs/*.arrows")
    path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    assert run.revision == before
    assert run.graph(path.stem).damage
    assert run.revision != before
    (sentence,) = run.missing_data
    assert path.stem in sentence
    monkeypatch.setattr(RunIndex, "damage", property(lambda run: pytest.fail("collected again")))
    assert run.missing_data == [sentence]


def test_an_unfinished_line_of_events_changes_the_revision(tmp_path: Path) -> None:
    """GIVEN a worker that stopped without closing WHEN the start of an event appears THEN it is listed."""
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", 1.0, step=0)
        writer.event("batch", step=0, ids=["x"])
    (events,), (stats,) = tmp_path.rglob("events-*"), tmp_path.rglob("stats-*")
    (events.parent / "closed.json").unlink()
    os.truncate(stats, stats.stat().st_size - 8)  # without its end mark
    for path in (*events.parent.iterdir(), events.parent):
        os.utime(path, (1, 1))
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    (run,) = log.runs
    before, listed = run.revision, run.missing_data
    with events.open("ab") as file:
        file.write(b'{"kind"')
    os.utime(events, (1, 1))
    log.refresh()
    assert run.revision != before
    assert len(run.missing_data) == len(listed) + 1
    assert "its events end in an incomplete line" in run.missing_data[-1]
