"""The distances between two arrays, and how nodes of made-up graphs are matched."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_files import comparison_csv
from tensortap.analysis.compare.comparison_records import Comparison
from tensortap.analysis.compare.matching.node_matching import Neighbourhood
from tensortap.analysis.compare.metrics.distances import accepted_by_tools, of_values
from tensortap.analysis.compare.metrics.ulp import subtracted, ulp_distance, worst_element
from tensortap.analysis.compare.presentation import headline
from tensortap.analysis.compare.side import Side
from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.html.comparison_report import comparison_html
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

FLOATS = st.floats(-1e6, 1e6, width=32)


@st.composite
def pairs(draw: Any) -> tuple[Array, Array]:
    shape = draw(hnp.array_shapes(max_dims=2, max_side=6))
    return tuple(draw(hnp.arrays(np.float32, shape, elements=FLOATS)) for _ in "ab")  # type: ignore[return-value]


@given(pairs())
def test_distances_are_those_of_their_definitions(pair: tuple[Array, Array]) -> None:
    a, b = (side.astype(np.float64) for side in pair)
    found = of_values(*pair, "float32", "float32")
    error = np.abs(a - b)
    assert found.max_abs == error.max()
    assert found.mean_abs == pytest.approx(error.mean())
    assert found.rmse == pytest.approx(math.sqrt(np.mean(error**2)), rel=1e-9, abs=1e-150)
    assert found.l2 == pytest.approx(np.linalg.norm(error), rel=1e-9, abs=1e-150)
    assert found.scale == max(np.abs(a).max(), np.abs(b).max())
    assert found.close == float(np.allclose(b, a, rtol=1e-5, atol=1e-8))
    assert math.isnan(found.cosine) or -1 <= found.cosine <= 1
    assert found.pass_001 <= found.pass_01 <= found.pass_1
    assert found.differing == np.mean(a != b)


def test_ratios_that_float64_does_not_hold_are_decibels_all_the_same() -> None:
    small, large = np.array([1e-300, 0.0]), np.array([1e100, 0.0])
    assert of_values(small, large, "float64", "float64").sqnr == pytest.approx(-8000)
    huge, beside = np.array([1e300, 0.0]), np.array([1e300, 1e-300])
    assert of_values(huge, beside, "float64", "float64").sqnr == pytest.approx(12000)


@given(hnp.arrays(np.float32, 5, elements=st.floats(width=32)))
def test_an_array_equals_itself(a: Array) -> None:
    found = of_values(a, a.copy(), "float32", "float32")
    assert (found.differing, found.nonfinite_a, found.nonfinite_b) == (0, 0, 0)
    assert found.max_ulp in (0.0,) or np.isnan(found.max_ulp)
    assert found.sqnr in (math.inf,) or np.isnan(found.sqnr)


@given(st.floats(-(2.0**100), 2.0**100, width=32), st.integers(0, 1000))
def test_ulp_counts_the_numbers_between(start: float, steps: int) -> None:
    a = np.array([start], np.float32)
    b = a.copy()
    for _ in range(min(steps, 40)):
        b = np.nextafter(b, np.float32(np.inf))
    assert ulp_distance(a, b, "float32").tolist() == [min(steps, 40)]
    assert ulp_distance(b, a, "float32").tolist() == [min(steps, 40)]


def test_ulp_of_odd_numbers() -> None:
    a = np.array([0.0, np.nan, np.nan, np.inf, 1.0], np.float32)
    b = np.array([-0.0, np.nan, 1.0, np.finfo(np.float32).max, -1.0], np.float32)
    assert ulp_distance(a, b, "float32")[[0, 1, 3]].tolist() == [0, 0, 1]
    assert np.isnan(ulp_distance(a, b, "float32")[2])
    assert ulp_distance(a, b, "float32")[4] == 2 * 0x3F800000
    one, next_one = np.array([1.0], np.float32), np.array([1 + 2**-7], np.float32)
    assert ulp_distance(one, next_one, "bfloat16").tolist() == [1]
    half = np.array([1.0], ml_dtypes.bfloat16)
    assert ulp_distance(half, np.nextafter(half, half * 2), "bfloat16").tolist() == [1]
    huge = np.array([np.finfo(np.float64).max])
    assert ulp_distance(huge, -huge, "float64")[0] == pytest.approx(2 * 0x7FEFFFFFFFFFFFFF)
    assert ulp_distance(np.array([3]), np.array([-4]), "int64").tolist() == [7]


def test_what_is_not_finite_is_counted_apart() -> None:
    a = np.array([1.0, np.nan, np.inf, np.inf, 5.0])
    b = np.array([1.5, np.nan, np.inf, -np.inf, np.nan])
    found = of_values(a, b, "float64", "float64")
    assert (found.max_abs, found.nonfinite_a, found.nonfinite_b) == (0.5, 0, 2)
    assert found.differing == 3 / 5


def test_scale_stands_beside_a_meaningless_relative_error() -> None:
    found = of_values(np.array([1e-20, 1.0]), np.array([1e-3, 1.0]), "float64", "float32")
    assert found.max_rel == pytest.approx(1e17)
    assert (found.max_abs, found.scale, found.relative) == (1e-3, 1.0, 1e-3)


def test_complex_numbers_text_and_nothing() -> None:
    assert of_values(np.array([1 + 2j]), np.array([1 - 2j]), "complex128", "complex128").max_abs == 4
    text = np.array([b"a", b"b"], object)
    assert of_values(text, text[::-1], "string", "string").differing == 1
    empty = of_values(np.zeros(0), np.zeros(0), "float64", "float64")
    assert (empty.differing, math.isnan(empty.max_abs)) == (0, True)


def test_complex_numbers_are_as_far_apart_as_their_parts() -> None:
    a, b = np.array([1 + 1j, 1 + 1j], np.complex64), np.array([1 + 5j, 1 + 1j], np.complex64)
    assert ulp_distance(a, b, "float32").tolist() == [18874368, 0]
    real = np.array([1, 1], np.float32)
    assert of_values(a, real, "complex64", "float32").max_abs == 1
    assert subtracted(a, real).tolist() == [1j, 1j]


def test_whole_numbers_beyond_those_of_float64() -> None:
    a, b = np.array([2**53, 5, -(2**63)]), np.array([2**53 + 1, 5, -(2**63)])
    found = of_values(a, b, "int64", "int64")
    assert (found.differing, found.max_abs, found.max_ulp) == (1 / 3, 1, 1)
    assert subtracted(a, b).tolist() == [-1, 0, 0]
    unsigned = np.array([2**63, 5, 2**64 - 1], np.uint64)
    assert subtracted(unsigned, a).tolist() == [2**63 - 2**53, 0, 2**64 + 2.0**63]
    assert subtracted(a, unsigned).tolist() == [2**53 - 2**63, 0, -(2**64) - 2.0**63]


@pytest.mark.parametrize(("b", "accepts"), [(2e-3, False), (1e-3 + 9e-6, True), (1e-3 * (1 + 9e-6), True)])
def test_polygraphy_accepts_element_by_element(b: float, accepts: bool) -> None:
    found = of_values(np.array([100, 1e-3]), np.array([100 * (1 + 9e-6), b]), "float32", "float32")
    assert accepted_by_tools(found, "float32")["Polygraphy"] is accepts
    assert (found.max_either <= 1e-5) is accepts


F = {"output_dtypes": ["float32"], "output_shapes": [[4]]}


def write(logdir: Path, run: str, nodes: list[Node], values: dict[str, float]) -> RunIndex:
    with DumpWriter(logdir, run=run) as writer:
        graph = writer.graph(Graph("step", nodes, functions={"": Function()}))
        for name, value in values.items():
            writer.log(name, np.full(4, value, np.float32), step=0, graph=graph, keep="value")
    log = LogIndex(logdir / run)
    log.refresh()
    return log.runs[0]


def chain(scope: str, **odd: float) -> tuple[list[Node], dict[str, float]]:
    """x -> scope/Exp -> scope/Tanh -> scope/Neg, each 1 more than the last unless said otherwise."""
    names = ["x", *(f"{scope}/{op}" for op in ("Exp", "Tanh", "Neg"))]
    inputs: list[list[str]] = [[], *([f"{name}:0"] for name in names[:-1])]
    ops = ("Placeholder", "Exp", "Tanh", "Neg")
    nodes = [Node(n, op, i, **F) for n, op, i in zip(names, ops, inputs, strict=True)]
    return nodes, {name: odd.get(op, 1.0) for name, op in zip(names, ops, strict=True)}


def test_twins_are_distinguished_by_what_they_feed(tmp_path: Path) -> None:
    def branches(left: str, right: str) -> list[Node]:
        return [
            Node("x", "Placeholder", **F),
            Node(f"{left}/Exp", "Exp", ["x:0"], **F),
            Node(f"{right}/Exp", "Exp", ["x:0"], **F),
            Node("out", "Sub", [f"{left}/Exp:0", f"{right}/Exp:0"], **F),
        ]

    a = write(tmp_path, "a", branches("p", "q"), {"p/Exp": 1, "q/Exp": 2})
    b = write(tmp_path, "b", branches("s", "r"), {"s/Exp": 1, "r/Exp": 2})
    found = compare(Side(a), Side(b))
    assert {entry.tensor: entry.other for entry in found.tensors} == {
        "p/Exp:0": "s/Exp:0",
        "q/Exp:0": "r/Exp:0",
    }
    assert not found.differ


def test_verdicts_follow_the_data_flow(tmp_path: Path) -> None:
    a = write(tmp_path, "a", *chain("old"))
    b = write(tmp_path, "b", *chain("new", Exp=1 + 1e-6, Tanh=1.5, Neg=1.6))
    found = compare(Side(a), Side(b))
    assert_report(found)
    verdicts = {e.op_type: e.verdict for e in found.tensors}
    assert verdicts == {"Placeholder": "same", "Exp": "noise", "Tanh": "diverges", "Neg": "inherited"}
    fed = write(tmp_path, "fed", *chain("old", Placeholder=2.0, Exp=2.0))
    first = compare(Side(a), Side(fed)).first
    assert first is not None
    assert (first.difference.tensor, first.text[:27]) == ("x:0", "The step was fed other data")


def assert_report(found: Comparison) -> None:
    """The report says what the command says: first what goes beyond rounding, folded what does not."""
    page = comparison_html(found)
    assert f"<b>{headline(found)}</b>" in page
    before, folded = page.split("<details><summary>Within rounding: ")
    beyond = [entry for entry in found.tensors if entry.verdict not in ("same", "noise")]
    assert f"<h2>Beyond rounding: {len(beyond)} tensors in data flow order</h2>" in before
    assert folded.startswith(f"{found.counts['noise']} tensor")
    assert folded.count('<tr class="noise') == found.counts["noise"]
    assert "prefers-color-scheme: dark" in page
    assert before.index(">verdict</th>") < before.index(">tensor in A</th>")


def test_names_are_harmless_in_reports(tmp_path: Path) -> None:
    name = '=cmd|"<script>alert(1)</script>'
    a = write(tmp_path, "a", [Node(name, "Exp", **F)], {name: 1.0})
    b = write(tmp_path, "b", [Node(name, "Exp", **F)], {name: 2.0})
    found = compare(Side(a), Side(b))
    assert "<script" not in comparison_html(found)
    assert "&lt;script&gt;" in comparison_html(found)
    assert comparison_csv(found).splitlines()[1].startswith("\"'=cmd")


def test_runs_without_a_graph_say_how_to_get_one(tmp_path: Path) -> None:
    sides = []
    for run in ("a", "b"):
        with DumpWriter(tmp_path / run, run=run) as writer:
            writer.log("hidden:0", np.full(4, len(sides), np.float32), step=0)
        log = LogIndex(tmp_path / run)
        log.refresh()
        sides.append(Side(log.runs[0]))
    first = compare(*sides).first
    assert first is not None
    assert first.text.startswith("It was stored without a graph, so its inputs are unknown")
    assert "pass graph=writer.graph(…)" in first.text


def test_two_workers_of_one_run(tmp_path: Path) -> None:
    nodes, values = chain("s")
    write(tmp_path, "parallel", nodes, values)
    run = write(tmp_path, "parallel", nodes, values | {"s/Tanh": 3.0, "s/Neg": 3.0})
    first, second = (worker.id for worker in run.workers)
    found = compare(Side(run, 0, first), Side(run, 0, second))
    assert (found.a.worker, found.b.worker, found.differ) == (first, second, True)
    assert found.first is not None
    assert found.first.difference.tensor == "s/Tanh:0"
    fed = write(tmp_path, "parallel", nodes, values | {"x": 2.0})
    reported = compare(Side(fed, 0, first), Side(fed, 0, fed.workers[2].id)).first
    assert reported is not None
    assert reported.text.startswith(
        "The step was fed other data, as is usual for steps and workers of one run"
    )
    undecided = compare(Side(run, 0), Side(run, 0))
    assert not undecided.differ
    assert "2 workers" in undecided.notes[0]
    with pytest.raises(NotFoundError, match="has no worker 'nobody'"):
        compare(Side(run, 0, "nobody"), Side(run, 0))


def test_workers_whose_graphs_differ(tmp_path: Path) -> None:
    """Each multiplies by a constant of its own, as by the number of its rank; the second one ends earlier."""
    for factor, steps in ((1.0, 2), (2.0, 1)):
        nodes = [
            Node("x", "Placeholder", **F),
            Node("k", "Const", attributes={"value": str(factor)}, **F),
            Node("y", "Mul", ["x:0", "k:0"], **F),
        ]
        with DumpWriter(tmp_path, run="ranks") as writer:
            graph = writer.graph(Graph("step", nodes, functions={"": Function()}))
            for step in range(steps):
                for name, value in (("x", 1.0), ("y", factor)):
                    writer.log(name, np.full(2, value, np.float32), step=step, graph=graph, keep="value")
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    assert len(run.graphs) == 2
    first, second = (worker.id for worker in run.workers)
    for step in (None, 0):
        found = compare(Side(run, step, first), Side(run, step, second))
        assert [(graph.a, graph.b) for graph in found.graphs] == [tuple(each.id for each in run.graphs)]
        assert [entry.verdict for entry in found.tensors] == ["same", "diverges"]
        assert (found.a.step, found.differ) == (0, True)
    with pytest.raises(NotFoundError, match=f"{second} of .*ranks has no snapshot at step 1"):
        compare(Side(run, 1, first), Side(run, 1, second))


def test_a_constant_or_attribute_that_differs_is_named(tmp_path: Path) -> None:
    def nodes(constant: str, alpha: str) -> list[Node]:
        return [
            Node("x", "Placeholder", **F),
            Node("c", "Const", attributes={"value": f"float32() {constant}"}, **F),
            Node("add", "AddV2", ["x:0", "c:0"], **F),
            Node("leaky", "LeakyRelu", ["add:0"], attributes={"alpha": alpha}, **F),
        ]

    a = write(tmp_path, "a", nodes("0.5", "0.2"), {"x": 1, "add": 1.5, "leaky": 1})
    b = write(tmp_path, "b", nodes("0.25", "0.2"), {"x": 1, "add": 1.25, "leaky": 1})
    c = write(tmp_path, "c", nodes("0.5", "0.3"), {"x": 1, "add": 1.5, "leaky": 2})
    first = compare(Side(a), Side(b)).first
    assert first is not None
    assert first.text == "Its captured inputs agree. The constant c is 0.5 in A, 0.25 in B."
    first = compare(Side(a), Side(c)).first
    assert first is not None
    assert first.text.endswith("Its attribute alpha is 0.2 in A, 0.3 in B.")


def test_constants_that_both_graphs_write_out_need_no_capture(tmp_path: Path) -> None:
    float32 = {"output_dtypes": ["float32"], "output_shapes": [[2]]}
    nodes = [
        Node("x", "Placeholder", **float32),
        Node("axes", "Const", attributes={"value": "int32(1) [0]"}),
        Node("sum", "Sum", ["x:0", "axes:0"], **float32),
    ]
    for run, error in (("a", 0.0), ("b", 0.5)):
        with DumpWriter(tmp_path, run=run) as writer:
            graph = writer.graph(Graph("step", nodes))
            for name, value in (("x", [1.0, 2.0]), ("sum", [3.0, 3.0 + error])):
                writer.log(name, np.array(value, np.float32), step=0, graph=graph, keep="value")
    log = LogIndex(tmp_path)
    log.refresh()
    a, b = sorted(log.runs, key=lambda run: run.name)
    first = compare(Side(a), Side(b)).first
    assert first is not None
    assert first.text == "All its inputs are equal, so the op itself computes something different."


def test_a_long_renamed_chain_is_matched_in_few_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def links(scope: str) -> tuple[list[Node], dict[str, float]]:
        names = ["x", *(f"{scope}{number}" for number in range(1500))]
        takes = zip(names[1:], names, strict=False)
        nodes = [Node("x", "Placeholder", **F)]
        return [*nodes, *(Node(name, "AddV2", [f"{before}:0", "x:0"], **F) for name, before in takes)], {
            "x": 1
        }

    swept = list[int]()
    refined = Neighbourhood.refined

    def counted(side: Neighbourhood, labels: Array, rounds: int) -> Array:
        swept.append(rounds)
        return refined(side, labels, rounds)

    monkeypatch.setattr(Neighbourhood, "refined", counted)
    a, b = write(tmp_path, "a", *links("old")), write(tmp_path, "b", *links("new"))
    (graph,) = compare(Side(a), Side(b)).graphs
    assert {node.removeprefix("old"): other.removeprefix("new") for node, other in graph.matches.items()} == {
        str(number): str(number) for number in range(1500)
    }
    assert len(swept) <= 2 * (64 + 2)


def test_the_worst_element_is_where_only_one_side_is_finite_or_they_are_farthest_apart() -> None:
    a = np.float32([[1, 2, np.nan], [4, np.inf, 6]])
    b = np.float32([[1, 9, np.nan], [4, np.inf, 5]])
    assert worst_element(a, b) == (0, 1)
    b[1, 0] = np.inf
    assert worst_element(a, b) == (1, 0)
    assert worst_element(a, a) == (0, 0)
    assert worst_element(np.uint64(2**63), np.uint64(3)) == ()
    assert worst_element(np.zeros((2, 0)), np.zeros((2, 0))) == ()
