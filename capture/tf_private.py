"""Every private name of TensorFlow that capture depends on, in one place;
`tests/capture/test_tf_private.py` pins them.

Private because TensorFlow offers no public way to see what a traced function computes. Nothing else in
this room imports from `tensorflow.python` or `tensorflow.core`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from tensorflow.core.framework import function_pb2, types_pb2
from tensorflow.python.eager import context, record
from tensorflow.python.framework import function_def_to_graph, importer, op_callbacks, op_def_registry
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops import gen_data_flow_ops, gen_resource_variable_ops, handle_data_util

# Messages of protobuf, which carry no types.
FunctionDef: TypeAlias = Any
GraphDef: TypeAlias = Any
NodeDef: TypeAlias = Any
AttrValue: TypeAlias = Any
HandleData: TypeAlias = Any
GraphDebugInfo: TypeAlias = Any

_RESOURCE_TYPE = re.compile(r'ResourceHandle\(.*, type="([^"]*)"', re.DOTALL)

XLA_ATTRIBUTE = "_XlaMustCompile"

CallFunction = Callable[[bytes, Sequence[Any], int], Any]
"""Runs a registered function: (name, flat inputs, number of outputs) -> list of eager tensors, or None."""
CallHook = Callable[[CallFunction, bytes, Sequence[Any], int], Any]


def install_call_hook(hook: CallHook) -> Callable[[], None]:
    """Sends every eager call of a traced function through `hook`; returns what takes the hook out again.

    `Context.call_function` is the one waist through which tf.function, Keras' train, test and predict
    functions, SavedModel signatures and a tape's forward and backward functions run.
    """
    original = context.Context.call_function

    def call_function(self: Any, name: bytes, tensor_inputs: Sequence[Any], num_outputs: int) -> Any:
        return hook(lambda *arguments: original(self, *arguments), name, tensor_inputs, num_outputs)

    context.Context.call_function = call_function

    def uninstall() -> None:
        # Somebody may have wrapped ours in the meantime; then it stays as a pass-through.
        if context.Context.call_function is call_function:
            context.Context.call_function = original

    return uninstall


def executing_eagerly() -> bool:
    """Whether this thread is outside of any graph or trace."""
    return bool(context.executing_eagerly())


def function_def(name: str) -> FunctionDef:
    """The definition of a registered function. Raises tf.errors.NotFoundError."""
    return context.context().get_function_def(name)


def copied(definition: FunctionDef, name: str) -> FunctionDef:
    """A copy of a definition under another name, not yet registered."""
    copy = function_pb2.FunctionDef()
    copy.CopyFrom(definition)
    copy.signature.name = name
    return copy


def has_function(name: str) -> bool:
    return bool(context.context().has_function(name))


def register_function(definition: FunctionDef) -> None:
    context.context().add_function_def(definition)


def remove_function(name: str) -> None:
    context.context().remove_function(name.encode())


def debug_info(name: str) -> GraphDebugInfo:
    """Where the nodes of a registered function were created (Autograph frames point at the user's lines)."""
    return context.context().get_graph_debug_info(name.encode())


def function_graph(definition: FunctionDef, handles: Mapping[str, HandleData]) -> FuncGraph:
    """The definition as a graph with inferred shapes; its op names are those of the definition's nodes.

    Args:
        handles: argument name -> shape and dtype of the variable behind a resource, which definitions do
            not hold.
    """
    graph_def, _ = flat_graph_def(definition)
    for node in graph_def.node[: len(definition.signature.input_arg)]:
        if node.name in handles and handles[node.name].is_set:
            _make_typed_argument(node, handles[node.name])
    graph = FuncGraph(definition.signature.name)
    with graph.as_default():
        importer.import_graph_def_for_function(graph_def, name="", propagate_device_spec=True)
    return graph


def _make_typed_argument(node: NodeDef, handle: HandleData) -> None:
    """Turns a placeholder into an op whose shape function knows what a resource holds."""
    node.op = "_Arg"
    node.attr.pop("dtype", None)
    node.attr.pop("shape", None)
    node.attr["T"].type = types_pb2.DT_RESOURCE
    node.attr["index"].i = 0
    node.attr["_handle_dtypes"].list.type.extend(item.dtype for item in handle.shape_and_type)
    node.attr["_handle_shapes"].list.shape.extend(item.shape for item in handle.shape_and_type)


def handle_data(tensor: Any) -> HandleData | None:
    """Shape and dtype behind a resource tensor, if they are known."""
    data = handle_data_util.get_handle_data(tensor)
    return data if data is not None and data.is_set else None


def resource_type(handle: Any) -> str:
    """The C++ type behind an eager resource tensor, as `tensorflow::Var`; empty if it is not known."""
    match = _RESOURCE_TYPE.search(str(handle))
    return match.group(1) if match else ""


def anonymous_name() -> str:
    """The name that makes a resource go away with its last handle."""
    return str(context.anonymous_name())


def iterator_handle(iterator: Any) -> Any:
    """The resource tensor of an eager iterator."""
    return iterator._iterator_resource


def is_stateful(op_type: str) -> bool:
    """Whether TensorFlow takes an op for stateful; so it is, if it is unknown."""
    definition = op_def_registry.get(op_type)
    return definition is None or bool(definition.is_stateful)


def flat_graph_def(definition: FunctionDef) -> tuple[GraphDef, dict[str, str]]:
    """The definition as a GraphDef, and {`node:argument:index`: `node:slot`}."""
    graph_def, flat_names = function_def_to_graph.function_def_to_graph_def(definition)
    return graph_def, flat_names


def is_function_graph(graph: object) -> bool:
    return isinstance(graph, FuncGraph)


@contextlib.contextmanager
def not_recorded() -> Iterator[None]:
    """Hides what runs inside from gradient tapes and from other op callbacks."""
    with record.stop_recording(), op_callbacks_suspended():
        yield


@contextlib.contextmanager
def op_callbacks_suspended() -> Iterator[None]:
    ctx = context.context()
    saved = ctx.op_callbacks
    if not saved:
        yield
        return
    callbacks = list(saved)
    for callback in callbacks:
        ctx.remove_op_callback(callback)
    try:
        yield
    finally:
        for callback in callbacks:
            ctx.add_op_callback(callback)


def add_op_callback(callback: Callable[..., None]) -> None:
    """Calls `callback(op_type, inputs, attrs, outputs, op_name=, graph=)` after every op of this thread."""
    op_callbacks.add_op_callback(callback)


def remove_op_callback(callback: Callable[..., None]) -> None:
    op_callbacks.remove_op_callback(callback)


def tensor_id(tensor: Any) -> int:
    """A number that no other eager tensor of the process has or had."""
    return int(tensor._id)


def open_queue(dtypes: Sequence[Any], shared_name: str) -> Any:
    """An eager handle of the queue of that name (`tf.queue.FIFOQueue` ignores the name in eager mode)."""
    return gen_data_flow_ops.fifo_queue_v2(list(dtypes), capacity=-1, shared_name=shared_name)


def queue_size(queue: Any) -> int:
    return int(gen_data_flow_ops.queue_size_v2(queue))


def dequeue(queue: Any, dtypes: Sequence[Any]) -> list[Any]:
    """One entry: a tensor per dtype."""
    return list(gen_data_flow_ops.queue_dequeue_v2(queue, list(dtypes)))


def destroy_queue(queue: Any) -> None:
    gen_resource_variable_ops.destroy_resource_op(queue, ignore_lookup_error=True)


def as_array(tensor: Any) -> np.ndarray[Any, Any]:
    """The tensor's values, not copied if they lie in host memory; strings as an object array of bytes."""
    values = tensor._numpy()
    if isinstance(values, np.ndarray):
        return values
    # Scalars come as NumPy scalars or bytes.
    return np.array(values, dtype=object) if isinstance(values, bytes) else np.asarray(values)
