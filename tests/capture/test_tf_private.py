"""Pins TensorFlow's private surface: if these fail after an upgrade, `tf_private.py` must follow."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tensortap.capture import tf_private


@tf.function
def double(x: Any) -> Any:
    return tf.add(x, x, name="sum")


@pytest.fixture
def function_name() -> str:
    names: list[bytes] = []

    def hook(run: tf_private.CallFunction, name: bytes, inputs: Any, num_outputs: int) -> Any:
        names.append(name)
        return run(name, inputs, num_outputs)

    uninstall = tf_private.install_call_hook(hook)
    try:
        assert double(tf.constant([1.0])).numpy() == [2.0]
    finally:
        uninstall()
    double(tf.constant([1.0]))
    (name,) = names
    return name.decode()


def test_the_waist_has_the_signature_we_wrap() -> None:
    parameters = list(inspect.signature(context.Context.call_function).parameters)
    assert parameters == ["self", "name", "tensor_inputs", "num_outputs"]


def test_definitions_can_be_read_copied_run_and_removed(function_name: str) -> None:
    definition = tf_private.function_def(function_name)
    assert "sum" in [node.name for node in definition.node_def]
    copy = tf_private.copied(definition, "tensortap_test_copy")
    tf_private.register_function(copy)
    assert tf_private.has_function("tensortap_test_copy")
    (output,) = context.context().call_function(b"tensortap_test_copy", [tf.constant([2.0])], 1)
    assert tf_private.as_array(output) == [4.0]
    tf_private.remove_function("tensortap_test_copy")
    assert not tf_private.has_function("tensortap_test_copy")


def test_graphs_of_definitions(function_name: str) -> None:
    definition = tf_private.function_def(function_name)
    graph, found = tf_private.function_graph(definition, {})
    assert graph.get_operation_by_name("sum").outputs[0].shape == [1]
    _, flat_names = tf_private.flat_graph_def(definition)
    assert found == flat_names
    assert flat_names["sum:z:0"] == "sum:0"
    assert flat_names["x"] == "x:0"
    info = tf_private.debug_info(function_name)
    assert __file__ in info.files


def test_handles_carry_shapes() -> None:
    variable = tf.Variable(tf.zeros([2, 3]))
    handle = tf_private.handle_data(variable.handle)
    assert handle is not None
    assert [dimension.size for dimension in handle.shape_and_type[0].shape.dim] == [2, 3]
    assert tf_private.tensor_id(variable.handle) == tf_private.tensor_id(variable.handle)


def test_queues_are_shared_by_name() -> None:
    first = tf_private.open_queue([tf.float32, tf.string], "tensortap_test_queue")
    second = tf_private.open_queue([tf.float32, tf.string], "tensortap_test_queue")
    tf.raw_ops.QueueEnqueueV2(handle=first, components=[tf.constant(1.0), tf.constant("a")])
    assert tf_private.queue_size(second) == 1
    number, text = tf_private.dequeue(second, [tf.float32, tf.string])
    assert tf_private.as_array(number).dtype == np.float32
    assert tf_private.as_array(text).tolist() == b"a"
    tf_private.destroy_queue(first)


def test_arrays_are_views_of_host_memory() -> None:
    tensor = tf.random.uniform([1000])
    assert tf_private.as_array(tensor).ctypes.data == tf_private.as_array(tensor).ctypes.data


def test_op_callbacks_can_be_suspended() -> None:
    seen: list[str] = []

    def note(op_type: Any, *rest: Any, **more: Any) -> None:
        seen.append(op_type)

    tf_private.add_op_callback(note)
    try:
        tf.add(1.0, 2.0)
        with tf_private.not_recorded():
            tf.subtract(1.0, 2.0)
        tf.multiply(1.0, 2.0)
    finally:
        tf_private.remove_op_callback(note)
    assert [op for op in seen if op in ("AddV2", "Sub", "Mul")] == ["AddV2", "Mul"]


def test_resources_tell_what_they_are() -> None:
    iterator = iter(tf.data.Dataset.range(3))
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [2]), -1)
    assert tf_private.resource_type(tf.Variable('a quote", type=').handle) == "tensorflow::Var"
    handle = tf_private.iterator_handle(iterator)
    assert tf_private.resource_type(handle) == "tensorflow::data::IteratorResource"
    assert "LookupInterface" in tf_private.resource_type(table.resource_handle)


def test_stateful_ops_are_known() -> None:
    assert [tf_private.is_stateful(op) for op in ("MatMul", "AssignVariableOp", "NoSuchOp")] == [
        False,
        True,
        True,
    ]
