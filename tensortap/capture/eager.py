"""Captures single ops that run outside functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import tensorflow as tf

from tensortap.core.names import EAGER, tensor_name
from tensortap.core.records import Frame, Function, Graph, Node
from tensortap.tf import internals
from tensortap.tf.shapes import capturable_dtype, dtype_text, static_shape

from .pipeline.messages import CapturedTensor, GraphHandle, held_bytes
from .step import Step
from .tracing.call_links import FUNCTION_PREFIXES
from .tracing.candidate import Candidate, Kind, parse_role
from .tracing.context_stack import TaskStack
from .tracing.graph_builder import complete_calls
from .tracing.layer_map import training_marks
from .tracing.layer_tracker import EAGER_TRACES, LayerTracker
from .tracing.source_stacks import Stack, is_user_file, sources_of
from .tracing.trace_notes import EagerTrace
from .tracing.traced_function import UPDATING_OPS, change_of

_RESOURCE = tf.resource.as_datatype_enum


@dataclass(slots=True, eq=False)
class _Op:
    """An op that ran, by the ids of its tensors. `forward`: the op whose gradient it is a part of; `after`:
    ops that changed its variables."""

    name: str
    op_type: str
    layer: str
    inputs: list[int]
    outputs: list[int]
    device: str
    dtypes: list[str]
    shapes: list[tuple[int | None, ...] | None]
    stack: Stack
    forward: _Op | None
    is_backward: bool
    after: list[str]


class _Role(NamedTuple):
    kind: Kind
    variable: str
    layer: str


class EagerRecorder:
    """While entered, records every op of this thread; at the end passes graph and tensors to the step.

    The graph is known only at the end, so tensors wait until then. Ops beyond `max_bytes` of tensors are
    noted without their values, and counted as dropped. As many bytes are held for watches of roles, which
    are known only at the end, too.

    Args:
        step: the current step; if it is not watched, nothing is recorded.
        owner: of several recorders of one owner only the innermost notes: the step of an outer one is another
            one, or the same ops would be noted twice.

    Attributes:
        trace: what the tracker notes about layers and gradients meanwhile; None if nothing is recorded.
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
        self._dropped: set[int] = set()  # ids of tensors
        kinds = {parse_role(kind).kind for watch in step.watches for kind in watch.kinds or ()}
        self._trace = EagerTrace(kinds=kinds, room=max_bytes)
        self._ops: list[_Op] = []
        self._taken: set[str] = set()
        self._makers: dict[int, tuple[_Op, int]] = {}  # tensor id -> op and slot
        self._takers: dict[tuple[str, int], list[_Op]] = {}  # (op type, tensor id) -> ops
        self._of_layers: dict[tuple[str, str], list[_Op]] = {}  # (op type, layer) -> ops
        self._variables: dict[int, Any] = {}  # id of a handle -> its variable, kept alive until the end
        self._assigned: dict[int, str] = {}  # id of a handle -> the op that last changed its variable
        self._tensors: dict[int, CapturedTensor] = {}

    @property
    def trace(self) -> EagerTrace | None:
        return None if self._step is None else self._trace

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
            handles = self._name_handles()
            names = {number: tensor_name(op.name, slot) for number, (op, slot) in self._makers.items()}
            if step.links is not None:
                step.links.name_eager(names)
            if self._ops:
                roles = self._roles()
                for text, tensor in self._trace.held.items():
                    number = int(text)
                    if number in self._makers and number in roles:
                        self._take(step, *self._makers[number], tensor, roles[number])
                op_types = {op.op_type for op in self._ops}
                kinds = {role.kind for role in roles.values()}
                step.note_selection(EAGER, bool(self._tensors or self._dropped), kinds, op_types)
                graph = self._graph(roles, names | handles)
                step.put(GraphHandle(lambda: graph), [list(self._tensors.values())])
            if self._dropped:
                step.drop(len(self._dropped))
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
        if graph is not None or op_type.startswith(FUNCTION_PREFIXES):
            return  # tracing, or a function, which is captured separately
        step = self._step
        if step is None or _innermost(self.owner) is not self:
            return
        try:
            self._note(step, op_type, inputs, outputs)
        except Exception as error:
            step.warnings.function_failed(op_type, "ran, but could not be recorded", error)

    def _note(self, step: Step, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        frame = sys._getframe(2)
        if op_type != "ReadVariableOp" and any(
            internals.tensor_id(each) not in self._makers for each in inputs
        ):
            for tensor, variable in zip(inputs, internals.variables_given(frame), strict=False):
                if variable is not None and internals.dtype_number(tensor) != _RESOURCE:
                    self._variables.setdefault(internals.tensor_id(variable.handle), variable)
                    self._note_op(step, frame, "ReadVariableOp", [variable.handle], [tensor])
        self._note_op(step, frame, op_type, inputs, outputs)

    def _note_op(
        self, step: Step, frame: Any, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        gradient = internals.gradient_at(frame)
        forward = None if gradient is None else self._forward_of(gradient)
        layer = self._tracker.current_path() or (forward.layer if forward else "")
        name = f"{layer}/{op_type}" if layer else op_type
        if gradient is not None:
            name = f"gradient_tape/{forward.name}/{op_type}" if forward else f"gradient_tape/{name}"
        name = _unused(name, self._taken)
        self._taken.add(name)
        handles = [internals.tensor_id(each) for each in inputs if internals.dtype_number(each) == _RESOURCE]
        for number in handles:
            variable = None if number in self._variables else internals.variable_at(frame, number)
            if variable is not None:
                self._variables[number] = variable
        op = _Op(
            name,
            op_type,
            layer,
            inputs=[internals.tensor_id(each) for each in inputs],
            outputs=[internals.tensor_id(each) for each in outputs],
            device=str(outputs[0].device) if outputs else "",
            dtypes=[dtype_text(each.dtype) for each in outputs],
            shapes=[static_shape(each.shape) for each in outputs],
            stack=_stack(frame),
            forward=forward,
            is_backward=gradient is not None,
            after=[self._assigned[number] for number in handles if number in self._assigned],
        )
        if not outputs:  # as ops that change a variable; those that read one have an output
            self._assigned |= dict.fromkeys(handles, name)
        self._ops.append(op)
        self._of_layers.setdefault((op_type, layer), []).append(op)
        for number in dict.fromkeys(op.inputs):
            self._takers.setdefault((op_type, number), []).append(op)
        for slot, tensor in enumerate(outputs):
            self._makers[op.outputs[slot]] = op, slot
            self._take(step, op, slot, tensor, _Role("", "", layer))
        if op_type == "ReadVariableOp":
            self._trace.hold("weight", str(op.outputs[0]), outputs[0])
        elif op_type in UPDATING_OPS:
            self._trace.hold("update", str(op.inputs[1]), inputs[1])

    def _forward_of(self, gradient: internals.GradientCall) -> _Op | None:
        """The op whose gradient is computed; None if two fit, or TensorFlow does not say."""
        for tensor in gradient.outputs:
            if tensor in self._makers:
                return self._makers[tensor][0]
        if gradient.inputs:
            found = [self._takers.get((gradient.op_type, tensor), []) for tensor in gradient.inputs]
        else:
            found = [self._of_layers.get((gradient.op_type, gradient.scope), [])] if gradient.scope else [[]]
        fitting = (op for op in min(found, key=len) if all(each in op.inputs for each in gradient.inputs))
        first = next(fitting, None)
        return first if next(fitting, None) is None else None

    def _take(self, step: Step, op: _Op, slot: int, tensor: Any, role: _Role) -> None:
        dtype = capturable_dtype(tensor.dtype)
        if not dtype:
            return
        candidate = Candidate(
            node=op.name,
            slot=slot,
            op_type=op.op_type,
            dtype=dtype,
            shape=static_shape(tensor.shape),
            layer=role.layer,
            kind=role.kind,
            variable=role.variable,
            function=EAGER,
            device=op.device,
        )
        chosen = step.watched.select(candidate)
        if chosen is None:
            return
        known = self._tensors.get(op.outputs[slot])
        if known is None and isinstance(tensor, tf.TensorSpec):  # there was no room to hold it
            self._dropped.add(op.outputs[slot])
            return
        array = internals.as_array(tensor) if known is None else known.values
        handling = chosen.handle(array.size)
        if handling is None:
            return
        nbytes = held_bytes(array) if known is None else 0
        if nbytes > self._room:
            self._dropped.add(op.outputs[slot])
            return
        self._room -= nbytes
        self._tensors[op.outputs[slot]] = CapturedTensor(candidate, 0, array, handling)

    def _name_handles(self) -> dict[int, str]:
        """Tensor names of handles of variables: each is a node that is named as its variable, also one that
        was created in the step."""
        self._tracker.variables.note_variables(self._variables.values())
        found = dict[int, str]()
        for number, variable in self._variables.items():
            name = _unused(self._tracker.variables.note_variable(variable), self._taken)
            self._taken.add(name)
            if number in self._makers:
                self._makers[number][0].name = name
            found[number] = tensor_name(name, 0)
        return found

    def _path(self, handle: int) -> str:
        variable = self._variables.get(handle)
        return "" if variable is None else self._tracker.variables.note_variable(variable)

    def _roles(self) -> dict[int, _Role]:
        """What tensors are to the model, by id, as `TensorRoles` says it of a function's."""
        trace, known = self._trace, self._tracker.variables
        given = set(trace.gradients.values())
        derived = {name: path for name, path in trace.derived.items() if path not in given}
        found = dict[int, _Role]()
        for op in self._ops:
            path = self._path(op.inputs[0]) if op.inputs else ""
            if op.op_type == "ReadVariableOp":
                used = op.layer or (path in known.trained | trace.asked and not known.owner_of(path))
                kind: Kind = "weight" if path and used and not op.is_backward else ""
                found[op.outputs[0]] = _Role(kind, path, op.layer)
            elif path in known.trained:
                change = change_of(op.op_type, op.inputs, self._maker, key=int)
                if change is not None:
                    found[change] = _Role("update", path, known.owner_of(path))
        for name, layer in trace.outputs.items():
            found[int(name)] = _Role("output", "", layer)
        for name in trace.losses:
            found[int(name)] = _Role("loss", "", trace.outputs.get(name, ""))
        for name, path in (derived | trace.gradients).items():
            found[int(name)] = _Role("gradient", path, known.owner_of(path))
        return found

    def _maker(self, tensor: int) -> tuple[str, Sequence[int]]:
        maker, _ = self._makers.get(tensor, (None, 0))
        return ("", ()) if maker is None else (maker.op_type, maker.inputs)

    def _graph(self, roles: Mapping[int, _Role], names: Mapping[int, str]) -> Graph:
        """The graph.

        Args:
            names: tensor name by id.
        """
        nodes, stacks = list[Node](), dict[Stack, int]()
        shown = set[int]()
        for op in self._ops:
            for number in op.inputs:
                if number in names and number not in self._makers and number not in shown:
                    shown.add(number)
                    nodes.append(self._handle_node(names[number], number))
            stack = op.stack
            if op.forward is not None and op.forward.stack[-1:] != stack[-1:]:
                stack = (*stack, *op.forward.stack[-1:])
            nodes.append(
                Node(
                    name=op.name,
                    op_type=op.op_type,
                    inputs=[
                        *(names[number] for number in op.inputs if number in names),
                        *(f"^{name}" for name in op.after),
                    ],
                    function=EAGER,
                    device=op.device,
                    attributes=self._attributes(op, roles),
                    layer=op.layer,
                    stack=stacks.setdefault(stack, len(stacks)) if stack else -1,
                    output_dtypes=op.dtypes,
                    output_shapes=op.shapes,
                )
            )
        return Graph(
            name=EAGER,
            nodes=nodes,
            functions={EAGER: Function()},
            stacks=list(stacks),
            sources=sources_of(stacks) if self._sources else {},
            way="in-place",
            layers=complete_calls(
                self._trace.calls,
                lambda texts: [names[int(text)] for text in texts if int(text) in names],
            ),
            variables={
                path: kind
                for number in self._variables
                if (path := self._path(number)) and (kind := self._tracker.variables.kind_of(path))
            },
        )

    def _handle_node(self, name: str, number: int) -> Node:
        return Node(
            name=name.rpartition(":")[0],
            op_type="VarHandleOp",
            function=EAGER,
            attributes={"tensortap.variable": self._path(number)},
            output_dtypes=["resource"],
            output_shapes=[()],
        )

    def _attributes(self, op: _Op, roles: Mapping[int, _Role]) -> dict[str, str]:
        if op.op_type == "VarHandleOp" and self._path(op.outputs[0]):
            return {"tensortap.variable": self._path(op.outputs[0])}
        role = roles.get(op.outputs[0]) if op.outputs else None
        if role is None:
            return {}
        texts = {"tensortap.kind": role.kind, "tensortap.variable": role.variable}
        if role.kind == "weight":
            asked, watched = self._trace.asked, self._trace.watched
            texts |= training_marks(role.variable, asked, watched, self._tracker.variables)
        return {key: text for key, text in texts.items() if text}


def _stack(frame: Any) -> Stack:
    """The user frames from here outwards, innermost last."""
    frames: list[Frame] = []
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            frames.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return tuple(reversed(frames))


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
        with _RECORDERS.inside(recorder), EAGER_TRACES.inside((self, recorder.trace)), recorder:
            yield

    def step(self, step: Step) -> AbstractContextManager[None]:
        """Begins a step: records its ops in an eager scope, or where functions run eagerly."""
        wanted = _innermost(self) is not None or tf.config.functions_run_eagerly()
        return self.scope(step) if wanted else nullcontext()
