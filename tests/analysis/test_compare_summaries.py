"""What two summaries prove, and that steps at which nothing differs are passed over in bulk."""

from __future__ import annotations

import dataclasses
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from two_dumps import compared, node

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_records import Comparison, TensorDifference
from tensortap.analysis.compare.matching.row_alignment import StepRows, joined
from tensortap.analysis.compare.presentation import sorted_tensors
from tensortap.analysis.compare.side import Side
from tensortap.analysis.compare.tensor_pairs import StepPairs
from tensortap.cli.views.diff import print_comparison
from tensortap.core.records import Function, Graph, Node
from tensortap.core.sampling import Sample
from tensortap.dump.write.writer import DumpWriter
from tensortap.html.comparison_report import comparison_html
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

Values = dict[str, Any]
NODES = [
    Node("x", "Placeholder", output_dtypes=["float32"], output_shapes=[[None]]),
    Node("y", "Mul", ["x:0", "x:0"], output_dtypes=["float32"], output_shapes=[[None]]),
]


def write(folder: Path, run: str, steps: dict[int, Values], name: str = "step", **keep: Any) -> RunIndex:
    with DumpWriter(folder / run, run=run) as writer:
        graph = writer.graph(Graph(name, NODES, functions={"": Function(outputs=["y:0"])}))
        for step, values in steps.items():
            for tensor, value in values.items():
                writer.log(tensor, value, step=step, graph=graph, **({"keep": "summary"} | keep))
    log = LogIndex(folder / run)
    log.refresh()
    return log.runs[0]


def of_one(folder: Path, a: Any, b: Any, **keep: Any) -> tuple[TensorDifference, Comparison]:
    """A tensor `y` of two runs."""
    found = compare(*(Side(write(folder, run, {0: {"y": y}}, **keep)) for run, y in (("a", a), ("b", b))))
    return found.tensors[0], found


MASKED = np.float32([-np.inf, 1, 2, 3]), np.float32([-np.inf, 100, -200, 300])
BALANCED = np.float32([-1, 0, 0, 1] * 50), np.float32([-1, -0.9, 0.9, 1] * 50)
# As many numbers with equal sums, sums of squares and ends (Prouhet, Tarry and Escott).
TWINS = np.float32([-9, 0, 3, 5, 6, 9]) * 8, np.float32([-9, 1, 2, 4, 7, 9]) * 8


@pytest.mark.parametrize(("a", "b"), [MASKED, BALANCED, TWINS])
def test_finite_elements_that_differ_are_no_noise(tmp_path: Path, a: Any, b: Any) -> None:
    entry, found = of_one(tmp_path, a, b)
    assert (entry.basis, entry.verdict, found.differ) == ("summaries", "diverges", True)
    finite = np.isfinite(a)
    assert 0 < entry.metrics.max_abs <= np.abs(a[finite] - b[finite]).max()
    assert entry.metrics.kl > 0


def test_nan_against_infinity_is_counted(tmp_path: Path) -> None:
    entry, found = of_one(tmp_path, np.float32([np.nan] * 3 + [1]), np.float32([np.inf] * 3 + [1]))
    assert (entry.verdict, entry.metrics.nonfinite_a, entry.metrics.nonfinite_b) == ("diverges", 0, 3)
    assert found.first is not None
    assert found.first.text.startswith("At least 3 of its elements are NaN or infinite in B only")


def test_tensors_sort_by_name_as_one_counts(tmp_path: Path) -> None:
    entry, _ = of_one(tmp_path, np.ones(4, np.float32), np.ones(4, np.float32))
    names = ["AddN:0", "AddN_1:0", "AddN_2:0", "AddN_10:0"]
    entries = [dataclasses.replace(entry, tensor=name) for name in reversed(names)]
    assert [each.tensor for each in sorted_tensors(entries, "tensor")] == names


def test_what_nan_tells_apart_is_further_than_any_distance(tmp_path: Path) -> None:
    """Of summaries no distance is proved then; of values that of the finite elements is 0."""
    ones = np.ones(4, np.float32)
    bad, off = np.float32([np.nan, 1, 1, 1]), ones + 1
    kept = [{"keep": "summary"}, {"keep": "value"}]
    pairs = [of_one(tmp_path / str(i), bad, ones, **keep) for i, keep in enumerate(kept)]
    far, _ = of_one(tmp_path / "far", ones, off)
    entries = [far, *(entry for entry, _ in pairs)]
    for by in ("max_abs", "relative", "cosine", "rmse"):
        assert sorted_tensors(entries, by)[-1] is far
    assert sorted_tensors(entries, "scale")[0] is far
    more, _ = of_one(tmp_path / "more", np.float32([np.nan, np.inf, 1, 1]), ones)
    assert sorted_tensors([*entries, more], "max_abs")[0] is more
    for _, found in pairs:
        assert comparison_html(found).count("<td>1 NaN/Inf</td>") == 4, "max_abs and relative, in both tables"


