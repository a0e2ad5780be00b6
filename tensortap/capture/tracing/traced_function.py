"""A traced root function: its graph for the dump, the tensors that may be captured in it, and their roles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from tensortap.core.names import short_function_names, unique_node_names
from tensortap.core.records import Graph
from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction, closure, clusters_ops, compiled_functions
from tensortap.tf.random_ops import DRAWN_BY, has_own_stream
from tensortap.tf.shapes import capturable_dtype, static_shape

from .candidate import Candidate, Kind
from .forward_ops import forward_ops
from .graph_builder import flat_root, graph_of
from .keras_lines import CreationLine
from .layer_map import LayerMap, forward_name, scopes_of
from .layer_tracker import LayerTracker
from .source_stacks import Stack, sources_of, stacks_of

_Tensor = TypeVar("_Tensor")

Place = tuple[str, str, int]
"""Where a tensor is computed: function, op or argument name in it, output slot."""

_V1_CONTROL_FLOW = frozenset(
    {"Switch", "RefSwitch", "Enter", "RefEnter", "Merge", "LoopCond", "NextIteration", "Exit"}
)


_INPUT_OPS = frozenset({"IteratorGetNext", "OptionalGetValue"})
# Their second input is the update of a variable. Kernels that do a whole optimizer step (ResourceApplyAdam)
# have no such tensor.
UPDATING_OPS = frozenset({"AssignSubVariableOp", "AssignAddVariableOp"})
_SUMS = frozenset({"Add", "AddV2"})


@dataclass(frozen=True, eq=False)
class TracedRoot:
    """A traced root function with all that it calls; shared by the taps that capture from it."""

    root: str
    functions: dict[str, TracedFunction]
    candidates: dict[Place, Candidate]
    make_graph: Callable[[], Graph]

    @cached_property
    def graph(self) -> Graph:
        """The graph for the dump, created on first use, so that a step need not wait for it."""
        return self.make_graph()

    @cached_property
    def _with_sources(self) -> Graph:
        return replace(self.graph, sources=sources_of(self.graph.stacks))

    def graph_for(self, *, sources: bool) -> Graph:
        """The graph, with the text of user files or without; the same object each time."""
        return self._with_sources if sources else self.graph

    @cached_property
    def dataset_functions(self) -> list[str]:
        """Names of the nodes that pass functions to datasets (`MapDataset`, …)."""
        return [
            node.name
            for function in self.functions.values()
            for node in function.definition.node_def
            if "Dataset" in node.op and any(value.HasField("func") for value in node.attr.values())
        ]

    def compiled_places(self, places: Collection[Place]) -> set[Place]:
        """Those of the places inside functions that XLA compiles: more outputs change how it fuses ops."""
        if clusters_ops():
            return set(places)
        return {place for place in places if place[0] in self._compiled}

    @cached_property
    def _compiled(self) -> set[str]:
        return compiled_functions(self.functions)

    def seeded_random_ops(self) -> list[str]:
        """Names of the nodes with a seeded random stream."""
        return [
            node.name
            for function in self.functions.values()
            for node in function.definition.node_def
            if has_own_stream(node)
        ]


def trace_root(
    root: str,
    inputs: Sequence[Any],
    tracker: LayerTracker,
    *,
    known_layers: Collection[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> TracedRoot:
    """Reads a registered function and all that it calls.

    Args:
        inputs: the inputs of the call.
        known_layers: layer paths of the model, used where the functions were traced before the tracker was
            installed.
        names: the graph name to use, by the root's short name.
    """
    functions = closure(root, inputs, tracker.variables.path_of)
    nodes = unique_node_names(functions)
    layers = LayerMap(functions, tracker, known_layers)
    short = short_function_names(functions)
    name = names.get(short[root], "")
    if name and name not in short.values():
        short[root] = name
    candidates = {
        place: candidate
        for function in functions.values()
        for place, candidate in _candidates(
            function, short[function.name], nodes, TensorRoles(function, layers, tracker)
        )
    }
    # TensorFlow forgets functions, so their definitions are read now.
    lines = {name: layers.traces[name].lines for name in functions}
    forward = {name: forward_ops(function) for name, function in functions.items()}
    backward = {name: internals.forward_function(each.definition) for name, each in functions.items()}
    stacks = {name: stacks_of(name) for name in (*functions, *filter(None, backward.values()))}
    creation_stacks, flat = _with_creation_lines(stacks, lines, forward, backward), flat_root(functions)
    return TracedRoot(
        *(root, functions, candidates),
        lambda: graph_of(functions, nodes, short, layers, candidates, creation_stacks, flat),
    )


def _candidates(
    function: TracedFunction, short: str, names: dict[tuple[str, str], str], kinds: TensorRoles
) -> Iterator[tuple[Place, Candidate]]:
    conditional, drawing = _conditional_nodes(function), _drawing(function)
    for operation in function.operations.values():
        if operation.name in conditional:
            continue
        op_type = drawing.get(operation.name, operation.type)
        op_type = "_Arg" if operation.name in function.arguments else op_type
        for slot, tensor in enumerate(operation.outputs):
            dtype = capturable_dtype(tensor.dtype)
            if dtype:
                kind, variable, layer = kinds.of(operation, op_type, tensor)
                yield (
                    (function.name, operation.name, slot),
                    Candidate(
                        node=names[function.name, operation.name],
                        slot=slot,
                        op_type=op_type,
                        dtype=dtype,
                        shape=static_shape(tensor.shape),
                        layer=layer,
                        kind=kind,
                        variable=variable,
                        function=short,
                        device=operation.device,
                    ),
                )


def _drawing(function: TracedFunction) -> dict[str, str]:
    """Op types, by name, of the nodes that drew random numbers and now get them as arguments."""
    return {
        str(node.name): node.attr[DRAWN_BY].s.decode()
        for node in function.definition.node_def
        if DRAWN_BY in node.attr
    }


def _conditional_nodes(function: TracedFunction) -> set[str]:
    """Nodes of version 1 control flow and all that depend on them: their outputs may be dead, which would
    make the tap dead, too."""
    reached: set[str] = set()
    for operation in function.operations.values():
        if operation.type in _V1_CONTROL_FLOW or any(
            source.op.name in reached for source in operation.inputs
        ):
            reached.add(operation.name)
    return reached


def _with_creation_lines(
    stacks: Mapping[str, Mapping[str, Stack]],
    lines: Mapping[str, Mapping[str, CreationLine]],
    forward: Mapping[str, Mapping[str, Sequence[str]]],
    backward: Mapping[str, str],
) -> dict[str, dict[str, Stack]]:
    """The stacks of nodes with the lines that created them, and those of gradients with their forward lines.

    Args:
        stacks: of the nodes, by function and name. lines: as `line_of_call` gave them. forward: as
            `forward_ops` gave them. backward: by function, the forward function of a backward pass, or empty.
    """
    found = {
        function: {
            node: _with_line(stack, lines.get(function, {}).get(node)) for node, stack in nodes.items()
        }
        for function, nodes in stacks.items()
    }
    scopes: dict[str, Stack] = {}
    for nodes in found.values():
        for node, stack in nodes.items():
            for name in () if forward_name(node) else (node, *scopes_of(node)):
                scopes[name] = stack if scopes.get(name, stack) == stack else ()  # of several lines
    for function, nodes in found.items():
        for node, stack in nodes.items():
            innermost = found.get(backward.get(function, ""), {}).get(forward_name(node), ())[-1:] or next(
                (scopes[name][-1:] for name in scopes_of(forward_name(node)) if name in scopes), ()
            )
            ops = forward.get(function, {}).get(node, ())
            if not innermost and len({nodes[op][-1:] for op in ops if op in nodes}) == 1:
                innermost = nodes[ops[0]][-1:]
            if innermost and innermost != stack[-1:]:
                nodes[node] = (*stack, *innermost)
    return found


def _with_line(stack: Stack, made: CreationLine | None) -> Stack:
    if made is None or stack[: len(made.outside)] != made.outside:
        return stack
    return (*made.outside, made.line, *stack[len(made.outside) :])


class TracedRole(NamedTuple):
    """`kind` as in `Candidate`; the variable's path and the layer's, or empty."""

    kind: Kind
    variable: str
    layer: str


class TensorRoles:
    """Roles of the tensors of one function, from notes taken while it was traced."""

    def __init__(self, function: TracedFunction, layers: LayerMap, tracker: LayerTracker) -> None:
        self._function = function
        self._layers = layers
        self._tracker = tracker
        trace = self._trace = layers.traces[function.name]
        given = set(trace.gradients.values())
        # A tensor computed by a tape counts as a gradient only if no optimizer got another one.
        derived = {tensor: path for tensor, path in trace.derived.items() if path not in given}
        self._gradients = derived | trace.gradients
        self._updates = {
            change.name: path
            for operation in function.operations.values()
            if (change := change_of(operation.type, operation.inputs, _maker, attrgetter("name"))) is not None
            and (path := function.variables.get(operation.inputs[0].op.name, "")) in tracker.variables.trained
        }

    def of(self, operation: Any, op_type: str, tensor: Any) -> TracedRole:
        """One output of an op."""
        name = tensor.name
        layer = self._layers.layer_of(self._function.name, operation.name)
        if name in self._gradients:
            return self._of_variable("gradient", self._gradients[name], layer)
        if name in self._trace.losses:
            return TracedRole("loss", "", self._trace.outputs.get(name, layer))
        if name in self._trace.outputs:
            return TracedRole("output", "", self._trace.outputs[name])
        if name in self._updates:
            return self._of_variable("update", self._updates[name], layer)
        variable = self._function.variable_of(operation)
        if op_type == "ReadVariableOp" and self._is_weight(operation, variable, layer):
            return TracedRole("weight", variable, layer)
        if op_type in _INPUT_OPS or (op_type == "_Arg" and self._function.role == "root"):
            return TracedRole("input", variable, layer)
        return TracedRole("", variable, layer)

    def _of_variable(self, kind: Kind, variable: str, layer: str) -> TracedRole:
        return TracedRole(kind, variable, self._tracker.variables.owner_of(variable) or layer)

    def _is_weight(self, operation: Any, variable: str, layer: str) -> bool:
        """A layer reads it, or it belongs to no layer and is trained; not where a gradient needs it again."""
        if forward_name(operation.name):
            return False
        trained = variable in self._tracker.variables.trained or variable in self._layers.asked
        return bool(layer) or (trained and not self._tracker.variables.owner_of(variable))


def _maker(tensor: Any) -> tuple[str, Sequence[Any]]:
    return tensor.op.type, tensor.op.inputs


def change_of(
    op_type: str,
    inputs: Sequence[_Tensor],
    maker: Callable[[_Tensor], tuple[str, Sequence[_Tensor]]],
    key: Callable[[_Tensor], object],
) -> _Tensor | None:
    """The tensor that an op changes a variable by, or None. It is also `x` in `v.assign(v - x)`, the form
    that `v.assign_sub(x)` takes for a Keras variable.

    Args:
        maker: type and inputs of the op that made a tensor. key: what tells tensors apart.
    """
    if op_type in UPDATING_OPS:
        return inputs[1]
    made_by, terms = maker(inputs[1]) if op_type == "AssignVariableOp" else ("", ())
    if made_by != "Sub" and made_by not in _SUMS:
        return None

    def reads(tensor: _Tensor) -> bool:
        source, of = maker(tensor)
        return source == "ReadVariableOp" and key(of[0]) == key(inputs[0])

    old, change = terms
    if reads(old):
        return change
    return old if made_by in _SUMS and reads(change) else None
