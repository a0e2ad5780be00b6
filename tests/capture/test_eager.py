"""`tap.eager()`: ops outside functions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import mlp
from synthetic_runs import findings_of

from tensortap.capture.errors import TapWarning
from tensortap.capture.pipeline.messages import Message, TensorBatch
from tensortap.capture.pipeline.writer_thread import WriterThread
from tensortap.capture.tap import Tap
from tensortap.capture.tracing import trace_notes
from tensortap.capture.tracing.trace_notes import EagerTrace, VariableNotes, paths_of
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.watch import Watch
from tensortap.index.logdir_index import LogIndex

ALL = Watch(steps=1, keep="value")


def test_ops_are_nodes_with_inputs_and_stacks(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap, tap.eager():
        x = tf.constant([[1.0, 2.0]])
        y = tf.matmul(x, x, transpose_b=True)
        tf.nn.relu(y)
        tf.nn.relu(-y)

    dumped = Dumped(tmp_path / "r")
    graph = dumped.graph("eager")
    assert dumped.value("MatMul:0").tolist() == [[5.0]]
    assert dumped.value("Relu:0").tolist() == [[5.0]]
    assert dumped.value("Relu_1:0").tolist() == [[0.0]]
    inputs = {node.name: list(node.inputs) for node in graph.nodes}
    assert inputs["Relu"] == ["MatMul:0"]
    assert inputs["Relu_1"] == ["Neg:0"]
    relu = next(node for node in graph.nodes if node.name == "Relu")
    assert graph.stacks[relu.stack][-1][0] == __file__


def test_functions_that_run_eagerly_are_captured_op_by_op(tmp_path: Path) -> None:
    tf.config.run_functions_eagerly(True)
    try:
        with Tap(tmp_path / "r", ALL) as tap:
            tapped = tap.function(lambda x: tf.nn.relu(x))
            tapped(tf.constant([-1.0, 2.0]))
            with tap.step(1):
                tf.function(lambda x: tf.nn.relu(x))(tf.constant([3.0]))
    finally:
        tf.config.run_functions_eagerly(False)
    dumped = Dumped(tmp_path / "r")
    assert [dumped.value("Relu:0", step).tolist() for step in (0, 1)] == [[0.0, 2.0], [3.0]]


def test_steps_have_the_same_names_and_functions_their_own_graph(tmp_path: Path) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.add(x, 1.0, name="plus")

    with Tap(tmp_path / "r", ALL) as tap:
        for number in range(3):
            with tap.eager():
                inner(tf.square(tf.fill([], float(number))))

    dumped = Dumped(tmp_path / "r")
    assert [float(row.value) for row in dumped.at("Square:0")] == [0.0, 1.0, 4.0]
    assert [float(row.value) for row in dumped.at("plus:0")] == [1.0, 2.0, 5.0]
    assert {graph.name for graph in dumped.graphs()} == {"eager", "inner"}
    assert len(dumped.graphs()) == 2


def test_layers_and_gradients(tmp_path: Path) -> None:
    model = mlp()
    x = np.ones((2, 6), np.float32)
    with Tap(tmp_path / "r", ALL) as tap:
        with tap.step(5), tap.eager(), tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
            gradient = tape.gradient(loss, model.trainable_variables)[0]
        untapped = keras.ops.relu(x)

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [5]
    np.testing.assert_array_equal(
        dumped.value("mlp/hidden/MatMul:0", 5), np.matmul(x, model.weights[0].numpy())
    )
    nodes = {node.name: node for node in dumped.graph("eager").nodes}
    (name,) = [
        name
        for name, node in nodes.items()
        if node.attributes.items()
        >= {"tensortap.kind": "gradient", "tensortap.variable": "mlp/hidden/kernel"}.items()
    ]
    np.testing.assert_array_equal(dumped.value(f"{name}:0", 5), gradient.numpy())
    assert name.startswith("gradient_tape/mlp/hidden/MatMul/MatMul")
    assert untapped is not None


class Scaled(tf.Module):
    """A layer without Keras: of its variables one has a name, one has none, and one is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.ones([6, 3]))
        self.bias = tf.Variable(tf.zeros([3]), name="offset")
        self.scale = tf.Variable(2.0, trainable=False)

    def __call__(self, x: Any) -> Any:
        return (x @ self.kernel + self.bias) * self.scale