def test_rounding_across_the_edge_of_a_bucket_is_noise(tmp_path: Path) -> None:
    less, more = np.nextafter(np.float32(0.5), np.float32([0, 1]))
    rest = np.float32([0.1, 0.9] * 20)
    entry, found = of_one(tmp_path, np.append(rest, [less, 0.5]), np.append(rest, [0.5, less]))
    assert entry.verdict == "same", "the same elements in another order: no summary can tell"
    entry, found = of_one(
        tmp_path / "edge", np.append(rest, [less, more]), np.append(rest, np.float32([0.5, 0.5]))
    )
    assert (entry.verdict, found.differ) == ("noise", False)
    assert entry.metrics.kl > 0


def test_what_lies_beside_a_sample_is_reported_by_the_summaries(tmp_path: Path) -> None:
    a = np.arange(1000, dtype=np.float32) % 7
    b = a.copy()
    b[1::2] += 1000
    entry, found = of_one(tmp_path, a, b, keep="value", sample=Sample(100))
    assert (entry.basis, entry.verdict, found.differ) == ("sample", "diverges", True)
    assert (entry.metrics.differing, entry.metrics.max_abs) == (0, 1000)
    assert entry.metrics.kl > 0
    assert "samples and summaries" in found.notes[0]
    entry, found = of_one(tmp_path / "equal", a, a.copy(), keep="value", sample=Sample(100))
    assert (entry.basis, entry.verdict, entry.metrics.kl) == ("sample", "same", 0)


