"""The recorded graph: nodes, layers, stacks, sources, GraphDef."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, Block, data, mlp

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.tracing import traced_function
from tensortap.capture.tracing.graph_builder import graph_of
from tensortap.capture.watching.watch import Watch
from tensortap.core.records import Graph


def record(tmp_path: Path, **options: Any) -> Graph:
    with Tap(tmp_path / "r", Watch(steps=1), **options) as tap:
        layer = Block(4, name="block")

        @tap.function
        def forward(x: Any) -> Any:
            with tf.GradientTape() as tape:
                y = layer(x)
                loss = tf.reduce_sum(y, name="loss")  # the line that a stack must name
            return tape.gradient(loss, layer.trainable_variables)

        forward(tf.ones([2, 3, 4]))
    return Dumped(tmp_path / "r").graph()


def test_nodes_know_their_layer_forward_and_backward(tmp_path: Path) -> None:
    graph = record(tmp_path)

    layers = {node.layer for node in graph.nodes}
    assert {"block/norm", "block/attention", "block/attention/query", "block/up", "block/down"} <= layers
    backward = {node.layer for node in graph.nodes if "gradient_tape" in node.name}
    assert {"block/attention/query", "block/up"} <= backward


def test_stacks_name_the_user_line_and_sources_hold_it(tmp_path: Path) -> None:
    graph = record(tmp_path)

    loss = next(node for node in graph.nodes if node.name == "loss")
    file, line, function = graph.stacks[loss.stack][-1]
    assert (file, function) == (__file__, "forward")
    assert "the line that a stack must name" in graph.sources[__file__].splitlines()[line - 1]
    assert all("site-packages" not in frame[0] for stack in graph.stacks for frame in stack)
    in_layer = next(node for node in graph.nodes if node.layer == "block/up" and node.op_type == "BiasAdd")
    assert any(frame[0] == inspect.getfile(Block) for frame in graph.stacks[in_layer.stack])


def test_no_step_waits_for_its_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    makers: list[threading.Thread] = []

    def noted(*args: Any) -> Graph:
        makers.append(threading.current_thread())
        return graph_of(*args)

    monkeypatch.setattr(traced_function, "graph_of", noted)
    graph = record(tmp_path)
    assert any(node.name == "loss" for node in graph.nodes)
    assert len(makers) == 1
    assert makers[0] is not threading.main_thread()


def test_tensors_are_kept_without_a_graph_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> Graph:
        raise ValueError("an op that nobody knows")

    monkeypatch.setattr(traced_function, "graph_of", broken)
    with Tap(tmp_path / "r", Watch(steps=1, keep="value")) as tap:
        double = tap.function(lambda x: tf.multiply(x, 2.0, name="double"))
        with pytest.warns(
            TapWarning, match="graph of .* cannot be recorded.*an op that nobody knows"
        ) as reported:
            for number in range(3):
                assert double(tf.constant(float(number))) == 2 * number
            tap.flush()
    assert len(reported) == 1
    kept = [row for row in Dumped(tmp_path / "r").rows if row.node == "double"]
    assert [(row.step, float(row.value), row.graph) for row in kept] == [(0, 0, ""), (1, 2, ""), (2, 4, "")]


def test_sources_can_be_skipped(tmp_path: Path) -> None:
    graph = record(tmp_path, sources=False)

    assert graph.sources == {}
    assert graph.stacks


@pytest.mark.parametrize("first", [True, False])
def test_each_of_two_taps_has_the_sources_that_it_may(tmp_path: Path, first: bool) -> None:
    function = tf.function(lambda x: tf.nn.relu(x, name="relu"))
    taps = {
        sources: Tap(tmp_path / str(sources), Watch(steps=1), sources=sources, record=1)
        for sources in (first, not first)
    }
    for tap in taps.values():
        with tap.step(0):
            function(tf.ones(2))
    for tap in taps.values():
        tap.close()
    for sources in taps:
        graphs = Dumped(tmp_path / str(sources)).graphs()
        assert [__file__ in graph.sources for graph in graphs] == [sources] * len(graphs)


def test_edges_and_functions_are_closed(tmp_path: Path) -> None:
    x, y = data(batches=1)
    mlp(steps_per_execution=2).fit(
        x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(tmp_path / "r").callback()]
    )

    graph = Dumped(tmp_path / "r").graph()
    names = [node.name for node in graph.nodes]
    assert len(set(names)) == len(names)
    slots = {f"{node.name}:{slot}" for node in graph.nodes for slot in range(len(node.output_dtypes))}
    for node in graph.nodes:
        assert node.function in graph.functions
        for source in node.inputs:
            assert source in slots or (source[0] == "^" and source[1:] in names)
        assert len(node.output_shapes) == len(node.output_dtypes)
    for function in graph.functions.values():
        assert set(function.outputs) <= slots
        assert function.role == "root" or (function.caller in names and function.parent in graph.functions)
    inner = [
        node
        for node in graph.nodes
        if node.op_type == "_Arg" and graph.functions[node.function].role != "root"
    ]
    assert inner and all(len(node.inputs) == 1 for node in inner)


def test_variables_have_names_and_shapes(tmp_path: Path) -> None:
    x, y = data(batches=1)
    mlp(optimizer="adam").fit(x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(tmp_path / "r").callback()])

    reads = {
        node.attributes["tensortap.variable"]: node.output_shapes[0]
        for node in Dumped(tmp_path / "r").graph().nodes
        if node.op_type == "ReadVariableOp" and "tensortap.variable" in node.attributes
    }
    assert reads["mlp/hidden/kernel"] == (6, 5)
    assert any("velocity" in name for name in reads)


def test_the_graph_def_can_be_imported(tmp_path: Path) -> None:
    x, y = data(batches=1)
    mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(tmp_path / "r").callback()])

    graph = Dumped(tmp_path / "r").graph()
    graph_def = tf.compat.v1.GraphDef.FromString(graph.graph_def)
    with tf.Graph().as_default() as imported:
        tf.graph_util.import_graph_def(graph_def, name="")
    assert imported.get_operation_by_name("IteratorGetNext").type == "IteratorGetNext"
    assert {function.signature.name for function in graph_def.library.function} < set(graph.functions)


@pytest.mark.nightly
def test_processes_that_trace_the_same_write_the_same_graph(tmp_path: Path) -> None:
    program = f"""