def eager_loop(tap: Tap, steps: int = 3) -> tuple[Any, list[float]]:
    """Trains a module and a Keras layer with a Keras optimizer; returns both, and the losses."""
    keras.utils.clear_session()  # the optimizer's name is numbered
    keras.utils.set_random_seed(0)
    module, dense, optimizer = Scaled(), keras.layers.Dense(2, name="out"), keras.optimizers.Adam(0.01)
    losses = []
    for step in range(steps):
        with tap.step(step), tap.eager():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(dense(tf.nn.relu(module(tf.ones([4, 6]))))))
            variables = [module.kernel, module.bias, *dense.trainable_variables]
            optimizer.apply(tape.gradient(loss, variables), variables)
            losses.append(float(loss))
    return module, losses


def test_variables_have_names_and_roles(tmp_path: Path) -> None:
    """GIVEN variables with and without names THEN their nodes have Keras' path, the name, or the attribute;
    reads, gradients, updates and the loss are marked as in the graph of a function."""
    with Tap(tmp_path / "r", ALL) as tap:
        eager_loop(tap)

    dumped = Dumped(tmp_path / "r")
    latest = dumped.graphs()[-1]
    nodes = {node.name: node for node in latest.nodes}
    handles = {name for name, node in nodes.items() if node.op_type == "VarHandleOp"}
    assert {"kernel", "offset", "scale", "out/kernel", "out/bias", "adam/iteration"} <= handles
    marked: dict[str, set[str]] = {}
    for node in nodes.values():
        if "tensortap.kind" in node.attributes:
            variable = node.attributes.get("tensortap.variable", "")
            marked.setdefault(node.attributes["tensortap.kind"], set()).add(variable)
    trained = {"kernel", "offset", "out/kernel", "out/bias"}
    assert marked == dict.fromkeys(("weight", "gradient", "update"), trained) | {"loss": {""}, "output": {""}}
    reads = [node for node in nodes.values() if node.attributes.get("tensortap.kind") == "weight"]
    assert {node.attributes["tensortap.trainable"] for node in reads} == {"true"}
    assert {node.inputs[0] for node in reads} == {f"{name}:0" for name in trained}
    assert latest.variables["out/kernel"] == "weight"
    assert latest.variables["adam/iteration"] == "iteration"
    (call,) = latest.layers
    assert (call.path, call.inputs, call.outputs) == ("out", ("Relu:0",), ("out/BiasAdd:0",))


def test_unnamed_variables_are_named_after_what_holds_them() -> None:
    """GIVEN variables without names THEN an attribute or a key names each, unless two of them differ."""
    module = Scaled()
    held = {"table": tf.Variable(1.0), "one": (shared := tf.Variable(2.0)), "other": shared}
    variables = [module.kernel, module.bias, held["table"], shared, tf.Variable(3.0)]
    assert paths_of(variables) == ["kernel", "offset", "table", "Variable", "Variable"]


class Guarded:
    def __init__(self, held: Any) -> None:
        self.held = held

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_objects_whose_attributes_raise_are_skipped() -> None:
    variable = tf.Variable(1.0)
    holders = Guarded(variable), {"table": variable}
    assert paths_of([variable]) == ["table"]
    assert len(holders) == 2


def test_variables_of_each_step_are_forgotten_and_searched_for_a_limited_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = list[int]()

    def search(variables: Sequence[Any]) -> list[set[str]]:
        searches.append(len(variables))
        return [{f"found_{len(searches)}"} for _ in variables]

    monkeypatch.setattr(trace_notes, "_held_as", search)
    monkeypatch.setattr(trace_notes, "_MAX_SEARCHES", 3)
    notes, kept = VariableNotes(), tf.Variable(1.0)
    paths = [notes.note_variable(kept), *(notes.note_variable(tf.Variable(2.0)) for _ in range(5))]
    assert paths == ["found_1", "found_2", "found_3", "Variable", "Variable", "Variable"]
    assert notes.note_variable(kept) == "found_1"
    assert len(searches) == 3
    assert len(notes._paths) <= 2


def test_only_what_a_watch_may_select_is_held_and_only_while_there_is_room() -> None:
    trace = EagerTrace(kinds={"loss"}, room=100)
    trace.hold("weight", "1", tf.zeros([10]))
    trace.hold("loss", "2", small := tf.zeros([20]))
    trace.hold("loss", "3", tf.zeros([10]))
    assert trace.held == {"2": small, "3": tf.TensorSpec([10])}


