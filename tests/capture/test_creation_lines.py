"""Nodes carry the line that a reader looks for: of the layer, operator, loss or optimizer, and a gradient's
forward line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensortap import Tap, Watch
from tensortap.core.records import Graph
from tensortap.dump.read.runs import RunReader

HERE = Path(__file__)


def own_activation(x: Any) -> Any:
    return tf.nn.relu(x) * 2.0  # own activation


class Block(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__(name="block")
        self.inner = keras.layers.Dense(4, name="inner")  # inner constructor

    def call(self, x: Any) -> Any:
        return self.inner(x) + 1.0  # inner call


def functional_model() -> Any:
    inputs = keras.Input((4,))
    first = keras.layers.Dense(4, activation=own_activation, name="first")(inputs)  # first layer
    mixed = first * 0.5 + inputs  # operators
    nested = keras.Sequential([keras.layers.Dense(4, name="deep")], name="nested")(mixed)  # nested
    outputs = Block()(nested)  # block
    return keras.Model(inputs, outputs)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Graph]]:
    folder = tmp_path_factory.mktemp("lines")
    x, y = np.ones((8, 4), np.float32), np.ones((8, 4), np.float32)
    model = functional_model()
    model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=False)  # compiled
    with Tap(folder / "fit", watch=Watch(kinds="loss")) as tap:
        model.fit(x, y, verbose=0, callbacks=[tap.callback()])  # fit
    other, loss_of, optimizer = functional_model(), keras.losses.MeanSquaredError(), keras.optimizers.SGD(0.1)
    with Tap(folder / "loop", watch=Watch(kinds="loss")) as tap:

        @tap.function
        def train_step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = loss_of(y, other(x))  # own loss
            gradients = tape.gradient(loss, other.trainable_variables)
            optimizer.apply_gradients(zip(gradients, other.trainable_variables, strict=True))  # own update
            return loss

        train_step(tf.constant(x), tf.constant(y))
    yield {name: graph_of(folder / name) for name in ("fit", "loop")}


def graph_of(folder: Path) -> Graph:
    run = RunReader(folder)
    return run.graph(run.graph_ids()[0])


def lines_of(graph: Graph, part: str, op_type: str) -> set[str]:
    """The comments on the innermost lines of some nodes."""
    texts = HERE.read_text().splitlines()
    found = [node for node in graph.nodes if part in f"/{node.name}" and node.op_type == op_type]
    return {texts[graph.stacks[node.stack][-1][1] - 1].rpartition("# ")[2] for node in found}


@pytest.mark.parametrize("run", ["fit", "loop"])
@pytest.mark.parametrize(
    ("part", "op_type", "line"),
    [
        ("/first", "MatMul", "first layer"),
        ("/first", "Relu", "own activation"),
        ("functional", "AddV2", "operators"),
        ("/deep", "BiasAdd", "nested"),
        ("/inner", "MatMul", "inner call"),
        ("/first", "BiasAddGrad", "first layer"),
        ("/inner", "BiasAddGrad", "inner call"),
        ("gradient_tape/functional", "Mul", "operators"),
    ],
)
def test_the_line_of_a_node(graphs: dict[str, Graph], run: str, part: str, op_type: str, line: str) -> None:
    assert line in lines_of(graphs[run], part, op_type)


def test_gradients_of_functions_under_an_eager_tape_have_their_forward_line(tmp_path: Path) -> None:
    @tf.function
    def distance(x: Any) -> Any:
        return tf.sqrt(tf.reduce_sum(x))  # root

    with Tap(tmp_path / "r", Watch(steps=1)) as tap, tap.step(0), tf.GradientTape() as tape:
        x = tf.Variable([1.0, 2.0])
        tape.gradient(distance(x), x)
    reader = RunReader(tmp_path / "r")
    (backward,) = (graph for name in reader.graph_ids() if "backward" in (graph := reader.graph(name)).name)
    assert lines_of(backward, "", "SqrtGrad") == {"root"}


def test_in_fit_losses_and_updates_name_the_line_that_compiled(graphs: dict[str, Graph]) -> None:
    assert lines_of(graphs["fit"], "compile_loss", "Square") == {"compiled"}
    assert lines_of(graphs["fit"], "", "AssignSubVariableOp") == {"compiled"}


@pytest.mark.parametrize("line", ["own regularizer", "layer with a regularizer"])
def test_a_regularizer_has_the_line_that_created_it(tmp_path: Path, line: str) -> None:
    x = np.ones((8, 4), np.float32)
    regularizer: Any = "l2"
    if line == "own regularizer":
        regularizer = keras.regularizers.L2(0.1)  # own regularizer
    layer = keras.layers.Dense(4, kernel_regularizer=regularizer)  # layer with a regularizer
    model = keras.Sequential([keras.Input((4,)), layer])
    model.compile("sgd", "mse", jit_compile=False)
    with Tap(tmp_path / "r", watch=Watch(kinds="loss")) as tap:
        model.fit(x, x, verbose=0, callbacks=[tap.callback()])
    graph = graph_of(tmp_path / "r")
    squares = [node for node in graph.nodes if node.op_type == "Square" and "compile_loss" not in node.name]
    (found,) = {graph.stacks[node.stack][-1][1] for node in squares}
    assert HERE.read_text().splitlines()[found - 1].rpartition("# ")[2] == line


def test_in_a_loop_of_ones_own_they_name_the_line_that_calls(graphs: dict[str, Graph]) -> None:
    assert lines_of(graphs["loop"], "", "Square") == {"own loss"}
    assert lines_of(graphs["loop"], "", "AssignSubVariableOp") == {"own update"}


def test_keras_serializes_models_as_before() -> None:
    model = functional_model()
    config = model.layers[1].get_config()
    assert config["units"] == 4 and config["name"] == "first"
    multiply = (keras.Input((2,)) * 0.5)._keras_history.operation
    assert type(multiply).from_config(multiply.get_config()).name == multiply.name


def test_a_loaded_model_is_compiled_as_before(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    x, y = np.ones((8, 4), np.float32), np.ones((8, 4), np.float32)
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert loaded.compiled
    assert loaded.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)


LATE_TAP = """
import keras
import numpy as np

import tensortap

model = keras.Sequential(
    [
        keras.layers.Dense(4, "relu", name="hidden"),
    ]
)
model.compile("sgd", "mse", jit_compile=False)
with tensortap.Tap("run") as tap:
    model.fit(np.ones((8, 4)), np.ones((8, 4)), verbose=0, callbacks=[tap.callback()])
"""


def test_layers_that_were_built_before_the_first_tap_have_their_lines(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(LATE_TAP)
    subprocess.run([sys.executable, str(program)], cwd=tmp_path, check=True, capture_output=True)
    run = RunReader(tmp_path / "run")
    lines = {
        LATE_TAP.splitlines()[graph.stacks[node.stack][-1][1] - 1].strip()
        for graph in map(run.graph, run.graph_ids())
        for node in graph.nodes
        if node.name.endswith("hidden_1/Relu")
    }
    assert lines == {'keras.layers.Dense(4, "relu", name="hidden"),'}
