"""What caused the others is the first finding, and a fact is told once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, WEIGHT, Fed, X, findings_of, node, synthetic_run

from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.analysis.rules.finding import Finding
from tensortap.analysis.rules.runner import check_rules
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

SOME = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
NONE = np.zeros((3, 4), np.float32)
RATE = node("rate", "ReadVariableOp", of="adam/learning_rate")


def marked(each: Node, **marks: str) -> Node:
    return replace(
        each, attributes=each.attributes | {f"tensortap.{key}": text for key, text in marks.items()}
    )


def reported(run: RunIndex) -> list[tuple[str, str]]:
    """Severity and rule of each finding, in order, each pair once."""
    pairs = [(finding.severity, finding.rule) for finding in check_rules(run).findings]
    return list(dict.fromkeys(pairs))


def rows_of(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.severity, finding.text) for finding in findings]


def died(*, rate: float, late: int) -> list[Fed]:
    """A ReLU that gives nothing from a step on, and two steps later gradients are zero, too."""
    fed: list[Fed] = []
    for step in range(20):
        gone = step >= late
        fed += [("relu", NONE if gone else SOME, step), ("rate", np.float32(rate), step)]
        fed += [(GRADIENT.name, NONE if step >= late + 2 else SOME, step)]
    return fed


@pytest.mark.parametrize(
    ("rate", "late", "first"),
    [
        (3.0, 4, [("high", "LearningRate"), ("high", "DeadRelu"), ("high", "DeadGradient")]),
        (3.0, 0, [("high", "LearningRate"), ("high", "DeadRelu"), ("high", "DeadGradient")]),
        (0.5, 4, [("high", "DeadRelu"), ("high", "DeadGradient"), ("medium", "LearningRate")]),
        (1e-3, 4, [("high", "DeadRelu"), ("high", "DeadGradient")]),
    ],
)
def test_a_cause_comes_before_what_began_later(
    tmp_path: Path, rate: float, late: int, first: list[tuple[str, str]]
) -> None:
    nodes = (*TRAINING, node("relu", "Relu", "product", kind="output"), RATE)
    assert reported(synthetic_run(tmp_path, nodes, died(rate=rate, late=late))) == first


def test_what_no_cause_leads_to_is_still_sorted_by_when_it_began(tmp_path: Path) -> None:
    nodes = (*TRAINING, node("relu", "Relu", "product", kind="output"), node("half", "Tanh", dtype="float16"))
    fed = [*died(rate=1e-3, late=4), ("half", np.float16([65504]), 19)]
    found = [finding.rule for finding in check_rules(synthetic_run(tmp_path, nodes, fed)).findings]
    assert found == ["Float16Overflow", "DeadRelu", "DeadGradient"]


def test_updates_that_are_rounded_away_are_why_nothing_changes(tmp_path: Path) -> None:
    bias = node("b", "ReadVariableOp", kind="weight", of="dense/bias")
    of_bias = node("gradient_tape/gb", "Sum", "x", kind="gradient", of="dense/bias")
    fed: list[Fed] = []
    for step in range(30):
        fed += [("w", SOME.astype(ml_dtypes.bfloat16), step), ("b", NONE.astype(ml_dtypes.bfloat16), step)]
        fed += [(name, SOME * (1 + step), step) for name in (GRADIENT.name, of_bias.name)]
        fed += [("loss", np.float32(1), step)]
    run = synthetic_run(tmp_path, (*TRAINING, bias, of_bias), fed, keep="value")
    expected = ("AbsorbedUpdate", "LossNotDecreasing")
    assert reported(run) == [("high", expected[0]), *(("medium", each) for each in expected)]
    (first, *_) = findings_of("AbsorbedUpdate", run)
    assert first.text == "100% of the updates of dense/kernel have no effect: w + update == w in bfloat16."


def test_weights_that_are_zero_are_why_layers_are_dead(tmp_path: Path) -> None:
    nodes = (*TRAINING, node("relu", "Relu", "product", kind="output"))
    fed = [(name, NONE, step) for step in range(8) for name in ("w", "relu", GRADIENT.name)]
    assert reported(synthetic_run(tmp_path, nodes, fed)) == [
        *(("high", "AllZero"), ("high", "DeadRelu"), ("high", "DeadGradient")),
    ]


def forgotten(cut: str = "MatMul", **marks: str) -> tuple[Node, ...]:
    """A head that is trained behind an encoder that is not."""
    encoder = [
        node("v", "ReadVariableOp", kind="weight", of=f"encoder/{part}") for part in ("kernel", "bias")
    ]
    encoder = [
        marked(replace(each, name=name, layer="encoder"), **marks)
        for name, each in zip(("v", "u"), encoder, strict=True)
    ]
    head = marked(WEIGHT, trainable="true")
    code, product = node("code", cut, "v", "u"), node("product", "MatMul", "code", "w")
    return X, *encoder, code, head, product, node("loss", "Sum", "product"), GRADIENT


def resting(*, loss: float = 0.0) -> list[Fed]:
    fed: list[Fed] = []
    for step in range(24):
        fed += [("v", SOME, step), ("u", NONE, step), ("w", SOME * (1 + step) / 50, step)]
        fed += [(GRADIENT.name, SOME, step), ("loss", np.float32(10 + loss * step), step)]
    return fed


LEFT_OUT = "no step requests its gradient, although it is trainable and the loss depends on it"


@pytest.mark.parametrize(
    ("cut", "left_out", "loss", "severity", "says"),
    [
        ("MatMul", "true", -0.2, "high", LEFT_OUT),
        ("MatMul", "true", 0.0, "high", LEFT_OUT),
        ("MatMul", "", -0.2, "low", "does not request its gradient"),
        ("StopGradient", "true", -0.2, "low", "does not request its gradient"),
    ],
)
def test_what_was_forgotten_is_loud_and_what_is_frozen_quiet(
    tmp_path: Path, cut: str, left_out: str, loss: float, severity: str, says: str
) -> None:
    run = synthetic_run(
        tmp_path, forgotten(cut, trainable="false", left_out=left_out), resting(loss=loss), keep="summary"
    )
    first, *others = check_rules(run).findings
    assert (first.rule, first.severity, says in first.text) == ("UnchangedTensor", severity, True)
    assert ("trainable=False or compute it outside" in first.help) is (says == LEFT_OUT)
    assert [finding.rule for finding in others if finding.rule == "AllZero"] == []
    (entry,) = (entry for entry in dead_layer_ledger(run) if entry.variable == "encoder/kernel")
    assert says in entry.why


def write(folder: Path, *graphs: tuple[str, tuple[Node, ...], list[Fed]]) -> RunIndex:
    with DumpWriter(folder, run="made") as writer:
        for name, nodes, fed in graphs:
            graph = writer.graph(Graph(name, list(nodes)))
            for each, value, step in fed:
                writer.log(each, np.asarray(value), step=step, graph=graph, keep="summary")
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def test_what_another_step_trains_was_not_forgotten(tmp_path: Path) -> None:
    other = (
        marked(node("v", "ReadVariableOp", kind="weight", of="encoder/kernel"), trainable="true"),
        node("gradient_tape/e", "MatMul", kind="gradient", of="encoder/kernel"),
    )
    pushed = [("v", SOME, step) for step in range(6)] + [("gradient_tape/e", SOME, step) for step in range(6)]
    run = write(
        tmp_path,
        ("head", forgotten(trainable="false", left_out="true"), resting(loss=-0.2)),
        ("encoder", other, pushed),
    )
    found = [finding for finding in findings_of("UnchangedTensor", run) if "kernel" in finding.text]
    assert [
        (f.graph.partition("-")[0], f.severity, "although it has a gradient" in f.text) for f in found
    ] == [("encoder", "high", True)]


def test_a_variable_that_is_read_several_times_is_reported_once(tmp_path: Path) -> None:
    reads = [node(f"read_{n}", "ReadVariableOp", kind="weight", of="dense/bias") for n in range(3)]
    fed = [(each.name, NONE, step) for each in reads for step in range(5)]
    assert rows_of(findings_of("AllZero", synthetic_run(tmp_path, (X, *reads), fed))) == [
        ("low", "dense/bias is all zeros.")
    ]


def test_a_loss_that_the_step_returns_is_reported_once(tmp_path: Path) -> None:
    mean = node("mean", "Mean", "product", kind="loss")
    given = replace(node("loss", "Identity", "mean"), name="Identity", output_shapes=[[]])
    nodes = (*(each for each in TRAINING if each.name != "loss"), mean, given)
    fed = [(name, np.float32(1 + step), step) for step in range(30) for name in ("mean", "Identity")]
    fed += [(GRADIENT.name, SOME, step) for step in range(30)]
    assert [f.tensor for f in findings_of("LossNotDecreasing", synthetic_run(tmp_path, nodes, fed))] == [
        "mean:0"
    ]


def test_a_part_of_the_loss_that_the_tape_is_given_is_none(tmp_path: Path) -> None:
    """GIVEN a term that enters with a negative factor, and so grows as it should (as a VAE's)."""
    term, error = node("term", "Mean", "product"), node("error", "Mean", "product")
    nodes = (
        *(each for each in TRAINING if each.name != "loss"),
        *(replace(each, output_shapes=[[]]) for each in (term, error, node("half", "Mul", "term"))),
        replace(node("total", "Sub", "error", "half", kind="loss"), output_shapes=[[]]),
        node("gradient_tape/h", "Mul", "term"),
    )
    fed = [("term", np.float32(-2 + step / 30), step) for step in range(30)]
    fed += [("total", np.float32(9 - step / 5), step) for step in range(30)]
    run = synthetic_run(tmp_path, nodes, [*fed, *((GRADIENT.name, SOME, step) for step in range(30))])
    assert findings_of("LossNotDecreasing", run) == []


@pytest.mark.parametrize(("reads", "severity"), [(True, "low"), (False, "high")])
def test_steps_that_train_against_each_other_are_rivals(tmp_path: Path, reads: bool, severity: str) -> None:
    def step_of(mine: str, others: str) -> tuple[Node, ...]:
        weights = [node("w", "ReadVariableOp", kind="weight", of=mine)]
        weights += [node("v", "ReadVariableOp", kind="weight", of=others)] if reads else []
        gradient = node("gradient_tape/g", "MatMul", "x", kind="gradient", of=mine)
        return X, *weights, node("product", "Mul", "w"), node("loss", "Sum", "product", kind="loss"), gradient

    fed = [("loss", np.float32(1 + step), step) for step in range(30)]
    fed += [("gradient_tape/g", SOME, step) for step in range(30)]
    run = write(
        tmp_path, *((name, step_of(name, other), fed) for name, other in (("g/w", "c/w"), ("c/w", "g/w")))
    )
    assert {finding.severity for finding in findings_of("LossNotDecreasing", run)} == {severity}


@pytest.mark.parametrize(("change", "severity"), [(0.1, "low"), (0.0, "high")])
def test_a_critic_beside_a_generator_that_another_step_trains_has_a_rival(
    tmp_path: Path, change: float, severity: str
) -> None:
    """The generator's step is never captured, but its weights change."""
    nodes = (
        *(X, node("v", "ReadVariableOp", kind="weight", of="generator/kernel")),
        *(node("fake", "MatMul", "x", "v"), WEIGHT, node("product", "MatMul", "fake", "w")),
        *(node("loss", "Sum", "product", kind="loss"), GRADIENT),
    )
    fed: list[Fed] = []
    for step in range(30):
        fed += [("loss", np.float32(1 + step), step), (GRADIENT.name, SOME, step)]
        fed += [("v", SOME * (1 + change * step), step)]
    (found,) = findings_of("LossNotDecreasing", synthetic_run(tmp_path, nodes, fed))
    assert found.severity == severity


def test_a_kernel_whose_requested_gradient_is_none_is_severe(tmp_path: Path) -> None:
    """As of a layer that is called outside the tape."""
    run = synthetic_run(tmp_path, forgotten(trainable="true"), resting(loss=-0.2), keep="summary")
    found = {f.variable: f.severity for f in findings_of("UnchangedTensor", run)}
    assert found["encoder/kernel"] == "high"


@pytest.mark.parametrize(("trained", "found"), [(True, ["training=True"]), (False, [])])
def test_moving_statistics_are_reported_only_where_their_layer_is_trained(
    tmp_path: Path, trained: bool, found: list[str]
) -> None:
    mean = marked(node("m", "ReadVariableOp", kind="weight", of="norm/moving_mean"), trainable="false")
    gradient = node(
        "gradient_tape/n", "Sum", "x", kind="gradient", of="norm/gamma" if trained else "other/gamma"
    )
    fed = [(name, NONE if name == "m" else SOME, step) for step in range(8) for name in ("m", gradient.name)]
    findings = check_rules(synthetic_run(tmp_path, (X, mean, gradient), fed)).findings
    assert [f.severity for f in findings] == ["high"] * len(found)
    assert all(text in f.text for text, f in zip(found, findings, strict=True))


def test_weights_rest_as_their_gradient_vanishes(tmp_path: Path) -> None:
    fed = [
        (name, value, step)
        for step in range(8)
        for name, value in (("w", SOME), (GRADIENT.name, SOME * 1e-9))
    ]
    assert reported(synthetic_run(tmp_path, TRAINING, fed, keep="summary")) == [("high", "VanishingGradient")]
