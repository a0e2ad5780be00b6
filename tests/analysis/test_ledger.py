"""The ledger on runs of a few tensors: reasons are proven by what was captured, or not given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import TRAINING, X, findings_of, node, synthetic_run

from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.analysis.run_view.run_view import RunView
from tensortap.analysis.run_view.snapshot_rows import SnapshotRows
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

NODES = (
    *TRAINING[:4],
    node("gradient_tape/loss", "Mul", "loss"),
    node("gradient_tape/relu", "ReluGrad", "gradient_tape/loss", "product"),
    node("gradient_tape/g", "MatMul", "x", "gradient_tape/relu", kind="gradient", of="dense/kernel"),
)
ZERO, SOME = np.zeros(4, np.float32), np.ones(4, np.float32)
PARTLY = np.array([1, 0, 1, 0], np.float32)


@pytest.mark.parametrize(
    ("captured", "reason", "begins"),
    [
        ({}, "unknown", "g"),
        ({"x": SOME}, "unknown", "g"),
        ({"x": ZERO}, "dead input", "g"),
        ({"x": PARTLY, "relu": PARTLY}, "mask", "g"),
        ({"x": SOME, "relu": PARTLY}, "cancelled", "g"),
        ({"relu": SOME}, "unknown", "g"),
        ({"relu": ZERO}, "unknown", "relu"),
        ({"relu": ZERO, "loss": SOME}, "dead activation", "relu"),
    ],
)
def test_a_reason_is_given_only_where_what_was_captured_proves_it(
    tmp_path: Path, captured: dict[str, np.ndarray], reason: str, begins: str
) -> None:
    fed = [(f"gradient_tape/{n}" if n != "x" else n, value, 0) for n, value in captured.items()]
    run = synthetic_run(tmp_path, NODES, [*fed, ("gradient_tape/g", ZERO, 0)])
    entry = next(entry for entry in dead_layer_ledger(run) if entry.variable == "dense/kernel")
    assert (entry.reason, entry.begins) == (reason, f"gradient_tape/{begins}:0")
    assert ("not captured" in entry.why) == (reason == "unknown")


def test_products_that_underflow_in_float16_are_no_mask(tmp_path: Path) -> None:
    half = [*NODES[:-1], replace(NODES[-1], output_dtypes=["float16"])]
    small = SOME.astype(np.float16) * np.float16(6e-8)
    fed = [("x", small, 0), ("gradient_tape/relu", small, 0), ("gradient_tape/g", ZERO.astype(np.float16), 0)]
    run = synthetic_run(tmp_path, half, fed)
    entry = next(entry for entry in dead_layer_ledger(run) if entry.variable == "dense/kernel")
    assert entry.reason == "underflow"
    assert entry.why.endswith("so the products underflow or cancel in float16")


def test_weights_that_are_zero_are_no_dead_input(tmp_path: Path) -> None:
    above = node("gradient_tape/above", "MatMul", "gradient_tape/relu", "w")
    below = node("gradient_tape/g", "MatMul", "x", "gradient_tape/above", kind="gradient", of="below/kernel")
    fed = [("x", SOME, 0), ("w", ZERO, 0), ("gradient_tape/relu", SOME, 0)]
    fed += [("gradient_tape/above", ZERO, 0), ("gradient_tape/g", ZERO, 0)]
    run = synthetic_run(tmp_path, (*NODES[:-1], above, below), fed)
    entry = next(entry for entry in dead_layer_ledger(run) if entry.variable == "below/kernel")
    assert (entry.reason, entry.begins) == ("zero weights", "gradient_tape/above:0")
    assert entry.why.endswith("its other factor, dense/kernel, is zero")


def test_the_output_that_is_zero_counts_of_several_that_a_node_has(tmp_path: Path) -> None:
    """As of a dataset's iterator: inputs, and sample weights that are all 0."""
    batch = Node("batch", "IteratorGetNext", output_dtypes=["float32"] * 2, output_shapes=[[4], [4]])
    product = Node(
        *("gradient_tape/g", "Mul", ["loss:0", "batch:1"]),
        attributes={"tensortap.kind": "gradient", "tensortap.variable": "dense/kernel"},
        output_dtypes=["float32"],
        output_shapes=[[4]],
    )
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", [*TRAINING[:4], batch, product]))
        for name, slot, value in (("loss", 0, SOME), ("batch", 0, SOME), ("batch", 1, ZERO)):
            writer.log(f"{name}:{slot}", value, step=0, graph=graph)
        writer.log(product.name, ZERO, step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    (entry,) = (entry for entry in dead_layer_ledger(log.runs[0]) if entry.reason)
    assert (entry.reason, entry.why.rpartition(": ")[2]) == (
        "mask",
        "a mask or a zero factor removes the gradient",
    )


@pytest.mark.parametrize(
    ("captured", "reason", "why"),
    [
        ({"loss": SOME}, "mask", ""),
        (
            {"loss": SOME, "condition": SOME > 0},
            "mask",
            ", because gradient_tape/condition:0 is True everywhere",
        ),
        (
            {"loss": SOME, "condition": SOME < 0},
            "mask",
            ", because gradient_tape/condition:0 is False everywhere",
        ),
        ({"loss": SOME, "condition": np.arange(4) > 1}, "mask", ""),
        ({"condition": SOME > 0}, "unknown", ""),  # what it is given may be zero
    ],
)
def test_a_constant_that_is_chosen_in_place_of_a_gradient_needs_no_capture(
    tmp_path: Path, captured: dict[str, np.ndarray], reason: str, why: str
) -> None:
    """As tf.where, tf.maximum and tf.clip_by_value do: the zeros are a constant, and none is captured."""
    nodes = (
        *(*TRAINING[:4], node("gradient_tape/loss", "Mul", "loss"), node("gradient_tape/zeros", "Const")),
        node("gradient_tape/condition", "Less", "x", dtype="bool"),
        node(
            *("gradient_tape/choice", "SelectV2"),
            *("gradient_tape/condition", "gradient_tape/zeros", "gradient_tape/loss"),
        ),
        node("gradient_tape/g", "MatMul", "x", "gradient_tape/choice", kind="gradient", of="dense/kernel"),
    )
    fed = [(f"gradient_tape/{name}", value, 0) for name, value in captured.items()]
    fed += [(f"gradient_tape/{name}", ZERO, 0) for name in ("choice", "g")]
    (entry,) = (e for e in dead_layer_ledger(synthetic_run(tmp_path, nodes, fed)) if e.reason)
    assert (entry.reason, entry.begins) == (reason, "gradient_tape/choice:0")
    reported = f"(SelectV2): it selects 0 instead of gradient_tape/loss:0{why}"
    assert entry.why.endswith(reported) == (reason == "mask")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (6 * SOME, "saturated activation"),
        (ZERO, "dead activation"),
        (np.float32([6, 0, 6, 0]), "dead activation"),
        (None, "dead activation"),  # not captured
    ],
)
def test_a_relu6_at_its_upper_end_is_saturated(
    tmp_path: Path, output: np.ndarray | None, reason: str
) -> None:
    nodes = (
        *(*TRAINING[:4], node("gradient_tape/loss", "Mul", "loss"), node("relu", "Relu6", "product")),
        node("gradient_tape/relu", "Relu6Grad", "gradient_tape/loss", "relu"),
        node("gradient_tape/g", "MatMul", "x", "gradient_tape/relu", kind="gradient", of="dense/kernel"),
    )
    fed = [("gradient_tape/loss", SOME, 0), ("gradient_tape/relu", ZERO, 0), ("gradient_tape/g", ZERO, 0)]
    fed += [] if output is None else [("relu", output, 0)]
    (entry,) = (e for e in dead_layer_ledger(synthetic_run(tmp_path, nodes, fed)) if e.reason)
    assert (entry.reason, entry.begins) == (reason, "gradient_tape/relu:0")


