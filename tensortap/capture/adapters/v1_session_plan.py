"""Plan of a run of a version 1 session: its graph, and how each tensor can leave it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tensortap.core.names import tensor_name
from tensortap.core.records import Frame, Function, Graph, Node
from tensortap.tf import internals
from tensortap.tf.shapes import capturable_dtype, dtype_text, static_shape
from tensortap.tfproto.attributes import attribute_texts

from ..tracing.candidate import Candidate, Kind
from ..tracing.node_descriptions import describe_node
from ..tracing.source_stacks import is_user_file, sources_of

NAME = "tensortap"  # begins the names of ops that are added to a graph
FUNCTION = "session"  # the one function of the graph of a run
KINDS: Sequence[Kind] = ("input", "weight", "gradient")  # of tensors in sessions, which have no layers

_LONGEST_NAME = 80  # characters

_SWITCHES = frozenset({"Switch", "RefSwitch"})
_ENTERS = frozenset({"Enter", "RefEnter"})
_JOINS = {"Exit", "LoopCond", "Merge", "NextIteration", "RefExit", "RefMerge", "RefNextIteration"}
CONTROL_FLOW = _SWITCHES | _ENTERS | _JOINS
# Their source or target is captured instead, because half of their outputs are dead at any time.
_NEVER_TAPPED = _SWITCHES | _ENTERS


@dataclass(frozen=True, eq=False)
class SessionPlan:
    """One kind of run: its fetches and feeds.

    `operations` are those that run, in the graph's order, and those that are fed. `fetched` and `tapped` are
    candidates by tensor: the run can return the former; the latter are inside loops and branches, where only
    an additional op can forward them. `unseen` are names of ops inside control flow of which the graph does
    not know the extent (it was imported), `calls` of ops that run functions.
    """

    operations: Sequence[Any]
    fetched: Mapping[Any, Candidate]
    tapped: Mapping[Any, Candidate]
    fed: Mapping[Any, Candidate]
    unseen: Sequence[str] = field(default_factory=list)
    calls: Sequence[str] = field(default_factory=list)


def plan_run(graph: Any, fetches: Iterable[Any], fed: Collection[Any]) -> SessionPlan:
    """Looks at a run.

    Args:
        fetches: the fetched tensors and operations.
        fed: the tensors fed by the program.
    """
    fed_names = {tensor.name for tensor in fed}
    running = _upstream(fetches, fed_names)
    operations = [
        operation
        for operation in graph.get_operations()
        if operation in running or any(output.name in fed_names for output in operation.outputs)
    ]
    gradients = dict(_gradients(operations))
    unseen = _of_unknown_extent(operations)
    branched = _behind_branches(operations)
    fetched, tapped, given = {}, {}, {}
    for operation in operations:
        for tensor in operation.outputs:
            candidate = _candidate(tensor, gradients, fed=tensor.name in fed_names)
            if candidate is None:
                continue
            if tensor.name in fed_names:
                given[tensor.ref()] = candidate
            elif operation not in running or operation.name in unseen or operation.type in _NEVER_TAPPED:
                continue
            elif operation.name in branched and graph.is_fetchable(operation):
                tapped[tensor.ref()] = candidate
            elif graph.is_fetchable(operation):
                fetched[tensor.ref()] = candidate
            elif internals.control_flow_of(operation) is not None:
                tapped[tensor.ref()] = candidate  # else it is a conditional's copy of its predicate
    calls = [operation.name for operation in operations if internals.runs_functions(operation)]
    return SessionPlan(operations, fetched, tapped, given, sorted(unseen), calls)


def _upstream(fetches: Iterable[Any], fed: Collection[str]) -> set[Any]:
    """The operations that must run; fed tensors are not computed."""
    found: set[Any] = set()
    waiting = [
        fetch.op if isinstance(fetch, tf.Tensor) else fetch
        for fetch in fetches
        if getattr(fetch, "name", "") not in fed
    ]
    while waiting:
        operation = waiting.pop()
        if operation not in found:
            found.add(operation)
            waiting += [tensor.op for tensor in operation.inputs if tensor.name not in fed]
            waiting += operation.control_inputs
    return found


def _of_unknown_extent(operations: Sequence[Any]) -> set[str]:
    """Ops inside or after control flow without a context, because the graph was imported."""
    unknown: set[str] = set()
    behind_flow = _SWITCHES | _ENTERS
    for _ in range(2):  # the second time for the targets of a loop's back edges
        for operation in operations:
            if internals.knows_control_flow(operation):
                continue
            sources = {*(tensor.op for tensor in operation.inputs), *operation.control_inputs}
            if any(
                source.name in unknown or (source.type in behind_flow and not _is_known_flow(source))
                for source in sources
            ):
                unknown.add(operation.name)
    return unknown


def _behind_branches(operations: Sequence[Any]) -> set[str]:
    """Ops outside a branch that run only if it does, as in its gradient: they read from it before a merge."""
    found: set[str] = set()
    for operation in operations:
        if operation.type in _JOINS or internals.control_flow_of(operation) is not None:
            continue
        sources = {*(tensor.op for tensor in operation.inputs), *operation.control_inputs}
        if any(source.name in found or _is_branched(source) for source in sources):
            found.add(operation.name)
    return found


def _is_branched(operation: Any) -> bool:
    return operation.type in _SWITCHES or internals.control_flow_of(operation) is not None


def _is_known_flow(operation: Any) -> bool:
    """Whether a switch or loop entry knows its context, or starts a branch."""
    values = [tensor.name for tensor in operation.inputs]
    return internals.knows_control_flow(operation) or (len(values) == 2 and values[0] == values[1])


def _gradients(operations: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """(gradient given to an optimizer, name of its variable)."""
    for operation in operations:
        if operation.type.startswith(("ResourceApply", "Apply", "ResourceSparseApply", "SparseApply")):
            for argument, tensor in zip(operation.op_def.input_arg, operation.inputs, strict=True):
                if argument.name in ("grad", "delta"):
                    yield tensor.name, _variable(operation)


def _variable(operation: Any) -> str:
    """Name of the variable that an op takes first, maybe from outside a loop."""
    source = operation.inputs[0].op
    while source.type in _NEVER_TAPPED:
        source = source.inputs[0].op
    return str(source.name)


def _candidate(tensor: Any, gradients: Mapping[str, str], *, fed: bool) -> Candidate | None:
    dtype = "" if internals.is_reference(tensor) else capturable_dtype(tensor.dtype)
    if not dtype:
        return None
    operation = tensor.op
    kind: Kind = "input" if fed else ""
    variable = gradients.get(tensor.name, "")
    if variable:
        kind = "gradient"
    elif operation.type == "ReadVariableOp":
        kind, variable = "weight", _variable(operation)
    return Candidate(
        node=operation.name,
        slot=tensor.value_index,
        op_type=operation.type,
        dtype=dtype,
        shape=static_shape(tensor.shape),
        kind=kind,
        variable=variable,
        function=FUNCTION,
        device=operation.device,
    )


def session_graph(plan: SessionPlan, asked: Sequence[Any], *, sources: bool) -> Graph:
    """The graph of a run, named after its fetches.

    Args:
        asked: the fetched tensors and operations.
        sources: whether to embed the text of user files.
    """
    stacks: dict[tuple[Frame, ...], int] = {}
    here = {operation.name for operation in plan.operations}
    candidates = {
        (candidate.node, candidate.slot): candidate
        for group in (plan.fetched, plan.tapped, plan.fed)
        for candidate in group.values()
    }
    nodes = [_node(operation, here, candidates, stacks) for operation in plan.operations]
    outputs = [fetch.name for fetch in asked if ":" in fetch.name]
    return Graph(
        name=f"{FUNCTION} {', '.join(fetch.name.removesuffix(':0') for fetch in asked)}"[:_LONGEST_NAME],
        nodes=nodes,
        functions={FUNCTION: Function(outputs=outputs)},
        stacks=list(stacks),
        sources=sources_of(stacks) if sources else {},
        way="in-place",
    )


def _node(
    operation: Any,
    here: set[str],
    candidates: dict[tuple[str, int], Candidate],
    stacks: dict[tuple[Frame, ...], int],
) -> Node:
    inputs = [
        tensor_name(tensor.op.name, tensor.value_index)
        for tensor in operation.inputs
        if tensor.op.name in here
    ]
    controls = [f"^{control.name}" for control in operation.control_inputs if control.name in here]
    stack = _stack(operation)
    return Node(
        name=operation.name,
        op_type=operation.type,
        inputs=inputs + sorted(controls),
        function=FUNCTION,
        device=operation.device,
        attributes=_attributes(operation, candidates.get((operation.name, 0))),
        stack=stacks.setdefault(stack, len(stacks)) if stack else -1,
        output_dtypes=[dtype_text(tensor.dtype.base_dtype) for tensor in operation.outputs],
        output_shapes=[static_shape(tensor.shape) for tensor in operation.outputs],
    )


def _attributes(operation: Any, candidate: Candidate | None) -> dict[str, str]:
    texts = attribute_texts(operation.node_def.attr)
    if candidate is not None and candidate.kind:
        texts["tensortap.kind"] = candidate.kind
    if candidate is not None and candidate.variable:
        texts["tensortap.variable"] = candidate.variable
    text = describe_node(operation.name, operation.type)
    return texts | ({"tensortap.meaning": text} if text else {})


def _stack(operation: Any) -> tuple[Frame, ...]:
    """The user's frames; empty for imported ops."""
    return tuple(
        (frame.filename, int(frame.lineno), str(frame.name))
        for frame in operation.traceback or ()
        if is_user_file(frame.filename)
    )
