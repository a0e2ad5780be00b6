"""Captures single ops that run outside functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Self

import tensorflow as tf

from tensortap.core.names import EAGER, tensor_name
from tensortap.core.records import Frame, Function, Graph, Node
from tensortap.tf import internals
from tensortap.tf.shapes import capturable_dtype, dtype_text, static_shape

from .pipeline.messages import CapturedTensor, GraphHandle, held_bytes
from .step import Step
from .tracing.candidate import Candidate
from .tracing.context_stack import TaskStack
from .tracing.layer_tracker import LayerTracker
from .tracing.source_stacks import is_user_file, sources_of

_FUNCTION_MARKS = ("__inference_", "__forward_", "__backward_")


class EagerRecorder:
    """While entered, records every op of this thread; at the end passes graph and tensors to the step.

    The graph is known only at the end, so tensors wait until then. Ops beyond `max_bytes` of tensors are
    noted without their values, and counted as dropped.

    Args:
        step: the current step; if it is not watched, nothing is recorded.
        owner: of several recorders of one owner only the innermost notes: the step of an outer one is another
            one, or the same ops would be noted twice.
    """

    def __init__(
        self,
        step: Step,
        tracker: LayerTracker,
        *,
        owner: object,
        sources: bool,
        max_bytes: int,
    ) -> None:
        self._step = step if step.watches else None
        self.owner = owner
        self._tracker = tracker
        self._sources = sources
        self._room = max_bytes
        self._dropped = 0
        self._nodes: list[Node] = []
        self._taken: set[str] = set()
        self._produced: dict[int, str] = {}  # tensor id -> tensor name
        self._assigned: dict[int, str] = {}  # tensor id of a variable's handle -> the op that last changed it
        self._stacks: dict[tuple[Frame, ...], int] = {}
        self._tensors: list[CapturedTensor] = []

    def __enter__(self) -> Self:
        if self._step is not None:
            internals.add_op_callback(self._on_op)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._step is not None:
            with suppress(KeyError):  # another thread ends it, as it may a generator: it notes nothing more
                internals.remove_op_callback(self._on_op)
            self._deliver(self._step)

    def _deliver(self, step: Step) -> None:
        try:
            if step.links is not None:
                step.links.name_eager(self._produced)
            if self._nodes:
                op_types = {node.op_type for node in self._nodes}
                step.note_selection(EAGER, bool(self._tensors or self._dropped), op_types=op_types)
                graph = self._graph()
                step.put(GraphHandle(lambda: graph), [self._tensors])
            if self._dropped:
                step.drop(self._dropped)
        except Exception as error:
            step.warnings.function_failed(EAGER, "ran, but its tensors could not be stored", error)

    def _on_op(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: Any,
        outputs: Sequence[Any],
        op_name: str | None = None,
        graph: Any = None,
    ) -> None:
        if isinstance(op_type, bytes):
            op_type = op_type.decode()
        if graph is not None or op_type.startswith(_FUNCTION_MARKS):
            return  # tracing, or a function, which is captured separately
        step = self._step
        if step is None or _innermost(self.owner) is not self:
            return
        try:
            self._note(step, op_type, inputs, outputs)
        except Exception as error:
            step.warnings.function_failed(op_type, "ran, but could not be recorded", error)

    def _note(self, step: Step, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        layer = self._tracker.current_path()
        name = _unused(f"{layer}/{op_type}" if layer else op_type, self._taken)
        self._taken.add(name)
        sources = [self._produced.get(internals.tensor_id(tensor)) for tensor in inputs]
        handles = [internals.tensor_id(tensor) for tensor in inputs if tensor.dtype == tf.resource]
        sources += [f"^{self._assigned[handle]}" for handle in handles if handle in self._assigned]
        if not outputs:  # as ops that change a variable; those that read one have an output
            self._assigned |= dict.fromkeys(handles, name)
        self._nodes.append(
            Node(
                name=name,
                op_type=op_type,
                inputs=[source for source in sources if source],
                function=EAGER,
                device=str(outputs[0].device) if outputs else "",
                layer=layer,
                stack=self._stack(),
                output_dtypes=[dtype_text(tensor.dtype) for tensor in outputs],
                output_shapes=[static_shape(tensor.shape) for tensor in outputs],
            )
        )
        for slot, tensor in enumerate(outputs):
            self._produced[internals.tensor_id(tensor)] = tensor_name(name, slot)
            self._take(step, name, slot, op_type, layer, tensor)

    def _take(self, step: Step, name: str, slot: int, op_type: str, layer: str, tensor: Any) -> None:
        dtype = capturable_dtype(tensor.dtype)
        if not dtype:
            return
        candidate = Candidate(
            node=name,
            slot=slot,
            op_type=op_type,
            dtype=dtype,
            shape=static_shape(tensor.shape),
            layer=layer,
            function=EAGER,
            device=str(tensor.device),
        )
        chosen = step.watched.select(candidate)
        if chosen is None:
            return
        array = internals.as_array(tensor)
        handling = chosen.handle(array.size)
        if handling is None:
            return
        nbytes = held_bytes(array)
        if nbytes > self._room:
            self._dropped += 1
            return
        self._room -= nbytes
        self._tensors.append(CapturedTensor(candidate, 0, array, handling))

    def _stack(self) -> int:
        """Number of the current stack of user frames."""
        frames: list[Frame] = []
        frame: Any = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if is_user_file(code.co_filename):
                frames.append((code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        stack = tuple(reversed(frames))
        return self._stacks.setdefault(stack, len(self._stacks)) if stack else -1

    def _graph(self) -> Graph:
        return Graph(
            name=EAGER,
            nodes=self._nodes,
            functions={EAGER: Function()},
            stacks=list(self._stacks),
            sources=sources_of(self._stacks) if self._sources else {},
            way="in-place",
        )


def _unused(name: str, taken: set[str]) -> str:
    """`name`, or `name_1`, `name_2`, … if that is taken."""
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


_RECORDERS: TaskStack[EagerRecorder] = TaskStack("tensortap recorders")


def _innermost(owner: object) -> EagerRecorder | None:
    """The innermost recorder of that owner in this thread, or task."""
    return next((recorder for recorder in _RECORDERS if recorder.owner is owner), None)


class EagerScopes:
    """The `with tap.eager()` of a tap."""

    def __init__(self, tracker: LayerTracker, *, sources: bool, max_bytes: int) -> None:
        self._tracker = tracker
        self._sources = sources
        self._max_bytes = max_bytes

    @contextmanager
    def scope(self, step: Step) -> Iterator[None]:
        """Notes the ops of this thread for the step it is in."""
        recorder = EagerRecorder(
            step, self._tracker, owner=self, sources=self._sources, max_bytes=self._max_bytes
        )
        with _RECORDERS.inside(recorder), recorder:
            yield

    def step(self, step: Step) -> AbstractContextManager[None]:
        """Begins a step: records its ops in an eager scope, or where functions run eagerly."""
        wanted = _innermost(self) is not None or tf.config.functions_run_eagerly()
        return self.scope(step) if wanted else nullcontext()