_TWICE = "gradient_tape/gradient_tape/dense/zeros_like"
_FEEDS_ZEROS = f"its incoming gradient, {_TWICE}, is constant 0, like the second derivative of ReLU"


@pytest.mark.parametrize(
    ("zeros", "value", "op_type", "why"),
    [
        (_TWICE, "", "Const", _FEEDS_ZEROS),
        (_TWICE, "float32(32, 16)", "Const", _FEEDS_ZEROS),  # too large to be stored
        (_TWICE, "float32(2,) [0.0, 0.0]", "Const", _FEEDS_ZEROS),
        (
            *("gradient_tape/fixed", "float32(2,) [0.0, 0.0]", "Const"),
            "its incoming gradient, gradient_tape/fixed, is constant 0",
        ),
        (_TWICE, "", "ZerosLike", "it is always 0, like the second derivative of ReLU"),
        ("gradient_tape/zeros_like", "", "ZerosLike", "it is always 0"),
        ("gradient_tape/ones", "float32(4, 4)", "Const", "the ReLU is inactive"),
        ("gradient_tape/fixed", "float32(2,) [0.0, 1.0]", "Const", "the ReLU is inactive"),
    ],
)
def test_a_relu_is_not_blamed_for_a_gradient_that_is_constant_0(
    tmp_path: Path, zeros: str, value: str, op_type: str, why: str
) -> None:
    """As in a loss on the second derivative of a network of ReLUs."""
    filled = node(zeros, op_type, *(["x"] if op_type == "ZerosLike" else []))
    filled.attributes["value"] = value
    nodes = (
        *(*TRAINING[:4], node("relu", "Relu", "product"), node("gradient_tape/loss", "Mul", "loss")),
        node("gradient_tape/gradient_tape/dense/ReluGrad", "ReluGrad", "gradient_tape/loss", "relu"),
        *(filled, node("gradient_tape/relu", "ReluGrad", zeros, "relu")),
        node("gradient_tape/g", "MatMul", "x", "gradient_tape/relu", kind="gradient", of="dense/kernel"),
    )
    fed = [("relu", ZERO if "inactive" in why else SOME, 0), ("x", SOME, 0)]
    fed += [("gradient_tape/relu", ZERO, 0), ("gradient_tape/g", ZERO, 0)]
    fed += [(zeros, ZERO, 0)] if op_type == "ZerosLike" else []
    (entry,) = (e for e in dead_layer_ledger(synthetic_run(tmp_path, nodes, fed)) if e.reason)
    assert entry.why.endswith(f"): {why}")
    assert entry.reason == ("dead activation" if "inactive" in why else "not explained")