STEPS = {step: {"x": np.float32([step, 1]), "y": np.float32([step, 2])} for step in range(12)}


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of pairs of each step that is looked at tensor by tensor."""
    found: list[int] = []

    measured = StepPairs.measured

    def counted(pairs: StepPairs, progress: Any) -> Any:
        found.append(len(pairs))
        return measured(pairs, progress)

    monkeypatch.setattr(StepPairs, "measured", counted)
    return found


def test_equal_steps_are_passed_over(tmp_path: Path, looked_at: list[int]) -> None:
    odd = STEPS | {7: STEPS[7] | {"y": np.float32([7, 2 + 1e-3])}}
    a, again, b = (write(tmp_path, name, steps) for name, steps in (("a", STEPS), ("c", STEPS), ("b", odd)))
    found = compare(Side(a), Side(again))
    assert (found.steps, found.differ, found.a.step, looked_at) == (12, False, 11, [2, 2])
    looked_at.clear()
    found = compare(Side(a), Side(b))
    assert (found.steps, found.a.step, looked_at) == (8, 7, [2, 2])
    assert found.first is not None
    assert found.first.difference.tensor == "y:0"
    assert found.first.difference.limit < 1e-5, "steps at which all is equal add no rounding"


def test_values_are_always_compared(tmp_path: Path, looked_at: list[int]) -> None:
    swapped = STEPS | {7: STEPS[7] | {"y": np.float32([2, 7])}}
    runs = [write(tmp_path, name, steps, keep="value") for name, steps in (("a", STEPS), ("b", swapped))]
    found = compare(*map(Side, runs))
    assert (found.steps, found.differ, len(looked_at)) == (8, True, 8)


def test_steps_of_other_graphs_and_workers(tmp_path: Path) -> None:
    """A graph that only some steps captured, and a second worker whose snapshots are others."""
    for run, wrong in (("a", 0.0), ("b", 0.0), ("c", 1.0)):
        later = {step: {"y": np.float32([step + wrong * (step == 9), 5])} for step in (8, 9, 10)}
        write(tmp_path, run, STEPS)
        write(tmp_path, run, later, name="other")
    log = {run: LogIndex(tmp_path / run) for run in "abc"}
    for each in log.values():
        each.refresh()
    a, b, c = (log[run].runs[0] for run in "abc")
    assert not compare(Side(a), Side(b)).differ
    assert not compare(Side(a), Side(c)).differ, "of its first worker nothing differs"
    second = a.workers[1].id, c.workers[1].id
    found = compare(Side(a, worker=second[0]), Side(c, worker=second[1]))
    assert (found.a.step, found.differ, found.steps) == (9, True, 2), "of those that it captured"


def test_bounds_stay_below_the_distances(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = {f"t{n}": (rng.normal(size=30) * 10.0 ** rng.integers(-3, 3)).astype(np.float32) for n in range(40)}
    b = {
        name: value + rng.normal(size=30).astype(np.float32) * rng.choice([0, 1e-6, 1])
        for name, value in a.items()
    }
    nodes = [Node(name, "Placeholder", output_dtypes=["float32"], output_shapes=[[30]]) for name in a]
    found: dict[str, list[RunIndex]] = {}
    for keep in ("summary", "value"):
        for run, values in (("a", a), ("b", b)):
            with DumpWriter(tmp_path / keep / run, run=run) as writer:
                graph = writer.graph(Graph("g", nodes))
                for name, value in values.items():
                    writer.log(name, value, step=0, graph=graph, keep=keep)
            log = LogIndex(tmp_path / keep / run)
            log.refresh()
            found.setdefault(keep, []).append(log.runs[0])
    bounds, exact = (compare(*map(Side, found[keep])).tensors for keep in ("summary", "value"))
    assert len(bounds) == len(exact) == 40
    for low, full in zip(bounds, exact, strict=True):
        for metric in ("max_abs", "rmse", "l2", "relative"):
            assert getattr(low.metrics, metric) <= getattr(full.metrics, metric) * (1 + 1e-9) + 1e-12
        assert low.metrics.kl == pytest.approx(full.metrics.kl)
        assert math.isnan(low.metrics.cosine)


def test_a_layer_that_only_one_side_has_is_named_first(tmp_path: Path) -> None:
    runs = {}
    for run in "ab":
        facts = {"output_dtypes": ["float32"], "output_shapes": [[None]]}
        extra = (
            [Node("net/noise/add", "AddV2", ["x:0", "x:0"], layer="net/noise", **facts)] if run == "b" else []
        )
        last = Node(
            "net/out/Tanh", "Tanh", [f"{extra[0].name if extra else 'x'}:0"], layer="net/out", **facts
        )
        with DumpWriter(tmp_path / run, run=run) as writer:
            graph = writer.graph(Graph("step", [NODES[0], *extra, last]))
            x = np.linspace(-1, 1, 8, dtype=np.float32)
            for node, value in (("x", x), *((each.name, 2 * x) for each in extra)):
                writer.log(node, value, step=0, graph=graph, keep="value")
            writer.log(last.name, np.tanh(x * (1 + len(extra))), step=0, graph=graph, keep="value")
        log = LogIndex(tmp_path / run)
        log.refresh()
        runs[run] = log.runs[0]
    found = compare(Side(runs["a"]), Side(runs["b"]))
    assert found.first is not None
    assert found.first.extra == "the layer net/noise, which only B has"
    assert found.first.difference.tensor == "net/out/Tanh:0"
    out = io.StringIO()
    print_comparison(found, Console(file=out, width=200), "order", 5)
    assert (
        "First divergence: the layer net/noise, which only B has; first shared tensor: net/out/Tanh:0"
        in out.getvalue()
    )
    back = compare(Side(runs["b"]), Side(runs["a"])).first
    assert back is not None and back.extra == "the layer net/noise, which only A has"


def test_a_renamed_layer_that_got_an_op_is_not_one_more(tmp_path: Path) -> None:
    def program(layer: str, *extra: str) -> tuple[list[Node], dict[str, Any]]:
        nodes, value = [node("x", "Placeholder")], np.linspace(-1, 1, 8, dtype=np.float32)
        values = {"x": value}
        for op in ("Exp", "Sin", *extra, "Tanh"):
            nodes.append(node(f"net/{layer}/{op}", op, nodes[-1].name, layer=f"net/{layer}"))
            value = values[nodes[-1].name] = -value if op == "Neg" else getattr(np, op.lower())(value)
        return nodes, values

    found = compared(tmp_path, program("block"), program("mixer", "Neg")).first
    assert found is not None
    assert (found.difference.tensor, found.difference.other) == ("net/block/Tanh:0", "net/mixer/Tanh:0")
    assert (found.extra, "Its input net/mixer/Neg (Neg) exists only in B" in found.text) == ("", True)


def test_tensors_that_are_captured_meanwhile_have_no_partner() -> None:
    """The catalog of a run that is compared in its own process may grow between two looks."""
    some = np.arange(4)
    rows = StepRows(some, np.zeros(4, np.int64), some, np.zeros(4, np.int64))
    found = joined(rows, rows, np.arange(3))
    assert found is not None
    assert [side.tolist() for side in found] == [[0, 1, 2], [0, 1, 2]]
