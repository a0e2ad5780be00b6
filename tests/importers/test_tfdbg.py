"""Both of TensorFlow's own debuggers, in all modes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tensortap.dump.read.runs import RunReader
from tensortap.stats.summarize import summarize


def graph_of(importing: Any) -> Any:
    reader = RunReader(importing.logdir / "run")
    return max((reader.graph(graph_id) for graph_id in reader.graph_ids()), key=lambda g: len(g.nodes))


def test_tfdbg1_values_and_iterations(importing: Any, expected: Any) -> None:
    run = importing("tfdbg1/values")

    assert len(run.steps) == 2
    first = next(iter(run.steps))
    np.testing.assert_array_equal(run.tensor("layer/product:0", step=first)[:], expected["product"])
    loop = next(name for name in run.tensors if "/next" in name and "/y" not in name)
    values = [int(np.asarray(run.tensor(loop, step=first, visit=visit))) for visit in range(3)]
    assert values == [1, 2, 3]


def test_tfdbg1_graph_is_without_the_debuggers_nodes(importing: Any) -> None:
    importing("tfdbg1/values")

    nodes = {node.name: node for node in graph_of(importing).nodes}
    assert not [name for name in nodes if name.startswith(("__copy", "__dbg"))]
    assert list(nodes["layer/positive"].inputs)[:1] == ["layer/product:0"]
    assert nodes["layer/product"].output_dtypes == ("float32",)


def test_tfdbg1_numeric_summaries_keep_their_numbers(importing: Any, expected: Any) -> None:
    run = importing("tfdbg1/numeric")

    got = run.tensor("layer/product:0", step=next(iter(run.steps))).summary
    true = summarize(expected["product"])
    assert got.shape == true.shape
    names = ("nan", "pos_inf", "neg_inf", "zero", "negative", "positive")
    assert [getattr(got, name) for name in names] == [getattr(true, name) for name in names]
    np.testing.assert_allclose(
        [got.min, got.max, got.mean, got.std, got.l2],
        [true.min, true.max, true.mean, true.std, true.l2],
        rtol=1e-5,
    )
    assert "DebugNumericSummary" in importing.notes


def test_tfdbg2_full_tensors(importing: Any, expected: Any) -> None:
    run = importing("tfdbg2/full_tensor")

    assert list(run.steps) == [0, 1, 2]  # two calls, and what came after them
    np.testing.assert_array_equal(run.tensor("product:0", step=0)[:], expected["product"])
    np.testing.assert_array_equal(run.tensor("product:0", step=1)[:], expected["product"][:1])
    np.testing.assert_array_equal(run.tensor("Abs:0", step=2)[:], np.abs(expected["x"]))
    assert "run:0" not in run.tensors, "a call's output is its graph's"


def test_tfdbg2_graph_has_functions_and_lines(importing: Any) -> None:
    importing("tfdbg2/full_tensor")

    graph = graph_of(importing)
    assert graph.name == "run"
    assert {function.role for function in graph.functions.values()} == {"root", "cond", "body"}
    product = next(node for node in graph.nodes if node.name == "product")
    assert (product.op_type, list(product.inputs)) == ("MatMul", ["x:0", "product/ReadVariableOp:0"])
    file, line, function = graph.stacks[product.stack][-1]
    assert file.endswith("make_artefacts.py") and function == "run"
    assert "tf.matmul" in graph.sources[file].splitlines()[line - 1]


@pytest.mark.parametrize(
    ("mode", "known"),
    [
        ("concise_health", ("size", "nan", "pos_inf", "neg_inf")),
        ("full_health", ("size", "nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "dtype")),
        ("shape", ("size", "shape", "dtype")),
    ],
)
def test_tfdbg2_modes_keep_what_they_know(
    importing: Any, expected: Any, mode: str, known: tuple[str, ...]
) -> None:
    run = importing(f"tfdbg2/{mode}")

    got, true = run.tensor("product:0", step=0).summary, summarize(expected["product"])
    assert {name: getattr(got, name) for name in known} == {name: getattr(true, name) for name in known}
    assert math.isnan(got.mean)
    assert mode.upper() in importing.notes
    assert "StringJoin:0: tfdbg recorded no data for it" in importing.notes


def test_tfdbg2_curt_health_says_who_is_bad(importing: Any) -> None:
    run = importing("tfdbg2/curt_health")

    assert [run.tensor("product:0", step=step).summary.nan for step in (0, 1)] == [1, 0]


def test_tfdbg2_without_tensors_is_a_graph(importing: Any) -> None:
    run = importing("tfdbg2/no_tensor")

    assert not list(run.tensors)
    assert len(graph_of(importing).nodes) > 40
    assert "NO_TENSOR" in importing.notes


def test_tfdbg2_of_eager_code_counts_the_times_a_line_ran(importing: Any) -> None:
    run = importing("tfdbg2/eager")

    assert list(run.steps) == [0, 1, 2]
    assert np.asarray(run.tensor("Square:0", step=2)).tolist() == [4.0, 4.0]
