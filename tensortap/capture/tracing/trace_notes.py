"""Notes taken while functions are traced, or ops run eagerly: layers and gradients, kinds and owners of
variables."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tensortap.core.names import EAGER, short_function_name
from tensortap.core.records import LayerCall
from tensortap.tf import internals

from .candidate import Kind
from .keras_lines import CreationLine

_MAX_SEARCHES = 100  # for the names of variables, 50 ms each: a program may create one at every step
_MAX_TRACES = 512  # of the latest graphs; a graph is requested right after it was traced


@dataclass
class TracedCall:
    """One call of a layer; tensors by their names in the graph that was traced, `parent` a number in it."""

    layer: LayerCall
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    is_complete: bool = False


@dataclass
class Trace:
    """Notes taken while one graph was traced; nodes and tensors by their names in that graph."""

    graph: str
    layers: dict[str, str] = field(default_factory=dict)  # node -> layer path
    calls: list[TracedCall] = field(default_factory=list)  # in the order in which they began
    outputs: dict[str, str] = field(default_factory=dict)  # tensor name -> path of the layer that returned it
    gradients: dict[str, str] = field(default_factory=dict)  # given to an optimizer -> path of the variable
    derived: dict[str, str] = field(default_factory=dict)  # computed by a tape -> path of the variable
    losses: set[str] = field(default_factory=set)  # sources of a tape's gradients
    asked: set[str] = field(default_factory=set)  # paths of variables with requested gradients
    watched: set[str] = field(default_factory=set)  # … of trainable variables that such a tape records
    lines: dict[str, CreationLine] = field(default_factory=dict)  # node -> where its Keras object was created

    @property
    def nodes(self) -> set[str]:
        """All nodes that something was noted about."""
        tensors = {*self.gradients, *self.derived, *self.losses}
        return {*self.layers, *(tensor.rpartition(":")[0] for tensor in tensors)}

    def hold(self, kind: Kind, name: str, tensor: Any) -> None:
        """Keep an eager tensor that may have this role; a traced one has no values."""


@dataclass
class EagerTrace(Trace):
    """The notes on an eager step. Tensors by the decimal text of their ids.

    Args:
        kinds: roles that watches select; a tensor that may have one is held until it is known.
        room: for the held tensors, in bytes. Of one beyond it only the `tf.TensorSpec` is held.
    """

    graph: str = EAGER
    kinds: Collection[str] = ()
    room: int = 0
    held: dict[str, Any] = field(default_factory=dict)

    def hold(self, kind: Kind, name: str, tensor: Any) -> None:
        if kind not in self.kinds or name in self.held:
            return
        nbytes = tensor.dtype.size * tensor.shape.num_elements()
        is_held = nbytes <= self.room
        self.room -= nbytes if is_held else 0
        self.held[name] = tensor if is_held else tf.TensorSpec(tensor.shape, tensor.dtype)


class Traces:
    """The notes on the latest graphs."""

    def __init__(self) -> None:
        self._traces: dict[int, tuple[weakref.ref[Any], Trace]] = {}  # by id of the graph

    def of(self, graph: Any) -> Trace:
        """The notes on a graph; begun if there are none."""
        noted, trace = self._traces.get(id(graph), (None, None))
        if trace is None or noted is None or noted() is not graph:
            self._traces.pop(id(graph), None)  # the id of a deleted graph was reused
            trace = Trace(str(graph.name))
            self._traces[id(graph)] = weakref.ref(graph), trace
            while len(self._traces) > _MAX_TRACES:
                self._traces.pop(next(iter(self._traces)))
        return trace

    def of_function(self, function: str, nodes: Iterable[str]) -> Trace:
        """The notes on the graph that a function was made of, by its name and nodes: they have the largest
        number of nodes of the function, less the nodes that it lacks. The latest of equals."""
        name = short_function_name(function)
        wanted = set(nodes)
        best, best_fit = Trace(name), 0
        for _, trace in reversed(self._traces.values()):
            nodes = trace.nodes
            fit = len(nodes & wanted) - len(nodes - wanted)
            named = trace.graph in function and name in (trace.graph, short_function_name(trace.graph))
            if named and fit > best_fit:
                best, best_fit = trace, fit
        return best

    def layer_of(self, node: str) -> str:
        """The layer of the latest node of that name in any graph, or empty."""
        return next(
            (trace.layers[node] for _, trace in reversed(self._traces.values()) if node in trace.layers), ""
        )


class VariableNotes:
    """Facts about variables, by path: their kinds, and the layers that have them.

    Attributes:
        trained: paths of variables that have gradients.
    """

    def __init__(self) -> None:
        self.trained: set[str] = set()
        self._paths: dict[int, str] = {}  # by id of the handle
        self._handles: dict[int, weakref.ref[Any]] = {}
        self._searches = 0
        self._frozen: set[int] = set()  # ids of the handles of variables that Keras does not train
        self._constant: dict[str, bool] = {}  # by path
        self._kinds: dict[str, str] = {}
        self._owners: dict[str, str] = {}  # path of the innermost layer that has it

    def note(self, variables: Iterable[Any]) -> None:
        """Note paths of Keras' variables, and whether they are trained."""
        for variable in variables:
            # Not its `value`: that may be cast, by nodes of the function that is traced.
            handle = getattr(getattr(variable, "_value", None), "handle", None)
            if handle is not None and hasattr(handle, "_id"):
                number = internals.tensor_id(handle)
                self._paths[number] = str(variable.path)
                self._handles[number] = weakref.ref(handle)
                (self._frozen.discard if variable.trainable else self._frozen.add)(number)

    def note_variable(self, variable: Any) -> str:
        """Note the path of a variable, unless its handle is known; returns the known path."""
        self.note_variables([variable])
        return self._paths[internals.tensor_id(variable.handle)]

    def note_variables(self, variables: Iterable[Any]) -> None:
        """Note the paths of variables whose handles are unknown."""
        numbered = {internals.tensor_id(variable.handle): variable for variable in variables}
        new = {number: variable for number, variable in numbered.items() if number not in self._paths}
        if not new:
            return
        for number in [number for number, handle in tuple(self._handles.items()) if handle() is None]:
            self._handles.pop(number, None)
            self._paths.pop(number, None)
            self._frozen.discard(number)
        paths = [*map(_own_path, new.values())]
        if self._searches < _MAX_SEARCHES and any(map(_is_unnamed, paths)):
            self._searches += 1
            paths = paths_of([*new.values()])
        for (number, variable), path in zip(new.items(), paths, strict=True):
            self._paths[number] = path
            self._handles[number] = weakref.ref(variable.handle)
            if not variable.trainable:
                self._frozen.add(number)
            if isinstance(variable, tf.Variable):
                self._constant[path] = not variable.trainable and self._constant.get(path, True)

    def is_constant(self, path: str) -> bool:
        """Whether all variables of that path are a `tf.Variable(…, trainable=False)` outside Keras."""
        return self._constant.get(path, False) and not self._kinds.get(path)

    def note_layer(self, layer: Any) -> None:
        """Note the state of a layer: weights, moving averages, seeds of random generators."""
        trained, weights = ({id(v) for v in part} for part in (layer.trainable_variables, layer.weights))
        for variable in layer.variables:
            kind = "weight" if id(variable) in trained else "moving" if id(variable) in weights else "seed"
            known = self._kinds.get(str(variable.path))
            if known is None or known == "metric":
                self._kinds[str(variable.path)] = kind

    def note_owner(self, layer: Any, path: str) -> None:
        """A layer has variables; inner layers, which returned earlier, have the better claim."""
        for variable in layer.variables:
            self._owners.setdefault(str(variable.path), path)

    def note_optimizer(self, optimizer: Any) -> None:
        """Note the kinds of an optimizer's own variables."""
        for variable in optimizer.variables:
            counts = variable is getattr(optimizer, "iterations", None)
            self._kinds[str(variable.path)] = "iteration" if counts else "slot"

    def note_metric(self, variable: Any) -> None:
        """A variable that no layer changes belongs to a metric, unless more is known."""
        self._kinds.setdefault(str(variable.path), "metric")

    def is_frozen(self, handle: Any) -> bool:
        """Whether Keras does not train the variable of a handle."""
        return internals.tensor_id(handle) in self._frozen

    def kind_of(self, variable: str) -> str:
        """`weight`, `moving`, `seed`, `slot`, `iteration`, `metric`; empty if it is unknown."""
        return self._kinds.get(variable, "")

    def path_of(self, tensor: Any) -> str:
        """The path of the variable that an eager resource tensor is the handle of, or empty."""
        return self._paths.get(internals.tensor_id(tensor), "") if tensor.dtype == tf.resource else ""

    def owner_of(self, variable: str) -> str:
        """The path of the layer that has a variable, or empty."""
        return self._owners.get(variable, "")


