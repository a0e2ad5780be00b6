"""Pins TensorFlow's private surface: if these fail after an upgrade, `tf/internals.py` must follow."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tensortap.tf import internals


@tf.function
def double(x: Any) -> Any:
    return tf.add(x, x, name="sum")


@pytest.fixture
def function_name() -> str:
    names: list[bytes] = []

    def hook(run: internals.CallFunction, name: bytes, inputs: Any, num_outputs: int) -> Any:
        names.append(name)
        return run(name, inputs, num_outputs)

    uninstall = internals.install_call_hook(hook)
    try:
        assert double(tf.constant([1.0])).numpy() == [2.0]
    finally:
        uninstall()
    double(tf.constant([1.0]))
    (name,) = names
    return name.decode()


def test_a_removed_hook_is_not_called_below_another_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[bytes] = []

    def hook(run: internals.CallFunction, name: bytes, inputs: Any, num_outputs: int) -> Any:
        called.append(name)
        return run(name, inputs, num_outputs)

    monkeypatch.setattr(context.Context, "call_function", context.Context.call_function)
    uninstall = internals.install_call_hook(hook)
    ours = context.Context.call_function
    context.Context.call_function = lambda self, *arguments: ours(self, *arguments)
    uninstall()
    assert double(tf.constant([1.0])).numpy() == [2.0]
    assert not called


def test_the_waist_has_the_signature_we_wrap() -> None:
    parameters = list(inspect.signature(context.Context.call_function).parameters)
    assert parameters == ["self", "name", "tensor_inputs", "num_outputs"]


def test_definitions_can_be_read_copied_run_and_removed(function_name: str) -> None:
    definition = internals.function_def(function_name)
    assert "sum" in [node.name for node in definition.node_def]
    copy = internals.copied(definition, "tensortap_test_copy")
    internals.register_function(copy)
    assert internals.has_function("tensortap_test_copy")
    (output,) = context.context().call_function(b"tensortap_test_copy", [tf.constant([2.0])], 1)
    assert internals.as_array(output) == [4.0]
    internals.remove_function("tensortap_test_copy")
    assert not internals.has_function("tensortap_test_copy")


def test_graphs_of_definitions(function_name: str) -> None:
    definition = internals.function_def(function_name)
    graph, found = internals.function_graph(definition, {})
    assert graph.get_operation_by_name("sum").outputs[0].shape == [1]
    _, flat_names = internals.flat_graph_def(definition)
    assert found == flat_names
    assert flat_names["sum:z:0"] == "sum:0"
    assert flat_names["x"] == "x:0"
    info = internals.debug_info(function_name)
    assert __file__ in info.files


def test_handles_carry_shapes() -> None:
    variable = tf.Variable(tf.zeros([2, 3]))
    handle = internals.handle_data(variable.handle)
    assert handle is not None
    assert [dimension.size for dimension in handle.shape_and_type[0].shape.dim] == [2, 3]
    assert internals.tensor_id(variable.handle) == internals.tensor_id(variable.handle)


def test_queues_are_shared_by_name() -> None:
    first = internals.open_queue([tf.float32, tf.string], "tensortap_test_queue")
    second = internals.open_queue([tf.float32, tf.string], "tensortap_test_queue")
    tf.raw_ops.QueueEnqueueV2(handle=first, components=[tf.constant(1.0), tf.constant("a")])
    assert internals.queue_size(second) == 1
    number, text = internals.dequeue(second, [tf.float32.as_datatype_enum, tf.string.as_datatype_enum])
    assert internals.as_array(number).dtype == np.float32
    assert internals.as_array(text).tolist() == b"a"
    internals.destroy_resource(first)


def test_arrays_are_views_of_host_memory() -> None:
    tensor = tf.random.uniform([1000])
    assert internals.as_array(tensor).ctypes.data == internals.as_array(tensor).ctypes.data


def test_op_callbacks_can_be_suspended() -> None:
    seen: list[str] = []

    def note(op_type: Any, *rest: Any, **more: Any) -> None:
        seen.append(op_type)

    internals.add_op_callback(note)
    try:
        tf.add(1.0, 2.0)
        with internals.not_recorded():
            tf.subtract(1.0, 2.0)
        tf.multiply(1.0, 2.0)
    finally:
        internals.remove_op_callback(note)
    assert [op for op in seen if op in ("AddV2", "Sub", "Mul")] == ["AddV2", "Mul"]


def test_resources_tell_what_they_are() -> None:
    iterator = iter(tf.data.Dataset.range(3))
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [2]), -1)
    assert internals.resource_type(tf.Variable('a quote", type=').handle) == "tensorflow::Var"
    handle = internals.iterator_handle(iterator)
    assert internals.resource_type(handle) == "tensorflow::data::IteratorResource"
    assert "LookupInterface" in internals.resource_type(table.resource_handle)


def test_stateful_ops_are_known() -> None:
    assert [internals.is_stateful(op) for op in ("MatMul", "AssignVariableOp", "NoSuchOp")] == [
        False,
        True,
        True,
    ]


def test_lines_that_autograph_generates_are_those_of_the_program() -> None:
    internals.note_generated_lines()

    def program(x: Any) -> Any:
        return tf.add(x, 1.0)

    converted = tf.autograph.to_graph(program)
    code = converted.__code__
    first = inspect.getsourcelines(program)[1]
    found = [internals.user_line(code.co_filename, line, "f") for line in range(code.co_firstlineno, 40)]
    assert (__file__, first + 1) in [line[:2] for line in found]
    assert internals.user_line(__file__, 3, "f") == (__file__, 3, "f")
