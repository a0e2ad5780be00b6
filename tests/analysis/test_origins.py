"""Dumps written by hand: which origin is told first, in loops too, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.analysis.rules.runner import check_rules
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

F = {"output_dtypes": ["float32"], "output_shapes": [[None]]}
BODY, BACK = {"function": "body", **F}, {"function": "back", **F}
LOOPS = [
    Node("x", "Placeholder", attributes={"tensortap.kind": "input"}, **F),
    Node("h", "_Arg", ["x:0"], **BODY),
    Node("take", "Identity", ["h:0"], **BODY),
    Node("mul", "Mul", ["take:0", "take:0"], **BODY),
    Node("hand", "Identity", ["mul:0"], **BODY),
    Node("while", "While", ["x:0"], **F),
    Node("loss", "Mul", ["while:0", "zero:0"], **F),
    Node("zero", "Placeholder", **F),
    Node("g", "_Arg", ["zero:0"], **BACK),
    Node("gradient_tape/first", "Identity", ["g:0"], **BACK),
    Node("gradient_tape/last", "Mul", ["gradient_tape/first:0", "loss:0"], **BACK),
    Node("gradient_tape/while", "While", ["zero:0"], **F),
]
FUNCTIONS = {
    "": Function(outputs=["loss:0"]),
    "body": Function(parent="", caller="while", role="body", outputs=["hand:0"]),
    "back": Function(parent="", caller="gradient_tape/while", role="body", outputs=["gradient_tape/last:0"]),
}
INF, NAN = np.inf, np.nan
Logged = Mapping[str, Sequence[object]]  # node -> its value at each visit


def run_of(
    folder: Path, nodes: list[Node], functions: dict[str, Function], steps: Sequence[Logged]
) -> RunIndex:
    with DumpWriter(folder, run="made") as writer:
        graph = writer.graph(Graph("step", nodes, functions=functions))
        for step, logged in enumerate(steps):
            for name, visits in logged.items():
                for visit, value in enumerate(visits):
                    array = value if isinstance(value, np.ndarray) else np.array(value, np.float32)
                    writer.log(name, array, step=step, visit=visit, graph=graph, keep="value")
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


OVERFLOW: Logged = {
    "x": [[2.0]],
    "zero": [[0.0]],
    "take": [[2.0], [1e30], [INF]],
    "mul": [[1e30], [INF], [INF]],
    "hand": [[1e30], [INF], [INF]],
    "while": [[INF]],
    "loss": [[NAN]],
    "gradient_tape/first": [[0.0], [NAN], [0.0]],
    "gradient_tape/last": [[NAN], [0.0], [0.0]],  # finite again when the loop reads it a visit later
    "gradient_tape/while": [[NAN]],
}


def test_the_forward_origin_comes_first_and_what_hands_on_gives_no_origin(tmp_path: Path) -> None:
    """GIVEN an overflow at the second visit of a loop, NaN of it in the loss and in the gradient's loop."""
    run = run_of(tmp_path, LOOPS, FUNCTIONS, [OVERFLOW])
    origins = nan_report(run).origins
    reported = [(origin.node, origin.visit, origin.verdict) for origin in origins]
    assert reported == [("mul", 1, "origin"), ("loss", 0, "inf_to_nan")]
    assert origins[0].explanation is not None
    assert origins[0].explanation.pattern == "overflow"
    found = [f.text for f in check_rules(run).findings if f.rule == "ExplodingTensor"]
    assert found[0].startswith("Infinity originates in mul at step 0: The product overflows")
    assert len(found) == len(set(found)) == 2


def test_an_identity_of_finite_inputs_is_only_suspected(tmp_path: Path) -> None:
    nodes = [LOOPS[0], Node("same", "Identity", ["x:0"], **F)]
    run = run_of(tmp_path, nodes, {"": Function(outputs=["same:0"])}, [{"x": [[1.0]], "same": [[NAN]]}])
    assert [origin.verdict for origin in nan_report(run).origins] == ["suspected"]


