"""Which origins matter: what heals hides nothing, and what was not captured is no excuse."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import X, findings_of, node, synthetic_run

from tensortap.analysis.model_graph.roles import Roles
from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.analysis.nonfinite.operand import Operand, unknown
from tensortap.analysis.nonfinite.patterns.pattern_table import explain
from tensortap.core.records import Function, Graph
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

HEALING = (  # 1/x is infinite where x is 0, and dividing by it makes 0 of it
    X,
    node("one", "Placeholder", kind="input"),
    node("turned", "Reciprocal", "x"),
    node("quotient", "RealDiv", "one", "turned"),
    node("log", "Log", "one"),
    node("sum", "AddV2", "quotient", "log"),
    node("loss", "Sum", "sum"),
)


def healing_step(step: int, last: float) -> Iterable[tuple[str, object, int]]:
    one, x = np.float32([1, last, 3]), np.float32([0, 1, 2])
    with np.errstate(all="ignore"):
        turned, log = 1 / x, np.log(one)
        total = one / turned + log
    values = {"x": x, "one": one, "turned": turned, "quotient": one / turned, "log": log, "sum": total}
    return [(name, value, step) for name, value in (*values.items(), ("loss", total.sum()))]


def test_an_infinity_that_heals_does_not_hide_the_nan_that_comes_later(tmp_path: Path) -> None:
    """GIVEN 1/0 hidden by a division from step 0 on, and the logarithm of a negative at step 50."""
    fed = [each for step, last in ((0, 2.0), (10, 2.0), (50, -2.0)) for each in healing_step(step, last)]
    run = synthetic_run(tmp_path, HEALING, fed)
    report = nan_report(run)
    assert (report.step, report.origins[0].tensor, report.origins[0].ends.returned) == (
        50,
        "log:0",
        ["loss:0"],
    )
    assert [f.severity for f in findings_of("ExplodingTensor", run)] == ["high", "medium"]


def test_where_nothing_matters_the_first_that_heals_is_reported(tmp_path: Path) -> None:
    fed = [each for step in (0, 10) for each in healing_step(step, 2.0)]
    report = nan_report(synthetic_run(tmp_path, HEALING, fed))
    assert report.step == 0
    assert report.origins[0].aftermath.startswith(
        "It does not reach the loss, gradients or weights, but it looks"
    )


def test_an_infinity_that_the_step_stores_is_not_said_to_heal(tmp_path: Path) -> None:
    stored = node("store", "AssignVariableOp", "x", "turned")
    report = nan_report(synthetic_run(tmp_path, (*HEALING, stored), healing_step(0, 2.0)))
    assert (report.origins[0].tensor, report.origins[0].aftermath) == ("turned:0", "")


LOGS = (
    X,
    node("log", "Log", "x"),
    node("large", "Greater", "log", dtype="bool"),
    node("scaled", "Mul", "log"),
    node("loss", "Sum", "scaled"),
)


def logs_captured(folder: Path, *names: str) -> tuple[list[str], list[str]]:
    """(origins, harmless ones) where only some tensors were captured."""
    x = np.float32([1, 0, 2])
    with np.errstate(divide="ignore"):
        log = np.log(x)
    values = {"x": x, "log": log, "large": log > 0, "scaled": log, "loss": log.sum()}
    report = nan_report(synthetic_run(folder, LOGS, [(name, values[name], 0) for name in names]))
    return [origin.tensor for origin in report.origins], [origin.tensor for origin in report.demoted]


def test_what_may_reach_the_loss_unseen_is_not_called_harmless(tmp_path: Path) -> None:
    """GIVEN log(0) that a comparison hides, and a product on the way to the loss that was not captured."""
    assert logs_captured(tmp_path / "some", "x", "log", "large") == (["log:0"], [])
    assert logs_captured(tmp_path / "all", "x", "log", "large", "scaled", "loss") == (["log:0"], [])


def test_what_ends_in_a_comparison_alone_is_harmless(tmp_path: Path) -> None:
    nodes = (*LOGS[:3], node("scaled", "Mul", "x"), node("loss", "Sum", "scaled"))
    fed = [("x", np.float32([1, 0]), 0), ("log", np.float32([0, -np.inf]), 0), ("large", [False, False], 0)]
    report = nan_report(synthetic_run(tmp_path, nodes, fed))
    assert report.origins == []
    assert "only used in the comparison" in report.demoted[0].demoted


def test_each_of_many_origins_knows_what_it_reaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a chain of products with weights that are all NaN: the graph is gone through once for all."""
    asked, consumers = list[int](), Roles.consumers

    def counted(self: Roles, row: int, slot: int | None = None) -> list[int]:
        asked.append(row)
        return consumers(self, row, slot)

    monkeypatch.setattr(Roles, "consumers", counted)
    many, bad = 30, np.full(2, np.nan, np.float32)
    nodes, before = [X], "x"
    for number in range(many):
        nodes += [node(f"w{number}", "ReadVariableOp", kind="weight", of=f"l{number}/kernel")]
        nodes += [node(f"m{number}", "MatMul", before, f"w{number}")]
        before = f"m{number}"
    nodes += [node("loss", "Sum", before)]
    fed = [(each.name, bad if each.name != "loss" else bad[0], 0) for each in nodes[1:]]
    report = nan_report(synthetic_run(tmp_path, nodes, fed))
    assert len(asked) < 8 * len(nodes)
    assert [origin.reached for origin in report.origins] == [many - number + 1 for number in range(many)]
    assert all(origin.ends.loss == "loss:0" for origin in report.origins)
    assert [origin.ends.weights for origin in report.origins] == [[f"w{number}:0"] for number in range(many)]