def test_watched_weights_that_cannot_be_held_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    layer = keras.layers.Dense(40, name="out")
    layer.build([1, 40])
    with Tap(tmp_path / "r", Watch(kinds="weight", steps=1), queue_bytes=1000) as tap, tap.eager():
        layer(tf.zeros([1, 40]))
    assert Dumped(tmp_path / "r").dropped == 1
    assert "1 snapshot of run 'r' was dropped" in capfd.readouterr().err


def test_gradients_of_repeated_ops_have_the_forward_op_that_fits_alone(tmp_path: Path) -> None:
    """GIVEN a square as a product, and two equal ops THEN only the gradient of the square has its op."""
    with Tap(tmp_path / "r", ALL) as tap, tap.eager(), tf.GradientTape() as tape:
        x, one = tf.constant([2.0]), tf.constant([1.0])
        tape.watch(x)
        tape.gradient(x * x + tf.maximum(x, one) + tf.maximum(x, one), x)
    names = {node.name for node in Dumped(tmp_path / "r").graph("eager").nodes}
    assert any(name.startswith("gradient_tape/Mul/") for name in names)
    assert not any("Maximum" in name.partition("gradient_tape/")[2] for name in names)


def test_gradients_are_named_after_their_forward_ops_and_have_their_lines(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        eager_loop(tap, steps=1)

    graph = Dumped(tmp_path / "r").graph("eager")
    nodes = {node.name: node for node in graph.nodes}
    backward = [name for name in nodes if name.startswith("gradient_tape/")]
    assert {"gradient_tape/Relu/ReluGrad", "gradient_tape/out/MatMul/MatMul"} <= {*backward}
    assert nodes["gradient_tape/out/MatMul/MatMul"].layer == "out"
    product, relu = (
        graph.stacks[nodes[f"gradient_tape/{name}"].stack] for name in ("MatMul/MatMul", "Relu/ReluGrad")
    )
    assert (product[-1][2], relu[-1][2]) == ("__call__", "eager_loop")


class Codebook(keras.layers.Layer):
    """Has a `tf.Variable` that nothing trains, beside weights that are trained."""

    def build(self, shape: Any) -> None:
        self.codes = tf.Variable(tf.random.normal([3, 3]), trainable=False)
        self.kernel = self.add_weight(shape=(3, 3), name="kernel")

    def call(self, x: Any) -> Any:
        return x @ self.codes @ self.kernel


@pytest.mark.parametrize("eager", [False, True])
def test_untrained_variables_are_marked(tmp_path: Path, *, eager: bool) -> None:
    """GIVEN tf.Variable(trainable=False) in a layer THEN it is no weight that someone forgot to train."""
    layer, optimizer = Codebook(name="book"), keras.optimizers.SGD(0.1)
    layer.build((4, 3))

    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) ** 2)
        optimizer.apply(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)
        return loss

    with Tap(tmp_path / "r", ALL) as tap:
        function = train if eager else tap.function(train)
        for step in range(4):
            with tap.step(step), tap.eager() if eager else nullcontext():
                function(tf.ones([4, 3]) * (step + 1.0))

    graph = Dumped(tmp_path / "r").graphs()[-1]
    read = {
        node.attributes["tensortap.variable"]: node.attributes
        for node in graph.nodes
        if node.attributes.get("tensortap.kind") == "weight"
    }
    assert {path: texts["tensortap.trainable"] for path, texts in read.items()} == {
        "book/codes": "false",
        "book/kernel": "true",
    }
    assert read["book/codes"]["tensortap.constant"] == "true"
    log = LogIndex(tmp_path)
    log.refresh()
    assert findings_of("UnchangedTensor", log.runs[0]) == []


def test_triggers_see_the_loss_of_eager_code(tmp_path: Path) -> None:
    """GIVEN a trigger on the loss WHEN the loss of an eager step is NaN THEN it fires."""
    weight = tf.Variable(1.0)
    with Tap(tmp_path / "r", Watch(steps=100), on=NonFinite(Watch(kinds="loss"))) as tap:
        for step in range(3):
            with tap.step(step), tap.eager(), tf.GradientTape() as tape:
                loss = tf.math.log(weight - 1.0 * step)
                tape.gradient(loss, weight)
    assert tap.fired
    assert Dumped(tmp_path / "r").events("trigger")