@pytest.mark.parametrize(("dtype", "listed"), [("int64", False), ("uint32", False), ("float32", True)])
def test_the_state_of_a_seed_is_no_layer(tmp_path: Path, dtype: str, listed: bool) -> None:
    state = node(
        "state", "ReadVariableOp", dtype=dtype, kind="weight", of="seed_generator/seed_generator_state"
    )
    state.attributes["tensortap.trainable"] = "false"
    nodes = (*NODES, replace(state, layer="dropout"))
    fed = [("state", np.arange(2, dtype=dtype), 0), ("gradient_tape/g", SOME, 0)]
    entries = dead_layer_ledger(synthetic_run(tmp_path, nodes, fed))
    assert ("seed_generator/seed_generator_state" in {entry.variable for entry in entries}) == listed
    assert "dense/kernel" in {entry.variable for entry in entries}


def test_of_many_dead_gradients_a_step_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [node(f"gradient_tape/g{n}", "MatMul", "x", kind="gradient", of=f"l{n}/kernel") for n in range(30)]
    run = synthetic_run(
        tmp_path, (X, *many), [(each.name, ZERO, step) for step in range(20) for each in many]
    )
    view, made = RunView(run), list[int]()
    whole = SnapshotRows.__init__

    def counted(self: SnapshotRows, *arguments: object) -> None:
        whole(self, *arguments)  # type: ignore[arg-type]
        made.extend([len(self)] if len(self) else [])

    monkeypatch.setattr(SnapshotRows, "__init__", counted)
    assert len(dead_layer_ledger(run, view)) == 30
    assert made == [20 * 30, 30]  # all rows once, then those of a step


def test_the_ledger_tells_how_far_it_is_and_can_be_ended(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, NODES, [("gradient_tape/g", ZERO, 0)])

    def end(done: int, total: int, doing: str) -> None:
        raise KeyboardInterrupt(f"{done} of {total}: {doing}")

    with pytest.raises(KeyboardInterrupt, match="0 of 1: dense/kernel"):
        dead_layer_ledger(run, advance=end)


