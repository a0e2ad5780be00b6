"""TensorBoard's event files, of TF2 and TF1."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.api.logdir import open_logdir
from tensortap.dump.read.runs import RunReader
from tensortap.importers.importing import import_source
from tensortap.stats.summarize import summarize


def test_each_folder_with_event_files_is_a_run(importing: Any) -> None:
    importing("events")

    assert set(importing.log.runs) == {"run/v1", "run/v2/train", "run/v2/validation"}


def test_scalars_and_other_tensors_are_values(importing: Any, expected: Any) -> None:
    run = importing("events/v2/train")

    losses = [float(np.asarray(run.tensor("loss:0", step=step))) for step in range(3)]
    np.testing.assert_allclose(losses, [1, 1 / 2, 1 / 3], rtol=1e-6)
    np.testing.assert_array_equal(run.tensor("any/tensor:0", step=7)[:], expected["w"])
    assert np.asarray(run.tensor("words:0")).item() in ("hello", b"hello")
    assert "'images'" in importing.notes


def test_histograms_are_near_those_of_the_values(importing: Any, expected: Any) -> None:
    run = importing("events/v2/train")

    for step in range(3):
        true = summarize(expected["w"] * (step + 1))
        got = run.tensor("weights:0", step=step).summary
        assert got.size == true.size
        assert got.histogram.total + got.zero == true.size
        assert (got.min, got.max) == (true.min, true.max)
        assert math.isnan(got.mean), "not known, so not told"
        assert abs(got.negative - true.negative) <= 1
    assert "approximate" in importing.notes


def test_old_histograms_have_exact_statistics(importing: Any, expected: Any) -> None:
    got = importing("events/v1").tensor("old:0", step=5).summary

    true = summarize(expected["w"])
    assert got.size == true.size
    np.testing.assert_allclose([got.min, got.max, got.std, got.l2], [true.min, true.max, true.std, true.l2])
    np.testing.assert_allclose(got.mean, true.mean, atol=1e-7)


def test_graphs_have_their_functions(importing: Any) -> None:
    importing("events/v2/train")

    reader = RunReader(importing.logdir / "run")
    (graph_id,) = reader.graph_ids()
    graph = reader.graph(graph_id)
    assert {function.role for function in graph.functions.values()} == {"root", "cond", "body"}
    assert next(node for node in graph.nodes if node.name == "product").op_type == "MatMul"


def test_a_traced_graph_is_read(importing: Any) -> None:
    run = importing("events/v2/validation")

    reader = RunReader(importing.logdir / "run")
    (graph_id,) = reader.graph_ids()
    assert "product" in {node.name.rpartition("/")[2] for node in reader.graph(graph_id).nodes}
    assert [tensor.name for tensor in run.find()] == ["loss:0"]


def test_a_truncated_file_gives_what_it_has(artefacts: Path, tmp_path: Path) -> None:
    whole = next((artefacts / "events" / "v2" / "train").iterdir())
    cut = tmp_path / "source" / whole.name
    cut.parent.mkdir()
    cut.write_bytes(whole.read_bytes()[:-100])

    found = import_source(cut.parent, tmp_path / "logs", "run")

    assert 0 < found.snapshots + found.graphs < 9
    assert "truncated record" in " ".join(found.notes)
    assert float(np.asarray(open_logdir(tmp_path / "logs").runs["run"].tensor("loss:0", step=0))) == 1
