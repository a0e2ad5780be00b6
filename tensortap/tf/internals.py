"""Every private name of TensorFlow that capture depends on, in one place;
`tests/capture/test_tf_private.py` pins them.

Private because TensorFlow offers no public way to see what a traced function computes. Nothing else in
this package imports from `tensorflow.python` or `tensorflow.core`.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf

from tensortap.core.errors import TensortapError


class UnsupportedTensorFlowError(TensortapError, ImportError):
    """The installed TensorFlow lacks something inside that capture needs. Install a supported version."""


SUPPORTED = "2.21"
"""The versions that the tests run with, `2.21.0` and on; other ones are tried if nothing is missing."""


@contextlib.contextmanager
def imported_from_tensorflow() -> Iterator[None]:
    """Raises a clear error if a private module of TensorFlow is missing.

    Raises:
        UnsupportedTensorFlowError: an import in the body failed.
    """
    try:
        yield
    except ImportError as error:
        raise _unsupported(str(error)) from error


def check_names(needed: Mapping[Any, str]) -> None:
    """Looks for private names of TensorFlow.

    Args:
        needed: modules or classes, each with the names that it must have, separated by spaces.

    Raises:
        UnsupportedTensorFlowError: one is missing.
    """
    for owner, names in needed.items():
        for name in names.split():
            if not hasattr(owner, name):
                raise _unsupported(f"{getattr(owner, '__name__', owner)} has no {name}")


def _unsupported(what: str) -> UnsupportedTensorFlowError:
    return UnsupportedTensorFlowError(
        f"tensortap captures from TensorFlow {SUPPORTED}; this is {tf.__version__}, with different "
        f"internals: {what}.",
        f'Install "tensorflow=={SUPPORTED}.*". Existing runs can be read without TensorFlow.',
    )


with imported_from_tensorflow():
    from tensorflow.core.framework import function_pb2, node_def_pb2, types_pb2
    from tensorflow.python.autograph.pyct import origin_info
    from tensorflow.python.eager import backprop, context, execute, record
    from tensorflow.python.framework import (
        function_def_to_graph,
        importer,
        kernels,
        op_callbacks,
        op_def_registry,
        ops,
    )
    from tensorflow.python.framework.func_graph import FuncGraph
    from tensorflow.python.ops import (
        control_flow_util,
        gen_data_flow_ops,
        gen_resource_variable_ops,
        handle_data_util,
        resource_variable_ops,
        script_ops,
    )
    from tensorflow.python.util import function_utils, tf_stack

check_names(
    {
        context.Context: "call_function get_function_def add_function_def remove_function has_function"
        " list_function_names get_graph_debug_info add_op_callback get_server_def",
        backprop: "_gradient_function",
        context: "anonymous_name eager_mode",
        execute: "execute",
        record: "stop_recording",
        function_def_to_graph: "function_def_to_graph_def",
        importer: "import_graph_def_for_function",
        kernels: "get_registered_kernels_for_op",
        op_callbacks: "add_op_callback remove_op_callback",
        op_def_registry: "get",
        gen_data_flow_ops: "fifo_queue_v2 queue_size_v2 queue_dequeue_v2",
        gen_resource_variable_ops: "destroy_resource_op",
        handle_data_util: "create_handle_data get_handle_data set_handle_data",
        control_flow_util: "GetOutputContext",
        script_ops: "py_func_common",
        function_utils: "get_disabled_rewriter_config",
        tf_stack: "extract_stack",
        origin_info: "create_source_map",
        ops.EagerTensor: "_datatype_enum _id _numpy_internal",
        ops.Graph: "_get_control_flow_context _is_function _set_control_flow_context _unsafe_unfinalize",
        ops.Graph(): "_unfetchable_ops",
    }
)

# Messages of protobuf, which carry no types.
FunctionDef: TypeAlias = Any
GraphDef: TypeAlias = Any
NodeDef: TypeAlias = Any
HandleData: TypeAlias = Any
GraphDebugInfo: TypeAlias = Any

_RESOURCE_TYPE = re.compile(r'ResourceHandle\(.*, type="([^"]*)"', re.DOTALL)
FUNCTION_LINKS = ("forward_function_name", "backward_function_name")  # their numbers differ by process
XLA_ATTRIBUTE = "_XlaMustCompile"
CallFunction = Callable[[bytes, Sequence[Any], int], Any]
"""Runs a registered function: (name, flat inputs, number of outputs) -> list of eager tensors, or None."""
CallHook = Callable[[CallFunction, bytes, Sequence[Any], int], Any]


def forward_function(definition: FunctionDef) -> str:
    """The name of the function that this one is the backward pass of, as a tape outside functions makes
    it; else empty."""
    link = FUNCTION_LINKS[0]
    return str(definition.attr[link].s.decode()) if link in definition.attr else ""


def install_call_hook(hook: CallHook) -> Callable[[], None]:
    """Sends every eager call of a traced function through `hook`; returns a function that removes the hook.

    `Context.call_function` is what tf.function, Keras' train, test and predict
    functions, SavedModel signatures and a tape's forward and backward functions all run through.
    """
    original = context.Context.call_function
    is_installed = True

    def call_function(self: Any, name: bytes, tensor_inputs: Sequence[Any], num_outputs: int) -> Any:
        if not is_installed:
            return original(self, name, tensor_inputs, num_outputs)
        return hook(lambda *arguments: original(self, *arguments), name, tensor_inputs, num_outputs)

    context.Context.call_function = call_function

    def uninstall() -> None:
        nonlocal is_installed
        is_installed = False
        # Another library may have wrapped ours in the meantime; then it stays as a pass-through.
        if context.Context.call_function is call_function:
            context.Context.call_function = original

    return uninstall


def executing_eagerly() -> bool:
    """Whether this thread is outside any graph or trace."""
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


def copied_node(node: NodeDef) -> NodeDef:
    """A copy of a node."""
    copy = node_def_pb2.NodeDef()
    copy.CopyFrom(node)
    return copy


def new_function(name: str, types: Sequence[int]) -> FunctionDef:
    """An empty definition with an argument for each of some types (their numbers), named `argument_0` and so
    on."""
    made = function_pb2.FunctionDef()
    made.signature.name = name
    for number, type_number in enumerate(types):
        made.signature.input_arg.add(name=f"argument_{number}", type=type_number)
    return made


def library(definitions: Sequence[FunctionDef]) -> bytes:
    """Definitions as a serialized FunctionDefLibrary, without attributes that are only valid in this
    process."""
    found = function_pb2.FunctionDefLibrary()
    for definition in definitions:
        copy = found.function.add()
        copy.CopyFrom(definition)
        for link in FUNCTION_LINKS:
            copy.attr.pop(link, None)
        for node in copy.node_def:
            node.attr.pop("_gradient_op_type", None)
    return bytes(found.SerializeToString(deterministic=True))


def definitions(library: bytes) -> list[FunctionDef]:
    """The inverse of `library`. Raises google.protobuf.message.DecodeError."""
    return list(function_pb2.FunctionDefLibrary.FromString(library).function)


def call_function(name: str, inputs: Sequence[Any], num_outputs: int) -> list[Any]:
    """Runs a registered function on flat eager inputs."""
    return list(context.context().call_function(name.encode(), list(inputs), num_outputs) or ())


def call_as_written(name: str, inputs: Sequence[Any], num_outputs: int) -> list[Any]:
    """Runs a registered function without the graph optimizer, whose first run on 400 nodes takes 0.3 s."""
    attributes = ("executor_type", "", "config_proto", function_utils.get_disabled_rewriter_config())
    return list(execute.execute(name, num_outputs, list(inputs), attributes, context.context()) or ())


def set_handle_data(handle: Any, dtype: Any, shape: Any) -> None:
    """Sets the shape and dtype of the variable behind a resource tensor of an op."""
    handle_data_util.set_handle_data(handle, handle_data_util.create_handle_data(shape, dtype))


def registered_functions() -> set[str]:
    """Names of all functions that TensorFlow knows by now."""
    return set(context.context().list_function_names())


def own_task() -> str:
    """The task of this process, `/job:worker/replica:0/task:1`; empty outside a cluster."""
    return str(tf.config.list_logical_devices()[0].name).partition("/device:")[0]


def has_function(name: str) -> bool:
    return bool(context.context().has_function(name))


def register_function(definition: FunctionDef) -> None:
    context.context().add_function_def(definition)


def remove_function(name: str) -> None:
    context.context().remove_function(name.encode())


def debug_info(name: str) -> GraphDebugInfo:
    """The lines that created the nodes of a registered function (of Autograph, the user's lines)."""
    return context.context().get_graph_debug_info(name.encode())


def note_generated_lines() -> None:
    """From now on, note the user's line of each line that AutoGraph generates (`user_line`).

    TensorFlow itself maps them only in the thread that converts a function, not in those of replicas.
    """
    create = origin_info.create_source_map
    if hasattr(create, "__wrapped__"):
        return

    @functools.wraps(create)
    def noting(*args: Any, **kwargs: Any) -> Any:
        found = create(*args, **kwargs)
        for generated, origin in found.items():
            line = str(origin.loc.filename), int(origin.loc.lineno), str(origin.function_name)
            _GENERATED[str(generated.filename), int(generated.lineno)] = line
        return found

    origin_info.create_source_map = noting


_GENERATED: dict[tuple[str, int], tuple[str, int, str]] = {}


def user_line(file: str, line: int, function: str) -> tuple[str, int, str]:
    """The user's line from which AutoGraph generated a line; else the line itself."""
    return _GENERATED.get((file, line), (file, line, function))


def current_stack() -> list[tuple[str, int, str]]:
    """(file, line, function) of the frames around, outermost first, as a node made here would have them."""
    return [(str(each.filename), int(each.lineno), str(each.name)) for each in tf_stack.extract_stack()]


def function_graph(
    definition: FunctionDef, handles: Mapping[str, HandleData]
) -> tuple[FuncGraph, dict[str, str]]:
    """The definition as a graph with its op names and inferred shapes; {`node:argument:index`: `node:slot`}.

    Args:
        handles: argument name -> shape and dtype of the variable behind a resource, which definitions do
            not hold.
    """
    graph_def, flat_names = flat_graph_def(definition)
    for node in graph_def.node[: len(definition.signature.input_arg)]:
        if node.name in handles and handles[node.name].is_set:
            _make_typed_argument(node, handles[node.name])
    graph = FuncGraph(definition.signature.name)
    with graph.as_default():
        importer.import_graph_def_for_function(graph_def, name="", propagate_device_spec=True)
    return graph, flat_names


def _make_typed_argument(node: NodeDef, handle: HandleData) -> None:
    """Turns a placeholder into an op whose shape function knows the resource's content."""
    node.op = "_Arg"
    node.attr.pop("dtype", None)
    node.attr.pop("shape", None)
    node.attr["T"].type = types_pb2.DT_RESOURCE
    node.attr["index"].i = 0
    node.attr["_handle_dtypes"].list.type.extend(item.dtype for item in handle.shape_and_type)
    node.attr["_handle_shapes"].list.shape.extend(item.shape for item in handle.shape_and_type)


def handle_data(tensor: Any) -> HandleData | None:
    """Shape and dtype behind a resource tensor, if known."""
    data = handle_data_util.get_handle_data(tensor)
    return data if data is not None and data.is_set else None


def resource_type(handle: Any) -> str:
    """The C++ type behind an eager resource tensor, e.g. `tensorflow::Var`; empty if unknown."""
    match = _RESOURCE_TYPE.search(str(handle))
    return match.group(1) if match else ""


def anonymous_name() -> str:
    """The name that makes a resource go away with its last handle."""
    return str(context.anonymous_name())


def iterator_handle(iterator: Any) -> Any:
    """The resource tensor of an eager iterator."""
    return iterator._iterator_resource


def local_iterator(iterator: Any) -> Any:
    """The eager iterator behind a distribution strategy's: that of the first local replica."""
    workers = getattr(iterator, "_iterators", None)
    return workers[0]._iterator._device_iterators[0] if workers else iterator


def has_cluster() -> bool:
    """Whether this process works together with others (MultiWorkerMirroredStrategy)."""
    return context.context().get_server_def() is not None


def traced_dataset_function() -> str:
    """The name of the function of a dataset (`Dataset_map_f`) that this thread is tracing, or empty."""
    if context.executing_eagerly():
        return ""
    name = str(getattr(ops.get_default_graph(), "name", ""))
    return name if name.startswith("Dataset_") else ""


op_definition: Callable[[str], Any] = op_def_registry.get


def is_known(op_type: str) -> bool:
    """Whether TensorFlow has such an op, without libraries loaded later."""
    return op_def_registry.get(op_type) is not None


def is_stateful(op_type: str) -> bool:
    """Whether TensorFlow takes an op for stateful; so it is, if it is unknown."""
    definition = op_definition(op_type)
    return definition is None or bool(definition.is_stateful)


def kernels_of(op_type: str) -> list[Any]:
    """The KernelDefs that are registered for an op, of all devices."""
    return list(kernels.get_registered_kernels_for_op(op_type).kernel)


def flat_graph_def(definition: FunctionDef) -> tuple[GraphDef, dict[str, str]]:
    """The definition as a GraphDef, and {`node:argument:index`: `node:slot`}."""
    return function_def_to_graph.function_def_to_graph_def(definition)  # type: ignore[no-any-return]


def is_function_graph(graph: object) -> bool:
    return isinstance(graph, FuncGraph)


def variables_read(graph: Any) -> list[Any]:
    """The variables that a function reads, as far as it is traced; empty for None."""
    return [*(getattr(graph, "_watched_variables", None) or ())]


@contextlib.contextmanager
def not_recorded() -> Iterator[None]:
    """Hides the ops in it from gradient tapes and other op callbacks."""
    with record.stop_recording(), op_callbacks_suspended():
        yield


def reword(error: BaseException, change: Callable[[str], str]) -> None:
    """Changes the message of one of TensorFlow's errors in place."""
    if isinstance(error, tf.errors.OpError) and isinstance(error.message, str):
        error._message = change(error.message)


@contextlib.contextmanager
def op_callbacks_suspended() -> Iterator[None]:
    ctx = context.context()
    callbacks = list(ctx.op_callbacks or ())
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


def dtype_number(tensor: Any) -> int:
    """The number of an eager tensor's dtype, in a tenth of the time of `tensor.dtype`."""
    return int(tensor._datatype_enum())


def tensor_id(tensor: Any) -> int:
    """A number that no other eager tensor of the process has or had."""
    return int(tensor._id)


class GradientCall(NamedTuple):
    """The gradient of an eager op, or of none (`op_type` is empty) between those of ops. `inputs`, `outputs`:
    ids of the op's tensors, those that the gradient needs. `scope`: of names, where the op ran."""

    op_type: str
    inputs: Sequence[int] = ()
    outputs: Sequence[int] = ()
    scope: str = ""


_GRADIENT_OF_OP = backprop._gradient_function.__code__
_GRADIENT_OF_TAPE = backprop.GradientTape.gradient.__code__


def gradient_at(frame: Any) -> GradientCall | None:
    """The gradient that is computed when an op callback runs, by its frame; None outside a tape's."""
    for outer in _frames(frame):
        if outer.f_code is _GRADIENT_OF_OP:
            found = outer.f_locals
            inputs, outputs = (
                [each._id for each in found[name] or () if hasattr(each, "_id")]
                for name in ("inputs", "outputs")
            )
            scope = found["forward_pass_name_scope"] or ""
            return GradientCall(found["op_name"], inputs, outputs, scope)
        if outer.f_code is _GRADIENT_OF_TAPE:
            return GradientCall("")
    return None


_MAX_FRAMES = 20  # between an op and the method of the variable that runs it


def _frames(frame: Any) -> Iterator[Any]:
    """A frame and those around it, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def variable_at(frame: Any, handle: int) -> Any:
    """The variable of a handle, by its id, if a method of it runs the op whose callback has this frame; else
    None."""
    for outer in islice(_frames(frame), _MAX_FRAMES):
        if outer.f_globals.get("__name__") == resource_variable_ops.__name__:
            owner = outer.f_locals.get("self")
            # Ops of its constructor run before it has its handle.
            if isinstance(owner, tf.Variable) and getattr(owner, "_handle", None) is not None:
                return owner if getattr(owner.handle, "_id", None) == handle else None
    return None


def variables_given(frame: Any) -> Sequence[Any]:
    """The arguments of the function of TensorFlow that runs an op, by the frame of the op's callback, with
    None for all but variables: these are read without an op that callbacks see."""
    for outer in islice(_frames(frame), _MAX_FRAMES):
        if outer.f_globals.get("__name__", "").startswith("tensorflow.python.ops.gen_"):
            given = map(outer.f_locals.get, outer.f_code.co_varnames)
            single = takewhile(lambda each: not isinstance(each, list | tuple), given)  # inputs one by one
            return [each if isinstance(each, tf.Variable) else None for each in single]
    return ()


def open_queue(dtypes: Sequence[Any], shared_name: str) -> Any:
    """An eager handle of the queue of that name (`tf.queue.FIFOQueue` ignores the name in eager mode)."""
    return gen_data_flow_ops.fifo_queue_v2(list(dtypes), capacity=-1, shared_name=shared_name)


def queue_size(queue: Any) -> int:
    return int(gen_data_flow_ops.queue_size_v2(queue))


def dequeue(queue: Any, types: Sequence[int]) -> list[Any]:
    """One entry: a tensor for each type. Numbers, as TensorFlow would ask each `tf.DType` for its own."""
    return list(gen_data_flow_ops.queue_dequeue_v2(queue, list(types)))


def destroy_resource(handle: Any) -> None:
    """Destroys the queue or variable behind an eager handle."""
    with context.eager_mode():  # also where a tap is closed inside `with graph.as_default():`
        gen_resource_variable_ops.destroy_resource_op(handle, ignore_lookup_error=True)


def as_array(tensor: Any) -> np.ndarray[Any, Any]:
    """The tensor's values, not copied if they are in host memory; strings as an object array of bytes."""
    return as_arrays([tensor])[0]


def as_arrays(tensors: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """`as_array` of each: thousands in a step, so without a call of Python for one."""
    found = map(type(tensors[0])._numpy_internal, tensors) if tensors else ()
    return [values if isinstance(values, np.ndarray) else _from_scalar(values) for values in found]


def _from_scalar(values: Any) -> np.ndarray[Any, Any]:
    """The array of a NumPy scalar or bytes."""
    return np.array(values, dtype=object) if isinstance(values, bytes) else np.asarray(values)


def control_flow_of(operation: Any) -> Any:
    """The version 1 loop or branch that the outputs of a graph's op are in, or None."""
    return control_flow_util.GetOutputContext(operation)


def knows_control_flow(operation: Any) -> bool:
    """Whether an op was made inside a version 1 loop or branch, and knows it."""
    return operation._get_control_flow_context() is not None


def iteration_counter(graph: Any, loop: Any) -> Any:
    """Adds a counter to a version 1 loop; returns a tensor in it that numbers the iterations from 0."""
    before = graph._get_control_flow_context()
    try:
        graph._set_control_flow_context(loop.outer_context)
        with graph.as_default(), graph.control_dependencies(None):
            graph._set_control_flow_context(loop.outer_context)
            enters, exits = list(loop.loop_enters), list(loop.loop_exits)
            _, following = loop.AddForwardLoopCounter(None)
            loop.loop_enters[:], loop.loop_exits[:] = enters, exits  # gradients must not see it
    finally:
        graph._set_control_flow_context(before)
    # NextIteration(Add(Switch(Merge), 1)): the merged one is there from the first iteration to the last.
    return following.op.inputs[0].op.inputs[0].op.inputs[0]


def call_in_graph(function: Callable[..., None], tensor: Any, more: Sequence[Any], *, name: str) -> Any:
    """Adds an op beside a tensor of a version 1 graph that calls `function(array, *more arrays)`."""
    graph = tensor.graph
    before = graph._get_control_flow_context()
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        try:
            graph._set_control_flow_context(control_flow_of(tensor.op))
            operation = script_ops.py_func_common(function, [tensor, *more], [], stateful=True, name=name)
        finally:
            graph._set_control_flow_context(before)
    # Tensors in a loop must not be fetched, or the run waits for a value; this op has none.
    graph._unfetchable_ops.discard(operation)
    return operation


def duplicate_operation(operation: Any, inputs: Sequence[Any]) -> Any:
    """Adds to a version 1 graph an op like another one, in the same loop or branch, that takes `inputs`.

    It waits for other ops only if it takes none, as a constant of a loop does. A unique attribute keeps the
    graph optimizer from merging it with the original.
    """
    graph = operation.graph
    waits_for = [] if inputs else operation.control_inputs
    attributes = {name: value for name, value in operation.node_def.attr.items() if name != "_class"}
    attributes["_tensortap_duplicate"] = tf.compat.v1.AttrValue(b=True)
    before = graph._get_control_flow_context()
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope(None),
        graph.device(operation.device or None),
    ):
        try:
            graph._set_control_flow_context(operation._get_control_flow_context())
            with graph.control_dependencies(waits_for):
                return graph.create_op(
                    operation.type,
                    list(inputs),
                    [tensor.dtype for tensor in operation.outputs],
                    name=f"tensortap/{operation.name}",
                    attrs=attributes,
                    op_def=operation.op_def,
                )
        finally:
            graph._set_control_flow_context(before)


@contextlib.contextmanager
def unfinalized(graph: Any) -> Iterator[None]:
    """Allows adding ops to a graph even if it is finalized (by a MonitoredSession)."""
    finalized = bool(graph.finalized)
    if finalized:
        graph._unsafe_unfinalize()
    try:
        yield
    finally:
        if finalized:
            graph.finalize()


def is_reference(tensor: Any) -> bool:
    """Whether a tensor of a graph refers to a variable's memory, which may change during a read."""
    return bool(tensor.dtype._is_ref_dtype)


def runs_functions(operation: Any) -> bool:
    """Whether an op runs functions of the graph's library."""
    names = {value.func.name for value in operation.node_def.attr.values() if value.HasField("func")}
    return any(operation.graph._is_function(name) for name in names)


def upstream_datasets(iterator: Any) -> Iterator[Any]:
    """The dataset of an iterator, and its upstream datasets, nearest first; empty if unknown."""
    waiting = [getattr(iterator, "_dataset", None)]
    while waiting:
        dataset = waiting.pop(0)
        if dataset is not None:
            yield dataset
            waiting += dataset._inputs()
