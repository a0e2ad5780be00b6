"""Links between the calls of a step: which result, or op between them, each argument came from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import tensorflow as tf

from tensortap.core.names import short_function_name
from tensortap.tf import internals

from .source_stacks import is_user_file

_MAX_OPS = 50_000  # of a step that are noted
_MAX_WRITTEN = 200  # ops between calls that an event lists
_RESOURCE = tf.resource.as_datatype_enum
FUNCTION_PREFIXES = ("__inference_", "__forward_", "__backward_")  # calls of these are recorded as calls

Producer = tuple[int, int, bool]  # number of the call or op, output slot, whether it is a call


class WrittenGraph(Protocol):
    """A graph whose `id` is known after it is written (`GraphHandle`)."""

    id: str


@dataclass(eq=False)
class _Call:
    """A call of a function, and its captured graph. `inputs`, `variables`: ids of its floating-point tensors
    and of handles of variables, by position."""

    function: str
    graph: WrittenGraph | None
    inputs: dict[int, int]
    variables: dict[int, int]


@dataclass(eq=False)
class _Op:
    """An op outside functions. `inputs`: ids of its floating point tensors by position. `place`: file
    and line of the program, or empty."""

    op_type: str
    inputs: dict[int, int]
    place: str


@dataclass
class CallLinks:
    """While a step runs, tracks which call or eager op produced each tensor, by the ids of eager tensors.

    It holds no values. Ops that run in an eager scope are nodes of the graph `eager`, and named as there.

    Attributes:
        entered: how often the step began; what runs between is not noted.
    """

    entered: int = 0
    _first_result: int | None = None
    _calls: list[_Call] = field(default_factory=list)
    _ops: list[_Op] = field(default_factory=list)
    _producer: dict[int, Producer] = field(default_factory=dict)
    _eager_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def any_call(self) -> bool:
        """Whether a function was called."""
        return bool(self._calls)

    @property
    def only_loose_ops(self) -> bool:
        """Whether ops ran, but each of them outside functions and eager scopes."""
        return bool(self._ops) and not self._calls and not self._eager_names

    @property
    def is_empty(self) -> bool:
        """Whether no op and no function ran in the thread of the step."""
        return not (self._ops or self._calls or self._eager_names)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Notes the ops that this thread runs in the body outside functions."""
        self.entered += 1
        internals.add_op_callback(self._on_op)
        try:
            yield
        finally:
            with suppress(KeyError):  # another thread ends it, as it may a generator
                internals.remove_op_callback(self._on_op)

    def called(
        self, function: str, graph: WrittenGraph | None, inputs: Sequence[Any], outputs: Sequence[Any] | None
    ) -> None:
        """A function was called; `graph`: the graph of its captured tensors."""
        number = len(self._calls)
        handles = {
            at: internals.tensor_id(each)
            for at, each in enumerate(inputs)
            if internals.dtype_number(each) == _RESOURCE
        }
        self._calls.append(_Call(function, graph, _float_ids(inputs), handles))
        for slot, tensor in enumerate(outputs or ()):
            self._producer[internals.tensor_id(tensor)] = number, slot, True
            if self._first_result is None:
                self._first_result = internals.tensor_id(tensor)

    def name_eager(self, names: Mapping[int, str]) -> None:
        """Names (of tensors in the graph `eager`) for the outputs of ops in an eager scope, by tensor id."""
        self._eager_names = {**self._eager_names, **names}

    def _on_op(
        self,
        op_type: str | bytes,
        inputs: Sequence[Any],
        attrs: Any,
        outputs: Sequence[Any],
        op_name: str | None = None,
        graph: Any = None,
    ) -> None:
        kind = op_type.decode() if isinstance(op_type, bytes) else op_type
        if graph is not None or len(self._ops) == _MAX_OPS or kind.startswith(FUNCTION_PREFIXES):
            return
        number = len(self._ops)
        try:
            made = _float_ids(outputs)
            if made:
                self._ops.append(_Op(kind, _float_ids(inputs), _user_line()))
                self._producer |= {tensor: (number, slot, False) for slot, tensor in made.items()}
        except Exception:
            self._ops[number:] = []  # nothing may escape into the program: the op is unknown, then

    def as_event(self) -> tuple[Any, Callable[[], dict[str, Any]]]:
        """A key that is equal for steps with the same functions on the same tensors, and a function that
        creates the event `calls` (FORMAT.md) once the graphs are written."""
        between, places = self._between()
        calls = [
            (call, {str(at): text for at, text in self._references(call.inputs, places)})
            for call in self._calls
        ]
        ops = [
            {"op": op.op_type, "at": op.place, "from": self._inputs_of(op, places)}
            for op in (self._ops[number] for number in between)
        ]
        eager = dict[str, dict[str, str]]()
        for tensor, name in self._eager_names.items():
            if tensor in self._producer:
                found = self._inputs_of(self._ops[self._producer[tensor][0]], places)
                outside = {at: text for at, text in found.items() if not text.startswith("eager:")}
                if outside:
                    eager[name.rpartition(":")[0]] = outside
        variables = self._variables()
        named = [(call.function, found) for call, found in calls]
        return repr((named, ops, eager, variables)), lambda: {
            "calls": [
                {
                    "graph": "" if call.graph is None else call.graph.id,
                    "name": short_function_name(call.function),
                    "from": found,
                    "variables": numbers,
                }
                for (call, found), numbers in zip(calls, variables, strict=True)
            ],
            "ops": ops,
            "eager": eager,
        }

    def _variables(self) -> list[dict[str, int]]:
        """Numbers of the variables of each call, by position; empty for a single call."""
        numbers: dict[int, int] = {}
        several = len(self._calls) > 1
        return [
            {str(at): numbers.setdefault(handle, len(numbers)) for at, handle in call.variables.items()}
            if several
            else {}
            for call in self._calls
        ]

    def _inputs_of(self, op: _Op, places: Mapping[int, int]) -> dict[str, str]:
        return {str(at): text for at, text in self._references(op.inputs, places)}

    def _references(self, inputs: Mapping[int, int], places: Mapping[int, int]) -> Iterator[tuple[int, str]]:
        """(position, source) of the inputs produced in the step: `call:NUMBER:SLOT`, `op:PLACE:SLOT`,
        `eager:TENSOR`, `python` if no op after the first call produced it, or `unknown` if the step was
        entered again since."""
        for at, tensor in inputs.items():
            if tensor in self._eager_names:
                yield at, f"eager:{self._eager_names[tensor]}"
            elif tensor in self._producer:
                number, slot, is_call = self._producer[tensor]
                if is_call:
                    yield at, f"call:{number}:{slot}"
                elif number in places:
                    yield at, f"op:{places[number]}:{slot}"
            elif self._first_result is not None and tensor > self._first_result:  # ids ascend
                yield at, "unknown" if self.entered > 1 else "python"

    def _between(self) -> tuple[list[int], dict[int, int]]:
        """(ops that arguments of calls depend on, in execution order; their positions in that list)."""
        waiting = [tensor for call in self._calls for tensor in call.inputs.values()]
        found: set[int] = set()
        while waiting and len(found) < _MAX_WRITTEN:
            tensor = waiting.pop()
            made = self._producer.get(tensor)
            if made is None or made[2] or made[0] in found or tensor in self._eager_names:
                continue
            found.add(made[0])
            waiting += self._ops[made[0]].inputs.values()
        ops = sorted(found)
        return ops, {number: at for at, number in enumerate(ops)}


def _float_ids(tensors: Sequence[Any]) -> dict[int, int]:
    """Position -> id, of the floating point tensors."""
    return {
        at: internals.tensor_id(each)
        for at, each in enumerate(tensors)
        if _is_floating(internals.dtype_number(each))
    }


@cache
def _is_floating(dtype: int) -> bool:
    """By number: TensorFlow takes a microsecond to say it of a tensor, and a step has hundreds of inputs."""
    return bool(tf.as_dtype(dtype).is_floating)


def _user_line() -> str:
    """`train.py:17`, the innermost running line of the program; empty without one."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