def test_watches_select_roles_in_eager_code(tmp_path: Path) -> None:
    kinds = ["gradients of out", "losses", "weights", "updates of out"]
    with Tap(tmp_path / "r", Watch(kinds=kinds, steps=1, keep="value")) as tap:
        module, losses = eager_loop(tap)

    dumped = Dumped(tmp_path / "r")
    (graph,) = {graph.name: graph for graph in dumped.graphs()}.values()
    attributes = {node.name: node.attributes for node in graph.nodes}
    found = {
        (attributes[row.node]["tensortap.kind"], attributes[row.node].get("tensortap.variable"))
        for row in dumped.rows
    }
    own = {"out/kernel", "out/bias"}
    assert found == {
        ("loss", None),
        *(("weight", path) for path in {"kernel", "offset", *own}),
        *((kind, path) for kind in ("gradient", "update") for path in own),
    }
    (loss,) = [name for name, texts in attributes.items() if texts.get("tensortap.kind") == "loss"]
    assert [float(dumped.value(f"{loss}:0", step)) for step in range(3)] == losses
    assert module.kernel.numpy().shape == (6, 3)


def test_unwatched_steps_are_free(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=[1])) as tap:
        for _ in range(3):
            with tap.eager():
                tf.add(1.0, 2.0)

    assert Dumped(tmp_path / "r").steps == [1]


def test_more_than_fits_is_dropped_and_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Tap(tmp_path / "r", ALL, queue_bytes=1000) as tap, tap.eager():
        tf.zeros([10])
        tf.zeros([1000])

    dumped = Dumped(tmp_path / "r")
    assert dumped.dropped == 1
    assert "1 snapshot of run 'r' was dropped" in capfd.readouterr().err


def test_a_failing_hand_over_is_reported_and_not_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = WriterThread.put

    def broken(writer_thread: WriterThread, message: Message) -> bool:
        if isinstance(message, TensorBatch):
            raise MemoryError("no room")
        return put(writer_thread, message)

    monkeypatch.setattr(WriterThread, "put", broken)
    tap = Tap(tmp_path / "r", ALL)
    reported = "eager ran, but its tensors could not be stored .MemoryError"
    with pytest.warns(TapWarning, match=reported), tap.eager():
        total = tf.add(1.0, 2.0)
    assert total == 3.0
    tap.close()


def test_steps_in_one_body_are_steps_of_their_own(tmp_path: Path) -> None:
    """GIVEN `with tap.eager():` around a loop THEN what runs inside of a step belongs to that step only."""
    with Tap(tmp_path / "r", Watch(steps=2, keep="value")) as tap, tap.eager():
        for number in range(4):
            with tap.step(10 + number):
                tf.square(tf.fill([], float(number)))
        tf.negative(tf.fill([], 7.0))

    dumped = Dumped(tmp_path / "r")
    assert {row.step: float(row.value) for row in dumped.at("Square:0")} == {10: 0.0, 12: 4.0}
    assert [(row.step, float(row.value)) for row in dumped.at("Neg:0")] == [(0, -7.0)]


@pytest.mark.parametrize(
    ("choice", "hint"), [({"kinds": "gradient"}, "capture with Watch"), ({"ops": "Sqare"}, "mean 'Square'")]
)
def test_eager_ops_of_which_nothing_is_selected_are_reported(
    tmp_path: Path, choice: dict[str, Any], hint: str
) -> None:
    tap = Tap(tmp_path / "r", Watch(**choice, steps=1))
    with tap.eager():
        tf.square(tf.ones([2]))
    with pytest.warns(TapWarning, match=f"nothing was captured: .* selects no tensor in eager.*{hint}"):
        tap.close()


def test_a_step_of_eager_code_outside_of_a_scope_says_how_to_capture_it(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        reported = r"step 3 ran ops outside functions only, .*`with tap.step\(\), tap.eager\(\):`"
        with pytest.warns(TapWarning, match=reported), tap.step(3):
            tf.square(tf.ones([2]))
        with tap.step():  # once is enough
            tf.square(tf.ones([2]))


def test_eager_ops_beside_captured_ones_are_not_reported(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        function = tap.function(lambda x: tf.square(x))
        for _ in range(2):
            with tap.step(), tap.eager():
                tf.square(tf.ones([2]))
        with tap.step():
            function(tf.ones([2]))
        with tap.step():
            tf.square(tf.ones([2]))