import sys; sys.path.insert(0, {str(Path(inspect.getfile(Block)).parent)!r})
import tensorflow as tf
for _ in range(int(sys.argv[2])): tf.function(lambda x: x + 1)(1)  # shifts all of TensorFlow's numbers
from small_models import BATCH, data, mlp
from tensortap.capture.tap import Tap
x, y = data(batches=1)
mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(sys.argv[1]).callback()])
"""
    for shift in "03":
        subprocess.run([sys.executable, "-c", program, str(tmp_path / "r"), shift], check=True)

    dumped = Dumped(tmp_path / "r")
    assert len(dumped.reader.workers()) == 2
    assert len(dumped.reader.graph_ids()) == 1


def test_a_model_without_keras_has_no_layers(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        tap.function(lambda x: x + 1.0)(tf.constant(1.0))

    assert {node.layer for node in Dumped(tmp_path / "r").graph().nodes} == {""}
    assert keras.layers.Layer.__call__.__module__.startswith("keras")


def test_a_function_that_is_gone_when_its_graph_is_made_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a loop that nobody holds once it ran WHEN the graph is made only then THEN it is whole."""
    gone = threading.Event()

    def late(*args: Any) -> Graph:
        assert gone.wait(60)
        return graph_of(*args)

    monkeypatch.setattr(traced_function, "graph_of", late)

    def in_a_loop(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            x = tf.exp(x, name="grow")
        return x

    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        tap.function(in_a_loop)(tf.zeros(2))
        gc.collect()
        gone.set()
    (graph,) = Dumped(tmp_path / "r").graphs()
    assert graph.graph_def is not None
    assert [node.name for node in graph.nodes if node.op_type == "Exp"] == ["while/grow"]