@pytest.mark.parametrize(
    ("op_type", "dtype", "found"),
    [
        ("Cast", "int32", [("low", "tail/cut (Cast) blocks the gradient")]),
        ("ArgMax", "int64", [("low", "tail/cut (ArgMax) blocks the gradient")]),
        ("Round", "float32", [("low", "tail/cut (Round) blocks the gradient")]),
        ("Greater", "bool", [("low", "tail/cut (Greater) blocks the gradient")]),
        ("StopGradient", "float32", []),  # it is meant
        ("Cast", "float16", []),
        ("Tanh", "float32", []),
    ],
)
def test_what_cuts_a_variable_off_is_named(
    tmp_path: Path, op_type: str, dtype: str, found: list[tuple[str, str]]
) -> None:
    nodes = (
        X,
        replace(node("v", "ReadVariableOp", kind="weight", of="head/kernel"), layer="head"),
        node("inner", "Mul", "x", "v"),
        node("tail/cut", op_type, "inner", dtype=dtype),
        node("tail/floats", "Cast", "tail/cut"),
        node("w", "ReadVariableOp", kind="weight", of="dense/kernel"),
        node("product", "Mul", "tail/floats", "w"),
        node("loss", "Sum", "product"),
        node("gradient_tape/g", "Mul", "x", kind="gradient", of="dense/kernel"),
    )
    fed = [(name, SOME * (step + 1), step) for step in range(3) for name in ("v", "w", "gradient_tape/g")]
    run = synthetic_run(tmp_path, nodes, fed)
    entry = next(entry for entry in dead_layer_ledger(run) if entry.variable == "head/kernel")
    cut = op_type not in ("Tanh",) and dtype != "float16"
    assert (entry.reason, entry.cut_by) == ("disconnected", op_type if cut else "")
    assert entry.begins == ("tail/cut:0" if cut else "v:0")
    reported = findings_of("DeadGradient", run)
    assert [(f.severity, f.text) for f in reported] == [
        (severity, (f"head/kernel gets no gradient: {text}. This is fine if it is frozen."))
        for severity, text in found
    ]


@pytest.mark.parametrize(
    ("op_type", "of", "asked", "found"),
    [
        ("Round", "head/kernel", "true", [("high", "use an op that has a gradient")]),
        ("Round", "head/bias", "true", [("low", "use an op that has a gradient")]),
        ("StopGradient", "head/kernel", "true", [("high", "remove the stop_gradient")]),
        ("Unused", "head/kernel", "true", [("medium", "use the layer in the loss")]),
        ("Round", "head/kernel", "false", []),
        ("Unused", "head/kernel", "false", []),
        ("Unused", "head/kernel", "", []),
    ],
)
def test_a_variable_without_the_gradient_that_is_asked_for_is_worse_than_a_frozen_one(
    tmp_path: Path, op_type: str, of: str, asked: str, found: list[tuple[str, str]]
) -> None:
    head = replace(node("v", "ReadVariableOp", kind="weight", of=of), layer="head")
    head.attributes["tensortap.trainable"] = asked
    nodes = (
        *(X, head, node("tail/cut", op_type, "v")),
        node("w", "ReadVariableOp", kind="weight", of="dense/kernel"),
        node("product", "Mul", "w", "x" if op_type == "Unused" else "tail/cut"),
        node("loss", "Sum", "product"),
        node("gradient_tape/g", "Mul", "x", kind="gradient", of="dense/kernel"),
    )
    fed = [(name, SOME * (step + 1), step) for step in range(3) for name in ("w", "gradient_tape/g")]
    resting = synthetic_run(tmp_path / "resting", nodes, [*fed, *(("v", SOME, step) for step in range(3))])
    reported = findings_of("DeadGradient", resting)
    begins = [(f.severity, f.help[: len(text)].lower()) for f, (_, text) in zip(reported, found, strict=True)]
    assert begins == found
    averaged = [("v", SOME * (step + 1), step) for step in range(3)]  # as a target network is, or a codebook
    reported = findings_of("DeadGradient", synthetic_run(tmp_path / "averaged", nodes, [*fed, *averaged]))
    assert [f.severity for f in reported] == ["low"] * len(found)
    assert all(f.text.endswith("It still changes, so something else updates it.") for f in reported)


