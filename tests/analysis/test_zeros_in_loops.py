"""The ledger of a recurrent layer: zeros are followed through the loops of both passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import X, node

from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex


def looped(name: str, function: str, *taken: tuple[str, str], lists: bool = True) -> list[Node]:
    """A loop of a list and a number, and the arguments of its body; `taken`: the name of each, and what the
    loop begins with."""
    dtypes = ["variant", "float32"] if lists else ["float32", "variant"]
    inputs = [f"{source}:0" for _, source in taken]
    loop = replace(node(name, "While"), inputs=inputs, output_dtypes=dtypes, output_shapes=[[], [None]])
    arguments = [
        replace(node(each, "_Arg", source, dtype=dtype), function=function)
        for (each, source), dtype in zip(taken, dtypes, strict=True)
    ]
    return [loop, *arguments]


def within(function: str, *nodes: Node) -> list[Node]:
    return [replace(each, function=function) for each in nodes]


NODES = [
    *(X, node("gradient_tape/kept", "EmptyTensorList", dtype="variant")),
    *looped("rnn", "body", ("take", "x"), ("hold", "gradient_tape/kept"), lists=False),
    *within("body", node("rnn/tanh", "Tanh", "take")),
    *(node("relu", "Relu", "rnn"), node("loss", "Sum", "relu"), node("gradient_tape/loss", "Mul", "loss")),
    node("gradient_tape/out", "MatMul", "relu", "gradient_tape/loss", kind="gradient", of="out/kernel"),
    node("gradient_tape/relu", "ReluGrad", "gradient_tape/loss", "relu"),
    node("gradient_tape/list", "TensorListFromTensor", "gradient_tape/relu", dtype="variant"),
    node("gradient_tape/zeros", "Fill"),
    *looped("gradient_tape/while", "back", ("given", "gradient_tape/list"), ("sum", "gradient_tape/zeros")),
    *within(
        "back",
        node("gradient_tape/ys", "Identity", "sum"),
        node("gradient_tape/item", "TensorListGetItem", "given"),
        node("gradient_tape/tanh", "TanhGrad", "take", "gradient_tape/item"),
        node("gradient_tape/sum", "AddN", "gradient_tape/ys", "gradient_tape/tanh"),
    ),
    replace(
        node("gradient_tape/rnn", "Identity", kind="gradient", of="rnn/kernel"),
        inputs=["gradient_tape/while:1"],
    ),
]
FUNCTIONS = {
    "": Function(outputs=["loss:0"]),
    "body": Function(parent="", caller="rnn", role="body", outputs=["rnn/tanh:0", "hold:0"]),
    "back": Function(
        parent="", caller="gradient_tape/while", role="body", outputs=["given:0", "gradient_tape/sum:0"]
    ),
}
ZERO, SOME = np.zeros(4, np.float32), np.array([1, 0, 1, 0], np.float32)
FLOATS = [
    each.name for each in NODES if each.output_dtypes == ["float32"] and each.op_type not in ("_Arg", "While")
]


@pytest.mark.parametrize(
    ("some", "reason", "begins", "of_out"),
    [
        # a dead ReLU behind the loop: of its own kernel, and of one behind it
        ((), "dead activation", "gradient_tape/relu:0", "dead input"),
        # zeros that begin in the loop
        (
            ("relu", "gradient_tape/relu", "gradient_tape/item"),
            "saturated activation",
            "gradient_tape/tanh:0",
            "",
        ),
    ],
)
def test_zeros_are_followed_through_loops_and_not_into_the_forward_pass(
    tmp_path: Path, some: tuple[str, ...], reason: str, begins: str, of_out: str
) -> None:
    learning = ("x", "rnn/tanh", "loss", "gradient_tape/loss", *some)
    learning += () if of_out else ("gradient_tape/out",)
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", NODES, functions=FUNCTIONS))
        for name in FLOATS:
            for _visit in range(2):
                writer.log(name, SOME if name in learning else ZERO, step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    entries = {entry.variable: entry for entry in dead_layer_ledger(log.runs[0])}
    assert (entries["rnn/kernel"].reason, entries["rnn/kernel"].begins) == (reason, begins)
    assert entries["out/kernel"].reason == of_out


def remembering() -> tuple[list[Node], dict[str, Function]]:
    """The same layer with a kernel in its loop: the forward pass keeps what it was given at each visit in a
    list, which the backward pass takes it from."""
    pop = replace(node("gradient_tape/pop", "TensorListPopBack", "stack"), output_shapes=[[], [None]])
    kernel = replace(node("gradient_tape/kernel", "MatMul"), inputs=["gradient_tape/pop:1"])
    kernel.inputs.append("gradient_tape/tanh:0")
    stack = replace(node("stack", "_Arg", dtype="variant"), inputs=["rnn:1"])
    total = node("gradient_tape/sum", "AddN", "gradient_tape/ys", "gradient_tape/kernel")
    nodes = [each for each in NODES if each.name != total.name]
    nodes += within("body", node("rnn/in", "Mul", "take"))
    nodes += within("body", node("rnn/push", "TensorListPushBack", "hold", "rnn/in", dtype="variant"))
    nodes += within("back", stack, replace(pop, output_dtypes=["variant", "float32"]), kernel, total)
    return nodes, FUNCTIONS | {"body": replace(FUNCTIONS["body"], outputs=["rnn/tanh:0", "rnn/push:0"])}


@pytest.mark.parametrize(
    ("given", "reason"), [(ZERO, "dead input"), (SOME, "mask"), (None, "unknown")], ids=str
)
def test_what_a_loop_kept_for_the_backward_pass_is_a_dead_input(
    tmp_path: Path, given: np.ndarray | None, reason: str
) -> None:
    nodes, functions = remembering()
    zero = ("gradient_tape/kernel", "gradient_tape/sum", "gradient_tape/rnn")
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", nodes, functions=functions))
        for name in [*FLOATS, "gradient_tape/kernel"]:
            writer.log(name, ZERO if name in zero else SOME, step=0, graph=graph)
        if given is not None:
            writer.log("rnn/in", given, step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    entry = next(entry for entry in dead_layer_ledger(log.runs[0]) if entry.variable == "rnn/kernel")
    assert (entry.reason, entry.begins) == (reason, "gradient_tape/kernel:0")
