"""Nodes that instrumented functions have besides their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import tensorflow as tf

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction

MARK = "tensortap"  # begins the name of every node that is added
HOST = "/device:CPU:0"  # the queue's own device: another device would have another queue


def add_node(definition: internals.FunctionDef, name: str, op: str, *inputs: str, **attributes: Any) -> Any:
    """Adds a node on the host to a function. A tuple is a shape."""
    node = definition.node_def.add(name=name, op=op, device=HOST, input=inputs)
    for key, value in attributes.items():
        if isinstance(value, tf.DType):
            node.attr[key].type = value.as_datatype_enum
        elif isinstance(value, tuple):
            node.attr[key].shape.CopyFrom(tf.TensorShape(value).as_proto())
        elif isinstance(value, str):
            node.attr[key].s = value.encode()
        elif op == "Const":
            node.attr[key].tensor.CopyFrom(tf.make_tensor_proto(value, attributes["dtype"]))
        else:
            node.attr[key].i = value
    return node


def hold(function: TracedFunction, definition: internals.FunctionDef, node_name: str, prefix: str) -> None:
    """Makes the consumers of a node wait until a queue is filled, because a consumer may raise and end the
    call.

    Args:
        function: the original.
        prefix: of the names of the queue's nodes.
    """
    held: dict[str, str] = {}

    def waiting(reference: str) -> str:
        if reference.split(":")[0] != node_name or reference not in function.flat_names:
            return reference
        if reference not in held:
            slot = int(function.flat_names[reference].rpartition(":")[2])
            dtype = function.operations[node_name].outputs[slot].dtype
            name = f"{prefix}/held_{len(held)}"
            node = definition.node_def.add(name=name, op="Identity", input=[reference, f"^{prefix}/enqueue"])
            node.attr["T"].type = dtype.as_datatype_enum
            held[reference] = f"{name}:output:0"
        return held[reference]

    for node in list(definition.node_def):
        if not node.name.startswith(f"{MARK}/"):
            node.input[:] = [waiting(each) for each in node.input]
    for result, reference in list(definition.ret.items()):
        definition.ret[result] = waiting(reference)


def mute(definition: internals.FunctionDef, op_types: Collection[str]) -> None:
    """Makes nodes of some op types no-ops at their places in the order."""
    arguments = {argument.name for argument in definition.signature.input_arg}
    for node in definition.node_def:
        if node.op in op_types:
            sources = dict.fromkeys(source.removeprefix("^").split(":")[0] for source in node.input)
            node.input[:] = [f"^{source}" for source in sources if source not in arguments]
            node.op = "NoOp"
            node.attr.clear()


def add_copy(definition: internals.FunctionDef, reference: str, dtype: Any) -> str:
    """Makes a function copy a tensor into memory of its own; returns the copy's name."""
    name = f"{MARK}/copy_{len(definition.node_def)}"
    node = definition.node_def.add(name=name, op="DeepCopy", input=[reference])
    node.attr["T"].type = dtype.as_datatype_enum
    return f"{name}:y:0"


def leave_unchanged(body: internals.FunctionDef, variables: Iterable[int]) -> None:
    """Makes the body of a loop compute no next value of some variables. What keeps a loop alive needs all of
    its variables, also those that TensorFlow would omit."""
    for index in variables:
        body.ret[body.signature.output_arg[index].name] = body.signature.input_arg[index].name


def begin_with_zero(definition: internals.FunctionDef, loop: internals.NodeDef, variable: int) -> None:
    """Makes a variable of a loop begin with zero or an empty list, so that its own first value need not be
    computed."""
    dtype = tf.as_dtype(loop.attr["T"].list.type[variable])
    if dtype == tf.resource:  # there is no zero
        return
    name = f"{MARK}/{loop.name}/begin_{variable}"
    if dtype == tf.variant:
        add_node(definition, f"{name}/any", "Const", dtype=tf.int32, value=-1)
        types = {"element_dtype": tf.float32, "shape_type": tf.int32}
        add_node(definition, name, "EmptyTensorList", *[f"{name}/any:output:0"] * 2, **types)
        loop.input[variable] = f"{name}:handle:0"
    else:
        zero = definition.node_def.add(name=name, op="Const")
        zero.attr["dtype"].type = dtype.as_datatype_enum
        zero.attr["value"].tensor.dtype = dtype.as_datatype_enum
        zero.attr["value"].tensor.tensor_shape.SetInParent()
        loop.input[variable] = f"{zero.name}:output:0"
    if loop.attr["output_shapes"].list.shape:
        loop.attr["output_shapes"].list.shape[variable].CopyFrom(tf.TensorShape(None).as_proto())


def keep_alive(definition: internals.FunctionDef, node: str) -> None:
    """Makes a node run although its outputs have no consumers."""
    if node not in definition.control_ret.values():
        key = f"tensortap_{len(definition.control_ret)}"
        definition.control_ret[key] = node
        definition.signature.control_output.append(key)


def tie_to_result(definition: internals.FunctionDef) -> None:
    """Makes a loop's condition depend on the nodes to keep alive; TensorFlow runs it only for its result."""
    result = definition.signature.output_arg[0]
    waiting = definition.node_def.add(name=f"{MARK}/condition", op="Identity")
    waiting.attr["T"].type = result.type
    waiting.input.append(definition.ret[result.name])
    waiting.input.extend(f"^{node}" for node in sorted(set(definition.control_ret.values())))
    definition.ret[result.name] = f"{waiting.name}:output:0"
