"""Which Keras layer created which node, noted while functions are traced or ops run eagerly."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import keras
import tensorflow as tf

from tensortap.core.records import LayerCall
from tensortap.tf import internals

from ..capture_warnings import first_line, issue_warning
from .context_stack import TaskStack
from .keras_lines import REGULARIZERS, line_of_call
from .trace_notes import EagerTrace, Trace, TracedCall, Traces, VariableNotes, paths_of

_SCRATCH = "scratch_graph"  # where Keras infers shapes; nothing in it ever runs

# Arguments of Keras' layers, as they show in a line; `get_config` says more, and users' layers may refuse it.
_SHOWN_ARGUMENTS = (
    *("units", "filters", "kernel_size", "strides", "padding", "dilation_rate", "groups", "pool_size"),
    *("size", "num_heads", "key_dim", "input_dim", "output_dim", "target_shape", "axis", "epsilon"),
    *("rate", "momentum", "activation", "use_bias", "return_sequences", "go_backwards"),
)
_MAX_CONFIG = 400  # letters

EAGER_TRACES: TaskStack[tuple[object, EagerTrace | None]] = TaskStack("tensortap eager traces")
"""(owner, notes) of the eager scopes; of several scopes of an owner, the innermost takes notes."""


class LayerTracker:
    """While installed, tracks layers, their outputs, and the gradients given to optimizers.

    Its notes outlive `uninstall`: a function that was traced in one `fit` may be tapped in the next.
    A layer's path is the names of the layers being called, outermost first: `cnn/block/conv`.
    """

    def __init__(self) -> None:
        self.traces = Traces()
        self.variables = VariableNotes()
        self._local = threading.local()
        self._undo: list[Callable[[], None]] = []
        self._has_warned = False

    def install(self) -> None:
        self._wrap(tf.GradientTape, "gradient", self._noting_derived)
        self._wrap(keras.Variable, "assign", self._noting_assigned)
        self._wrap(keras.layers.Layer, "__call__", self._noting_layer)
        self._wrap(keras.optimizers.Optimizer, "apply", self._noting_applied)
        self._wrap(keras.Operation, "__call__", self._noting_line)
        self._wrap(keras.losses.Loss, "__call__", self._noting_line)
        self._wrap(keras.Model, "compute_loss", self._noting_line)
        for kind in REGULARIZERS:
            self._wrap(kind, "__call__", self._noting_line)

    def _noting_layer(self, layer_call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(layer_call)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            with self._lines_of(layer), self._inside(layer, (args, kwargs)) as note:
                outputs = layer_call(layer, *args, **kwargs)
                with self._never_raising():
                    note(outputs)
            return outputs

        return call

    def _noting_applied(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(apply)
        def noted_apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            # Both may be iterators, which can be read only once.
            grads = list(grads)
            if trainable_variables is not None:
                trainable_variables = list(trainable_variables)
            with self._never_raising():
                self._note_gradients(optimizer, grads, trainable_variables)
            with self._lines_of(optimizer):
                outcome = apply(optimizer, grads, trainable_variables)
            with self._never_raising():
                self._note_variables(optimizer.variables)
                self.variables.note_optimizer(optimizer)
            return outcome

        return noted_apply

    def _noting_line(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def noted_call(called: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(called, keras.layers.Layer) and call.__name__ == "__call__":
                return call(called, *args, **kwargs)  # noted as a layer
            with self._lines_of(called):
                return call(called, *args, **kwargs)

        return noted_call

    @contextmanager
    def _lines_of(self, called: Any) -> Iterator[None]:
        """Notes where the object was made, for the nodes that its call makes; inner calls come first."""
        graph, made = _traced_graph(), None
        if graph is not None:
            with self._never_raising():
                made = line_of_call(called)
        before = 0 if made is None else len(graph.get_operations())
        yield
        if made is not None:
            with self._never_raising():
                lines = self.traces.of(graph).lines
                for operation in graph.get_operations()[before:]:
                    lines.setdefault(operation.name, made)

    def _noting_derived(self, derive: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(derive)
        def noted_derive(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            gradients = derive(tape, target, sources, *args, **kwargs)
            with self._never_raising():
                self._note_derived(target, sources, gradients)
                self._note_watched(tape, sources)
            return gradients

        return noted_derive

    def _noting_assigned(self, assign: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(assign)
        def noted_assign(variable: Any, value: Any) -> Any:
            with self._never_raising():
                self._note_variables([variable])  # there is no other hint for losses and metrics
                if self._current() and not self._stack():
                    self.variables.note_metric(variable)
            return assign(variable, value)

        return noted_assign

    def uninstall(self) -> None:
        while self._undo:
            self._undo.pop()()

    def current_path(self) -> str:
        """The path of the layer that is being called in this thread, or empty."""
        return "/".join(self._stack())

    def _stack(self) -> list[str]:
        stack: list[str] | None = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
        return stack

    @contextmanager
    def _never_raising(self) -> Iterator[None]:
        """Keeps errors of the tracker out of the user's calls; warns once."""
        try:
            yield
        except Exception as error:
            if not self._has_warned:
                self._has_warned = True
                issue_warning(
                    "tensortap: some layers or gradients were not recorded "
                    f"({type(error).__name__}: {first_line(error)}). Training continues."
                )

    def _wrap(self, owner: type, name: str, wrapped: Callable[[Callable[..., Any]], Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return  # `warn_of_missing_names` warns of it
        replacement = wrapped(original)
        setattr(owner, name, replacement)

        def undo() -> None:
            if getattr(owner, name) is replacement:
                setattr(owner, name, original)

        self._undo.append(undo)

    @contextmanager
    def _inside(self, layer: Any, arguments: Any) -> Iterator[Callable[[Any], None]]:
        stack = self._stack()
        stack.append(str(layer.name))
        path = "/".join(stack)
        graph = _traced_graph()
        before = len(graph.get_operations()) if graph is not None else 0
        around: list[tuple[Trace, int]] = self._local.__dict__.setdefault("calls", [])
        depth, traces = len(around), self._current()
        with self._never_raising():
            around += [
                (trace, self._begin_call(trace, graph, layer, path, arguments, around)) for trace in traces
            ]
        begun = around[depth:]

        def note(outputs: Any) -> None:
            for trace in traces:
                self._note_layer(trace, graph, before, path, outputs)
            if traces:
                self.variables.note_owner(layer, path)
                for trace, number in begun:
                    self._end_call(trace.calls[number], graph, layer, outputs)
                self.variables.note_layer(layer)
                self._note_variables(layer.variables)  # of inner layers, too: their owner may not track them

        try:
            yield note
        finally:
            del around[depth:]
            stack.pop()

    def _current(self) -> list[Trace]:
        """The notes on the graph that is traced, or on the eager scopes: one an owner."""
        graph = _traced_graph()
        if graph is not None:
            return [self.traces.of(graph)]
        if not internals.executing_eagerly():
            return []
        innermost: dict[int, Trace | None] = {}
        for owner, trace in EAGER_TRACES:
            innermost.setdefault(id(owner), trace)
        return [trace for trace in innermost.values() if trace is not None]

    def _begin_call(
        self,
        trace: Trace,
        graph: Any,
        layer: Any,
        path: str,
        arguments: Any,
        around: list[tuple[Trace, int]],
    ) -> int:
        """Notes a call, and returns its number in the trace."""
        parent = next((number for of, number in reversed(around) if of is trace), -1)
        kind = type(layer)
        call = LayerCall(path, kind.__name__, kind.__module__, parent, source=_class_source(kind))
        trace.calls.append(TracedCall(call, _tensor_names(arguments, graph)))
        return len(trace.calls) - 1

    def _end_call(self, call: TracedCall, graph: Any, layer: Any, outputs: Any) -> None:
        """Adds facts that are known after a call: a layer is built by its first call."""
        inside = f"{call.layer.path}/"
        paths = [str(variable.path) for variable in layer.variables]
        call.layer = replace(
            call.layer,
            config=_config_text(layer),
            parameters=sum(math.prod(weight.shape) for weight in layer.weights),
            variables=tuple(path for path in paths if not self.variables.owner_of(path).startswith(inside)),
        )
        call.outputs = _tensor_names(outputs, graph)
        call.is_complete = True

    def _note_layer(self, trace: Trace, graph: Any, before: int, path: str, outputs: Any) -> None:
        for operation in () if graph is None else graph.get_operations()[before:]:
            # An inner layer, which returned earlier, has the better claim. Captured tensors are not nodes in
            # the end.
            if operation.type != "Placeholder":
                trace.layers.setdefault(operation.name, path)
        for tensor in keras.tree.flatten(outputs):
            name = _name_in(graph, tensor)
            if name:
                trace.outputs.setdefault(name, path)
                trace.hold("output", name, tensor)

    def _note_variables(self, variables: Iterable[Any]) -> None:
        if self._current():
            self.variables.note(variables)

    def _note_gradients(self, optimizer: Any, grads: list[Any], variables: list[Any] | None) -> None:
        if not self._current():
            return
        if variables is None:
            variables = getattr(optimizer, "_trainable_variables", [])
        for gradient, variable in zip(grads, variables, strict=False):
            path = self._path(variable)
            self._note_asked(path)
            self._note_gradient("gradients", gradient, path)

    def _note_gradient(self, notes: Literal["gradients", "derived"], gradient: Any, path: str) -> None:
        tensor = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        for trace, name in self._noting(tensor):
            getattr(trace, notes)[name] = path
            trace.hold("gradient", name, tensor)
            self.variables.trained.add(path)

    def _noting(self, tensor: Any) -> Iterator[tuple[Trace, str]]:
        """Where a tensor is noted, and as what."""
        # An optimizer inside a tf.cond (loss scaling) may be given tensors of the graph around it.
        graph = getattr(tensor, "graph", None)
        if graph is None or internals.is_function_graph(graph):
            name = _name_in(graph, tensor)
            for trace in self._current() if graph is None else [self.traces.of(graph)]:
                if name:
                    yield trace, name

    def _note_derived(self, target: Any, sources: Any, gradients: Any) -> None:
        """Records the target of a tape, and its gradients of variables. Targets that are only differentiated
        with respect to other tensors (a gradient penalty) are not losses."""
        if not self._current():
            return
        self.variables.note_variables(filter(_is_variable, _flat(sources)))
        for loss in tf.nest.flatten(target) if any(map(_is_variable, _flat(sources))) else ():
            for trace, name in self._noting(loss):
                trace.losses.add(name)
                trace.hold("loss", name, loss)
        pairs = zip(_flat(sources), _flat(gradients), strict=False)
        for variable, gradient in pairs:
            if _is_variable(variable):
                path = self._path(variable)
                self._note_asked(path)
                self._note_gradient("derived", gradient, path)

    def _note_watched(self, tape: Any, sources: Any) -> None:
        """Note all trainable variables that a tape records, if it trains some, and the paths of those that
        the function reads."""
        traces = self._current()
        if not traces or not any(map(_is_variable, _flat(sources))):
            return
        watched = list(filter(_is_variable, tape.watched_variables()))
        read = filter(_is_variable, internals.variables_read(_traced_graph()))
        self.variables.note_variables([*watched, *read])
        for variable in watched:
            path = self._path(variable)
            if not self.variables.is_frozen(variable.handle):
                for trace in traces:
                    trace.watched.add(path)

    def _note_asked(self, path: str) -> None:
        """Records a variable to train, with or without a gradient."""
        for trace in self._current():
            trace.asked.add(path)

    def _path(self, variable: Any) -> str:
        return self.variables.note_variable(variable) if _is_variable(variable) else paths_of([variable])[0]


def _name_in(graph: Any, tensor: Any) -> str:
    """The name of a tensor of a graph; of an eager one, if `graph` is None, its id; else empty."""
    if not tf.is_tensor(tensor) or getattr(tensor, "graph", None) is not graph:
        return ""
    if graph is not None:
        return str(tensor.name)
    return str(internals.tensor_id(tensor)) if hasattr(tensor, "_id") else ""


def _tensor_names(structure: Any, graph: Any) -> list[str]:
    return [name for tensor in keras.tree.flatten(structure) if (name := _name_in(graph, tensor))]


def _config_text(layer: Any) -> str:
    """`units=64, activation=relu`: a short description of a layer."""
    found = []
    for name in _SHOWN_ARGUMENTS:
        value = getattr(layer, name, None)
        if callable(value):
            value = getattr(value, "__name__", None)
        if isinstance(value, (bool, int, float, str, tuple, list)):
            found.append(f"{name}={value}")
    return ", ".join(found)[:_MAX_CONFIG]


def _class_source(kind: type) -> tuple[str, int] | None:
    """The line that defines the user's class; None for Keras classes."""
    if kind.__module__.startswith("keras."):
        return None
    for name in ("__init__", "call"):
        code = getattr(kind.__dict__.get(name), "__code__", None)
        if code is not None:
            return str(code.co_filename), int(code.co_firstlineno)
    return None


def _traced_graph() -> Any:
    """The graph of the function that this thread traces, or None."""
    if internals.executing_eagerly():
        return None
    graph = tf.compat.v1.get_default_graph()
    return graph if internals.is_function_graph(graph) and not graph.name.startswith(_SCRATCH) else None


def _flat(structure: Any) -> list[Any]:
    """Leaves of a structure; sparse gradients are leaves."""
    return list(tf.nest.flatten(structure, expand_composites=False))


def _is_variable(source: Any) -> bool:
    """Whether it is a variable outside the function that is traced."""
    return hasattr(getattr(source, "handle", None), "_id")


def layer_paths(model: Any) -> list[str]:
    """Paths of all layers below a model (`cnn/block/conv`) when the model is called."""
    paths: list[str] = []

    def visit(layer: Any, parent: str) -> None:
        path = f"{parent}/{layer.name}" if parent else str(layer.name)
        paths.append(path)
        children = getattr(layer, "_flatten_layers", None)  # private: `_RELIED_ON` of keras_callback.py
        for child in () if children is None else children(include_self=False, recursive=False):
            visit(child, path)

    visit(model, "")
    return paths