@pytest.mark.parametrize(
    ("stopped", "cut"),
    [("x", "ArgMax"), ("v", "ArgMax"), ("mixed", "StopGradient")],
    ids=["elsewhere", "on another way", "after the other op"],
)
def test_an_op_without_a_gradient_is_named_before_a_stop_gradient_on_another_way(
    tmp_path: Path, stopped: str, cut: str
) -> None:
    """As in vector quantization: the loss of the codes stops the gradient of the encoder on purpose."""
    head = replace(node("v", "ReadVariableOp", kind="weight", of="head/kernel"), layer="head")
    head.attributes["tensortap.trainable"] = "true"
    nodes = (
        *(X, head, node("rounded", "Round", "v"), node("mixed", "AddV2", "v", "rounded")),
        node("tail/stop", "StopGradient", stopped),
        node("tail/cut", "ArgMax" if cut == "ArgMax" else "Tanh", "v" if cut == "ArgMax" else "x"),
        node("w", "ReadVariableOp", kind="weight", of="dense/kernel"),
        node("product", "Mul", "w", "tail/stop"),
        node("sum", "AddV2", "product", "tail/cut"),
        node("loss", "Sum", "sum"),
        node("gradient_tape/g", "Mul", "x", kind="gradient", of="dense/kernel"),
    )
    fed = [(name, SOME, step) for step in range(3) for name in ("v", "w", "gradient_tape/g")]
    run = synthetic_run(tmp_path, nodes, fed)
    entry = next(entry for entry in dead_layer_ledger(run) if entry.variable == "head/kernel")
    assert entry.cut_by == cut


def test_zeros_that_a_program_puts_where_there_is_no_gradient_are_none(tmp_path: Path) -> None:
    """GIVEN a loop that puts zeros where the tape gives None: a constant, which no tap captures."""
    head = replace(node("v", "ReadVariableOp", kind="weight", of="head/kernel"), layer="head")
    head.attributes["tensortap.trainable"] = "true"
    nodes = (
        *(X, head, node("round", "Round", "v")),
        node("w", "ReadVariableOp", kind="weight", of="dense/kernel"),
        *(node("product", "Mul", "w", "round"), node("loss", "Sum", "product")),
        node("zeros_like", "Const", kind="gradient", of="head/kernel"),
        node("gradient_tape/g", "Mul", "x", kind="gradient", of="dense/kernel"),
    )
    run = synthetic_run(
        tmp_path, nodes, [(name, SOME, n) for n in range(3) for name in ("v", "gradient_tape/g")]
    )
    (entry,) = (each for each in dead_layer_ledger(run) if each.variable == "head/kernel")
    assert (entry.reason, entry.cut_by, entry.begins) == ("disconnected", "Round", "round:0")
    assert [finding.severity for finding in findings_of("DeadGradient", run)] == ["high"]


def test_of_an_op_whose_gradient_is_always_0_the_forward_pass_tells(tmp_path: Path) -> None:
    nodes = (
        *(X, node("w", "ReadVariableOp", kind="weight", of="dense/kernel")),
        *(node("sign", "Sign", "w"), node("loss", "Sum", "sign")),
        node("gradient_tape/above", "ZerosLike", "sign"),
        node("gradient_tape/g", "Mul", "gradient_tape/above", kind="gradient", of="dense/kernel"),
    )
    run = synthetic_run(tmp_path, nodes, [("gradient_tape/g", ZERO, step) for step in range(3)])
    (entry,) = dead_layer_ledger(run)
    assert (entry.reason, entry.cut_by, entry.begins) == ("disconnected", "Sign", "sign:0")
    (finding,) = findings_of("DeadGradient", run)
    assert finding.text.endswith("sign (Sign) blocks the gradient.")
    assert finding.next_look == "Check the node that blocks the gradient."
    sometimes = synthetic_run(
        tmp_path, nodes, [("gradient_tape/g", value, n) for n, value in enumerate((ZERO, SOME))], name="some"
    )
    assert dead_layer_ledger(sometimes)[0].cut_by == ""


def test_what_another_step_trains_is_not_cut_off(tmp_path: Path) -> None:
    """A step that is given all variables of an agent, and cuts one off that the other step trains."""

    def graph(name: str, *, cut: bool) -> Graph:
        head = replace(node("v", "ReadVariableOp", kind="weight", of="head/kernel"), layer="head")
        head.attributes["tensortap.trainable"] = "true"
        nodes = [X, head, node("tail/cut", "ArgMax" if cut else "Tanh", "v"), node("loss", "Sum", "tail/cut")]
        own = "dense/kernel" if cut else "head/kernel"
        nodes.append(node("gradient_tape/g", "Mul", "x", kind="gradient", of=own))
        return Graph(name, nodes, functions={"": Function(outputs=["loss:0"])})

    with DumpWriter(tmp_path, "agent") as writer:
        for name in ("actor", "critic"):
            handle = writer.graph(graph(name, cut=name == "actor"))
            for step in range(3):
                for tensor in ("v:0", "gradient_tape/g:0"):
                    writer.log(tensor, SOME, step=step, graph=handle)
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    assert findings_of("DeadGradient", run) == []
