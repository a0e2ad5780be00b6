"""The graph of a run of a version 1 session, for the dump."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensortap.core.names import tensor_name
from tensortap.core.records import Frame, Function, Graph, Node
from tensortap.tf.shapes import dtype_text, static_shape
from tensortap.tfproto.attributes import attribute_texts

from ..tracing.candidate import Candidate
from ..tracing.node_descriptions import describe_node
from ..tracing.source_stacks import is_user_file, sources_of
from .v1_session_plan import FUNCTION, SessionPlan

_LONGEST_NAME = 80  # characters


def session_graph(plan: SessionPlan, asked: Sequence[Any], *, sources: bool) -> Graph:
    """What a run computes, as a graph that is named after what it is asked for.

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
    """The user's frames; empty for what was imported."""
    return tuple(
        (frame.filename, int(frame.lineno), str(frame.name))
        for frame in operation.traceback or ()
        if is_user_file(frame.filename)
    )
