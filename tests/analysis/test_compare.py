"""Two real runs compared: the same twice, another dtype, a renamed layer, one op that is wrong, a loop."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_files import comparison_csv, read_matches, write_matches
from tensortap.analysis.compare.comparison_records import Comparison
from tensortap.analysis.compare.presentation import sorted_tensors
from tensortap.analysis.compare.propagation.recompute import Recomputed, recomputed
from tensortap.analysis.compare.side import Side
from tensortap.analysis.run_view.step_tensors import StepTensors
from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.html.comparison_report import comparison_html
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).resolve().parents[1] / "support/compare_programs.py"
Compare = Callable[..., Comparison]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunIndex]:
    """The runs of compare_programs.py."""
    folder = tmp_path_factory.mktemp("compared")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    log = LogIndex(folder)
    log.refresh()
    return {run.name: run for run in log.runs}


@pytest.fixture(scope="module")
def compared(runs: dict[str, RunIndex]) -> Compare:
    """`compared("first", "again", step=1)`"""

    def compare_named(a: str, b: str, step: int | None = None, step_b: int | None = None) -> Comparison:
        return compare(Side(runs[a], step), Side(runs[b], step if step_b is None else step_b))

    return compare_named


def test_the_same_training_twice(compared: Compare) -> None:
    found = compared("first", "again")
    assert (found.differ, found.first, found.steps) == (False, None, 3)
    assert found.counts["same"] == len(found.tensors) > 50
    assert (found.only_a, found.only_b, found.notes) == ([], [], [])


def test_a_change_of_dtype_is_rounding(compared: Compare) -> None:
    found = compared("first", "bfloat16")
    assert (found.differ, found.steps) == (False, 3)
    casts = [entry for entry in found.tensors if entry.dtype_a != entry.dtype_b]
    assert {(entry.dtype_a, entry.dtype_b) for entry in casts} == {("float32", "bfloat16")}
    product = next(entry for entry in casts if entry.op_type == "MatMul")
    assert product.verdict == "noise"
    assert 0 < product.metrics.relative <= product.limit <= 2**-4
    assert product.metrics.max_ulp < 2**16, "counted in bfloat16"
    assert all(node.op_type in ("Cast", "Const") for node in found.only_b if node.captured)


def test_xla_is_rounding(compared: Compare) -> None:
    found = compared("first", "xla")
    assert (found.differ, found.steps) == (False, 3)
    assert found.counts["noise"] > 0


def test_a_renamed_layer_is_found_again(compared: Compare) -> None:
    found = compared("first", "renamed")
    assert not found.differ
    (graph,) = found.graphs
    assert (graph.only_a, graph.only_b) == (0, 0)
    assert ("net_1/hidden_1", "net_1/encoder_1") in [rename[:2] for rename in graph.renames]
    pairs = {entry.tensor: entry for entry in found.tensors}
    assert pairs["net_1/hidden_1/MatMul:0"].other == "net_1/encoder_1/MatMul:0"
    assert pairs["net_1/hidden_1/MatMul:0"].matched == "structure"


def test_a_wrong_op_is_the_first_divergence(compared: Compare) -> None:
    found = compared("first", "injected")
    assert found.first is not None
    assert found.first.difference.tensor == "net_1/hidden_1/Relu:0"
    added = "Its input net_1/hidden_1/add (AddV2) exists only in B: compare_programs.py:"
    assert found.first.text.startswith(added)
    assert "inputs are equal" not in found.first.text
    assert found.first.inputs == []  # those of A, which would be equal
    assert found.counts["diverges"] == 1, "the rest only inherits it"
    assert [node.node for node in found.only_b if node.captured] == ["net_1/hidden_1/add"]
    assert found.first.frame is not None
    assert found.first.frame.file.endswith("compare_programs.py")
    assert found.first.frame_b is not None
    assert "tf.nn.relu(x + 0.05)" in (found.first.frame_b.text or "")


def test_what_a_loop_is_given_and_hands_on_is_followed(compared: Compare) -> None:
    found = compared("recurrent", "recurrent-scaled")
    assert found.first is not None
    assert found.first.difference.tensor == "given:0", "not the cell that takes it"
    assert "The constant given/y is 1.0 in A, 1.5 in B." in found.first.text
    verdicts = {entry.tensor: entry.verdict for entry in found.tensors}
    assert [tensor for tensor, verdict in verdicts.items() if verdict == "diverges"] == ["given:0"]
    assert verdicts["while/mixed:0"] == "inherited", "from the visit before"
    assert any("TensorListPopBack" in tensor and v == "inherited" for tensor, v in verdicts.items())


def test_the_inputs_of_a_wrong_op_in_a_loop_are_those_of_its_visit(compared: Compare) -> None:
    found = compared("recurrent", "recurrent-wrong")
    assert found.first is not None
    first = found.first.difference
    assert (first.tensor, first.visit) == ("while/Equal:0", 2)
    assert "The constant while/Equal/y is -1 in A, 2 in B." in found.first.text
    assert [(entry.tensor, entry.visit, entry.verdict) for entry in found.first.inputs] == [
        ("while/Identity_2:0", 1, "same")
    ]
    assert [entry.tensor for entry in found.tensors if entry.verdict == "diverges"] == ["while/Equal:0"]


@pytest.mark.parametrize("run", ["first", "bfloat16", "xla", "loop"])
def test_no_kernel_of_tensorflow_is_accused(runs: dict[str, RunIndex], run: str) -> None:
    """Every op of a real run, computed again from its inputs."""
    found: dict[str, list[Recomputed]] = {}
    for graph in (runs[run].graph(each.id) for each in runs[run].graphs):
        for step in runs[run].steps.step.tolist():
            tensors = StepTensors(runs[run], graph, step, None)
            for slot in tensors.captured:
                again = recomputed(tensors, slot, tensors.snapshot(slot).visit)
                if again is not None:
                    found.setdefault(graph.op_type[slot[0]], []).append(again)
    assert {op for op, each in found.items() if any(entry.wrong for entry in each)} == set()
    right = [entry.right for each in found.values() for entry in each]
    assert np.mean(right) > 0.8, "sums in bfloat16 are not decided"
    if run != "loop":
        assert found.keys() >= {"MatMul", "BiasAdd", "Sum"}


def test_other_initial_values(compared: Compare) -> None:
    found = compared("first", "seed")
    assert found.first is not None
    assert found.first.difference.op_type == "ReadVariableOp"
    assert found.first.text.startswith("The variable net/hidden/kernel differs at the start of the step")
    assert found.first.variable == "net/hidden/kernel"


def test_two_steps_of_one_run(compared: Compare) -> None:
    found = compared("first", "first", 0, 2)
    assert (found.a.step, found.b.step, found.differ) == (0, 2, True)
    assert {e.tensor for e in found.tensors if e.verdict == "diverges"} >= {
        "net_1/hidden_1/Cast/ReadVariableOp:0"
    }


def test_summaries_prove_lower_bounds(compared: Compare) -> None:
    exact, bounds = compared("first", "injected", 0), compared("summaries", "injected", 0)
    of_values = {entry.tensor: entry.metrics for entry in exact.tensors}
    assert {entry.basis for entry in bounds.tensors} == {"summaries"}
    assert any("lower bounds" in note for note in bounds.notes)
    assert bounds.first is not None
    assert bounds.first.difference.tensor == "net_1/hidden_1/Relu:0"
    for entry in bounds.tensors:
        full = of_values[entry.tensor]
        if math.isnan(full.max_abs):  # a tensor without elements
            continue
        assert entry.metrics.max_abs <= full.max_abs * (1 + 1e-5) + 1e-7
        assert entry.metrics.l2 <= full.l2 * (1 + 1e-5) + 1e-6
        assert entry.metrics.kl == pytest.approx(full.kl), "histograms are always kept"


def test_a_loop_that_goes_wrong_at_one_visit(compared: Compare) -> None:
    found = compared("loop", "loop-wrong")
    assert found.first is not None
    assert (found.first.difference.node, found.first.difference.visit) == ("while/Equal", 2)
    assert "The constant while/Equal/y is" in found.first.text
    later = {entry.node: entry.verdict for entry in found.tensors if entry.verdict != "same"}
    assert set(later.values()) == {"diverges", "inherited"}
    assert later["while/doubled"] == "inherited", "earlier in the body, a visit later"


def test_matches_by_hand_are_saved_and_read(
    runs: dict[str, RunIndex], compared: Compare, tmp_path: Path
) -> None:
    (graph,) = compared("first", "renamed").graphs
    file = tmp_path / "matches.json"
    write_matches(file, graph.matches)
    assert read_matches(file) == graph.matches
    manual_pairs = compare(Side(runs["first"]), Side(runs["renamed"]), matches=read_matches(file))
    assert manual_pairs.graphs[0].matched["hand"] == len(graph.matches) == graph.matched["structure"]
    wrong = {"net_1/hidden_1/Relu": "net_1/middle_1/Tanh"}
    crossed = compare(Side(runs["first"]), Side(runs["again"]), matches=wrong)
    assert crossed.first is not None
    assert crossed.first.difference.other == "net_1/middle_1/Tanh:0"
    with pytest.raises(NotFoundError, match="has a node 'nothing'"):
        compare(Side(runs["first"]), Side(runs["again"]), matches={"nothing": "net_1/middle_1/Tanh"})


@pytest.mark.parametrize(
    "text", ["", "[]", '{"nodes": {}}', '{"tensortap_matches": 1, "nodes": {"a": 1}}', "[" * 9999]
)
def test_a_file_that_holds_no_matches(tmp_path: Path, text: str) -> None:
    file = tmp_path / "matches.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValueError, match=r"matches\.json"):
        read_matches(file)


def test_where_and_sorting(runs: dict[str, RunIndex]) -> None:
    found = compare(Side(runs["first"]), Side(runs["injected"]), where="op == 'MatMul'")
    assert {entry.op_type for entry in found.tensors} == {"MatMul"}
    assert found.first is not None, "the data flow is followed through all tensors"
    cosines = [entry.metrics.cosine for entry in sorted_tensors(found.tensors, "cosine")]
    assert cosines == sorted(cosines)
    errors = [entry.metrics.max_abs for entry in sorted_tensors(found.tensors, "max_abs")]
    assert errors == sorted(errors, reverse=True)


def test_steps_that_do_not_meet(runs: dict[str, RunIndex]) -> None:
    with pytest.raises(NotFoundError, match="no common captured step"):
        compare(Side(runs["first"], 1), Side(runs["loop"]))
    with pytest.raises(NotFoundError, match="first has no snapshot at step 9"):
        compare(Side(runs["first"], 9), Side(runs["loop"]))


def test_reports(compared: Compare) -> None:
    found = compared("first", "injected")
    page = comparison_html(found)
    assert "First divergence: net_1/hidden_1/Relu:0 (Relu)" in page
    assert "default-src 'none'" in page
    assert "<script" not in page
    table = comparison_csv(found).splitlines()
    assert len(table) == 1 + len(found.tensors)
    assert table[0].startswith("tensor,other,op_type")