@pytest.mark.parametrize("op_type", ["Cosh", "Sinh"])
@pytest.mark.parametrize("name", ["act:0", "my_cosh/Cosh:0"])
def test_hyperbolic_functions_overflow_on_either_side(op_type: str, name: str) -> None:
    x = Operand("x:0", True, "float32", (2,), 2, negative=2, min=-100.0, max=-1.0, abs_max=100.0)
    found = explain(op_type, [x], Operand(name, True, "float32", (2,), 2, pos_inf=1))
    assert found is not None
    assert found.pattern == "exp overflow"
    assert "|x:0| goes up to 100." in found.text


def test_an_exponential_does_not_overflow_far_below_zero() -> None:
    x = Operand("x:0", True, "float32", (2,), 2, negative=2, min=-100.0, max=-1.0, abs_max=100.0)
    assert explain("Exp", [x], Operand("sinh_of_exp:0", True, "float32", (2,), 2, pos_inf=1)) is None


@pytest.mark.parametrize(
    ("op_type", "empty"), [(name, empty) for name in ("Mean", "FusedBatchNormV3") for empty in (True, False)]
)
def test_only_an_operand_that_was_captured_is_empty(op_type: str, empty: bool) -> None:
    x = Operand("x:0", True, "float32", (0, 2)) if empty else unknown("x:0", "float32")
    other = Operand("other:0", True, "int32", (1,), 1, zero=1, min=0, max=0, abs_max=0)
    found = explain(op_type, [x, other], Operand("y:0", True, "float32", (2,), 2, nan=2))
    assert (found is not None and found.pattern == "mean of an empty tensor") == empty


def test_a_python_function_is_only_suspected_if_an_input_was_not_captured() -> None:
    out = Operand("y:0", True, "float32", (2,), 2, nan=2)
    finite = Operand("x:0", True, "float32", (2,), 2, positive=2, min=1, max=2, abs_max=2)
    sure, unsure = explain("PyFunc", [finite], out), explain("PyFunc", [finite, unknown("z:0")], out)
    assert sure is not None and unsure is not None
    assert (sure.certain, unsure.certain) == (True, False)
    assert "for finite inputs" in sure.text and "those captured are finite" in unsure.text


@pytest.mark.parametrize(
    ("op_type", "inputs", "place"),
    [
        ("ReluGrad", ([np.inf, 1], [-1, 2]), "x1:0 is not above 0"),
        ("Relu6Grad", ([np.inf, 1], [7, 2]), "x1:0 is not above 0 or not below 6"),
        ("SigmoidGrad", ([1, 0.5], [-np.inf, 2]), "x0:0 is exactly 0 or 1"),
        ("TanhGrad", ([-1, 0.5], [np.inf, 2]), "x0:0 is exactly 1 or -1"),
        ("EluGrad", ([np.inf, 2], [-1, 0.5]), "x1:0 is exactly -1"),
    ],
)
def test_infinite_gradients_of_activations_without_slope(
    op_type: str, inputs: tuple[list[float], list[float]], place: str, tmp_path: Path
) -> None:
    nodes = (
        *(node(f"x{n}", "Placeholder", kind="input") for n in range(2)),
        node("made", op_type, "x0", "x1"),
    )
    fed = [("x0", np.float32(inputs[0]), 0), ("x1", np.float32(inputs[1]), 0)]
    report = nan_report(synthetic_run(tmp_path, nodes, [*fed, ("made", np.float32([np.nan, 1]), 0)]))
    (origin,) = [origin for origin in report.origins if origin.tensor == "made:0"]
    assert origin.explanation is not None
    assert origin.explanation.pattern == "0 * inf"
    assert place in origin.explanation.text


def test_an_infinite_factor_is_followed_back_without_a_warning(tmp_path: Path) -> None:
    """GIVEN a product of a finite vector that holds 0 and one that holds infinities."""
    nodes = (X, node("y", "Placeholder", kind="input"), node("made", "MatMul", "x", "y"))
    x, y = np.float32([[0, 1]]), np.float32([[np.inf], [2]])
    fed = [("x", x, 0), ("y", y, 0), ("made", np.float32([[np.nan]]), 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = nan_report(synthetic_run(tmp_path, nodes, fed, keep="value"))
    traced = [origin.elements for origin in report.origins if origin.tensor == "made:0"]
    assert traced[0][0].trail[1].tensor == "y:0"


def test_a_run_without_a_snapshot_says_why(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="made") as writer:
        text = "Tap(record=…) does not record eager code: it has no graph."
        writer.event("unseen", step=0, text=text, functions=[], about="record")
        writer.event("unseen", step=0, text="The function f could not be tapped.", functions=[])
    (run,) = opened(tmp_path)
    assert nan_report(run).notes == ["No step was captured. The function f could not be tapped."]


def test_loops_that_xla_compiles_are_not_to_be_watched(tmp_path: Path) -> None:
    """GIVEN an infinity that a compiled loop returns, and the event that nothing is seen inside of it."""
    nodes = (X, replace(node("while/Exp", "Exp", "x"), function="body"), node("while", "While", "x"))
    functions = {
        "": Function(outputs=["while:0"]),
        "body": Function(parent="", caller="while", role="body", outputs=["while/Exp:0"]),
    }
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", list(nodes), functions=functions))
        for name, value in (("x", 1.0), ("while", np.inf)):
            writer.log(name, np.float32([value]), step=0, graph=graph)
        writer.event("unseen", step=0, text="1 tensor cannot be seen.", functions=["body"])
    (run,) = opened(tmp_path)
    (note, *_) = nan_report(run).notes
    assert note.endswith("(while/Exp): set jit_compile=False to capture them.")


def opened(logdir: Path) -> list[RunIndex]:
    log = LogIndex(logdir)
    log.refresh()
    return log.runs