_UNNAMED = "Variable"


def paths_of(variables: Sequence[Any]) -> list[str]:
    """Keras' paths of variables. Of one outside Keras its name without the slot; without a name the
    attribute or global that holds it, if all that hold it agree; else `Variable`."""
    paths = [*map(_own_path, variables)]
    unnamed = [at for at, path in enumerate(paths) if _is_unnamed(path)]
    held = _held_as([variables[at] for at in unnamed]) if unnamed else []
    for at, names in zip(unnamed, held, strict=True):
        if len(names) == 1:
            paths[at] = paths[at].removesuffix(_UNNAMED) + names.pop()
    return paths


def _own_path(variable: Any) -> str:
    return str(getattr(variable, "path", None) or "") or str(variable.name).removesuffix(":0")


def _is_unnamed(path: str) -> bool:
    return path.rpartition("/")[2] == _UNNAMED


def _held_as(variables: Sequence[Any]) -> list[set[str]]:
    """The names of attributes, globals and keys that hold each variable. One search, as it takes 50 ms."""
    names: dict[int, set[str]] = {id(variable): set() for variable in variables}
    for holder in gc.get_referrers(*variables):
        with suppress(Exception):  # any object of the program, whose attributes may raise
            found = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
            for name, held in tuple(found.items()):
                if id(held) in names and isinstance(name, str) and name.isidentifier() and name[0] != "_":
                    names[id(held)].add(name)
    return list(names.values())
