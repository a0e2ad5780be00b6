"""Duplicates of the nodes of a version 1 graph, to read values from.

TensorFlow's graph optimizer merges adjacent nodes if nothing else reads the tensor between them, and fetching
is reading: the last bits of what a program requests would depend on what else is fetched. So a run leaves the
program's nodes alone, and computes what is captured a second time, from the same variables, random numbers
and fed values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensortap.tf import internals

from ..instrument.grappler_duplicates import MERGING_PASSES
from .v1_session_plan import CONTROL_FLOW, SessionPlan


class SessionDuplicates:
    """The duplicates that one kind of run of a session computes.

    Args:
        asked: the tensors and operations that the program fetches; they are read without duplicates.
    """

    def __init__(self, session: Any, plan: SessionPlan, asked: Sequence[Any]) -> None:
        self._graph = session.graph
        self._operations = plan.operations
        self._unchanged = {each.name for each in asked} | {tensor.deref().name for tensor in plan.fed}
        self._made: dict[str, Any] = {}  # name of a tensor -> its duplicate
        self._pure = {each for each in plan.operations if _is_pure(each)} if _merges(session) else set()

    def readable(self, tensors: Iterable[Any]) -> list[Any]:
        """The tensors to read instead: duplicates, added to the graph, of all that can safely run twice.

        Random numbers, reads of variables, fed values and results of loops are read without duplicates.
        """
        wanted = list(tensors)
        missing: set[Any] = set()
        waiting = [tensor for tensor in wanted if tensor.name not in self._unchanged]
        while waiting:
            tensor = waiting.pop()
            operation = tensor.op
            if tensor.name in self._made or operation in missing or operation not in self._pure:
                continue
            missing.add(operation)
            waiting += [each for each in operation.inputs if each.name not in self._unchanged]
        if missing:
            with internals.unfinalized(self._graph):
                for operation in self._operations:  # in the graph's order: inputs first
                    if operation in missing:
                        self._duplicate(operation)
        return [self._readable(tensor) for tensor in wanted]

    def _duplicate(self, operation: Any) -> None:
        inputs = [self._readable(tensor) for tensor in operation.inputs]
        duplicate = internals.duplicate_operation(operation, inputs)
        for original, copy in zip(operation.outputs, duplicate.outputs, strict=True):
            self._made[original.name] = copy

    def _readable(self, tensor: Any) -> Any:
        return tensor if tensor.name in self._unchanged else self._made.get(tensor.name, tensor)


def _is_pure(operation: Any) -> bool:
    """Whether an op may run twice, at any time, with the same result."""
    return not (
        operation.type in CONTROL_FLOW
        or operation.type.startswith("Placeholder")
        or internals.is_stateful(operation.type)
        or any(internals.is_reference(tensor) for tensor in (*operation.inputs, *operation.outputs))
    )


def _merges(session: Any) -> bool:
    """Whether the graph optimizer of the session may merge nodes."""
    config = getattr(session, "_config", None)
    if config is None:
        return True
    options = config.graph_options.rewrite_options
    on = [getattr(options, name) != options.OFF for name in MERGING_PASSES]
    return not options.disable_meta_optimizer and any(on)