HALF = {"output_dtypes": ["float16"], "output_shapes": [[None]]}


def half(*values: float) -> list[object]:
    return [np.array(values, np.float16)]


def test_an_overflow_that_a_division_hides_is_no_harmless_one(tmp_path: Path) -> None:
    nodes = [
        Node("x", "Placeholder", attributes={"tensortap.kind": "input"}, **HALF),
        Node("square", "Mul", ["x:0", "x:0"], **HALF),
        Node("quotient", "RealDiv", ["x:0", "square:0"], **HALF),
    ]
    logged = {"x": half(400, 1), "square": half(INF, 1), "quotient": half(0, 1)}
    run = run_of(tmp_path, nodes, {"": Function(outputs=["quotient:0"])}, [logged])
    report = nan_report(run)
    assert report.demoted == []
    (origin,) = report.origins
    assert (origin.node, origin.verdict) == ("square", "origin")
    assert origin.aftermath.endswith("dividing by it gives 0 in quotient (RealDiv).")
    assert origin.aftermath in report.notes
    (finding,) = (f for f in check_rules(run).findings if f.rule == "ExplodingTensor")
    assert finding.severity == "medium"
    assert finding.text.endswith(origin.aftermath)


def test_what_reaches_the_loss_is_reported_before_what_heals(tmp_path: Path) -> None:
    nodes = [
        LOOPS[0],
        Node("square", "Mul", ["x:0", "x:0"], **F),
        Node("quotient", "RealDiv", ["x:0", "square:0"], **F),
        Node("log", "Log", ["quotient:0"], **F),
    ]
    logged: Logged = {"x": [[1e30]], "square": [[INF]], "quotient": [[0.0]], "log": [[-INF]]}
    run = run_of(tmp_path, nodes, {"": Function(outputs=["log:0"])}, [logged])
    assert [origin.node for origin in nan_report(run).origins] == ["log", "square"]


def test_evidence_is_of_the_step_that_it_names(tmp_path: Path) -> None:
    """GIVEN a gradient that dies at step 1."""
    marks = {"tensortap.kind": "gradient", "tensortap.variable": "m/a/kernel"}
    nodes = [Node("gradients/a", "MatMul", attributes=marks, layer="m/a", **F)]
    logged: list[Logged] = [{"gradients/a": [[-1e-4, 1e-4]]}, *[{"gradients/a": [[0.0, 0.0]]}] * 9]
    findings = check_rules(run_of(tmp_path, nodes, {"": Function()}, logged)).findings
    dead = [(e.step, e.value) for f in findings if f.rule == "DeadGradient" for e in f.evidence]
    assert dead == [(1, 1.0)]


def test_kept_elements_prove_what_counts_only_suggest(tmp_path: Path) -> None:
    nodes = [LOOPS[0], LOOPS[7], Node("quotient", "RealDiv", ["x:0", "zero:0"], **F)]
    logged: Logged = {"x": [[0.0, 1.0]], "zero": [[0.0, 2.0]], "quotient": [[NAN, 0.5]]}
    run = run_of(tmp_path, nodes, {"": Function(outputs=["quotient:0"])}, [logged])
    explanation = nan_report(run).origins[0].explanation
    assert explanation is not None
    assert explanation.certain
    assert explanation.text.endswith("and 1 element of x:0. Both are 0 at [0].")


def test_a_clean_run_says_which_steps_were_looked_at(tmp_path: Path) -> None:
    """GIVEN one captured step of a run that has recorded another."""
    run = run_of(tmp_path, LOOPS[:1], {"": Function(outputs=["x:0"])}, [{"x": [[1.0]]}])
    assert nan_report(run).notes == ["Only step 0 was captured."]
    write_recording(run.path, Recording("f", b"", (), 7))
    (note,) = nan_report(run).notes
    assert note.endswith("Recorded, not captured: 7 (see 'tensortap replay').")
