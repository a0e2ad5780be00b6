"""Loads a recorded call and runs it again: registers its functions and creates inputs from the recording."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tensorflow as tf

from tensortap.capture.exact.iterator_copy import array_iterator
from tensortap.capture.instrument.device_summary import DeviceSummary
from tensortap.capture.instrument.tapped_function import InstrumentedFunction, TapFailedError, TapValues
from tensortap.capture.recording.call_recorder import results_of
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.tracing.layer_tracker import LayerTracker
from tensortap.capture.tracing.traced_function import Place, TracedRoot, trace_root
from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, InvalidValueError, TensortapError
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.tf import internals
from tensortap.tf.op_allowlist import check_allowed
from tensortap.tfproto.function_calls import callees, recursion


@dataclass(frozen=True, slots=True)
class CallResult:
    """Results of a call, and the tensors that were captured in it.

    Attributes:
        outputs: the returned tensors, without resources.
        variables: values after the call, by number of their argument.
        tensors: the requested tensors with their visits, in the order of computation.
        failure: the error of the call, or None.
    """

    outputs: tuple[Array, ...]
    variables: Mapping[int, Array]
    tensors: list[tuple[Candidate, int, Array]]
    failure: Exception | None = None


class LoadedCall:
    """A recorded call whose functions are registered under unique names until `close`. A context manager.

    Example:
        ```python
        from pathlib import Path
        from tensortap.replay import locate, open_recording
        from tensortap.replay.execution.loaded_call import LoadedCall

        recording = open_recording(locate(Path("logs/recorded"), step=0, call=None))
        with LoadedCall(recording) as call:
            result = call.run(lambda tensor: tensor.op_type == "MatMul")
        for tensor, visit, array in result.tensors:
            print(tensor.name, visit, array.shape)
        ```

    Raises:
        DamagedError: the library cannot be read, lacks the function, or is invalid for TensorFlow; this may
            only show when the call is inspected or run.
        InvalidValueError: it has an op that is not allowed.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._prefix = f"{uuid.uuid4().hex[:8]}_"
        self._names: dict[str, str] = {}  # registered -> in the recording
        self._copies: dict[frozenset[Place], InstrumentedFunction] = {}
        definitions = _definitions(recording.library)
        known = {definition.signature.name for definition in definitions}
        if recording.function not in known:
            raise DamagedError(f"The recording is damaged: it lacks the function {recording.function!r}.")
        check_allowed(definitions)
        circle = recursion(definitions)
        if circle:
            raise DamagedError(f"The function {circle[0]!r} of the recording is recursive.")
        self._root = self._renamed(recording.function)
        try:
            with _damage_reported():
                for definition in definitions:
                    self._register(definition, known)
                self._outputs = len(internals.function_def(self._root).signature.output_arg)
        except BaseException:
            self.close()
            raise

    @cached_property
    def recorded(self) -> TracedRoot:
        """The traced function, read on first use."""
        with RecordedInputs(self._recording.arguments) as inputs, _damage_reported():
            return trace_root(self._root, inputs, LayerTracker())

    def _renamed(self, name: str) -> str:
        # short_function_name takes what TensorFlow puts around a name off again
        return f"__inference_{self._prefix}{name}"

    def _register(self, definition: Any, known: set[str]) -> None:
        original = definition.signature.name
        definition.signature.name = self._renamed(original)
        for node in definition.node_def:
            node.device = device_here(node.device)
            for callee in callees(node):
                if callee.reference.name in known:
                    callee.reference.name = self._renamed(callee.reference.name)
        internals.register_function(definition)
        self._names[definition.signature.name] = original

    def original(self, function: str) -> str:
        """Name of a function of `recorded` in the recording."""
        return self._names[function]

    @property
    def candidates(self) -> list[Candidate]:
        """The tensors that can be computed."""
        return list(self.recorded.candidates.values())

    @property
    def in_graph_candidates(self) -> list[Candidate]:
        """Those that a tap of a run would read in-graph."""
        compiled = self.recorded.compiled_places(self.recorded.candidates)
        return [each for place, each in self.recorded.candidates.items() if place not in compiled]

    def run(
        self,
        wanted: Callable[[Candidate], bool] | None = None,
        arguments: Sequence[Argument] | None = None,
        *,
        as_written: bool = False,
    ) -> CallResult:
        """Run the call on fresh copies of its recorded inputs.

        Args:
            wanted: tensors to return; None: none.
            arguments: other inputs, of the same kinds and dtypes.
            as_written: run without the graph optimizer, which takes most of the time of a first run; last
                bits may differ.
        """
        arguments = self._recording.arguments if arguments is None else arguments
        places: frozenset[Place] = frozenset()
        if wanted is not None:
            places = frozenset(place for place, each in self.recorded.candidates.items() if wanted(each))
        receiver = _Receiver({place: self.recorded.candidates[place] for place in places})
        with RecordedInputs(arguments) as inputs:
            failure, outputs = None, []
            try:
                outputs = self._call(places, inputs, receiver, as_written)
            except TapFailedError as error:
                failure = error.__cause__ if isinstance(error.__cause__, Exception) else error
            except Exception as error:
                failure = error
            return CallResult(results_of(outputs), variables_of(arguments, inputs), receiver.tensors, failure)

    def _call(
        self, places: frozenset[Place], inputs: list[Any], receiver: _Receiver, as_written: bool
    ) -> list[Any]:
        call = internals.call_as_written if as_written else internals.call_function
        if not places:
            return call(self._root, inputs, self._outputs)
        if places not in self._copies:
            self._copies[places] = InstrumentedFunction(self.recorded, places)

        def run(name: bytes, inputs: Sequence[Any], num_outputs: int) -> list[Any]:
            return call(name.decode(), inputs, num_outputs)

        return list(
            self._copies[places].call(run, self._root.encode(), inputs, self._outputs, receiver) or ()
        )

    def close(self) -> None:
        """Remove the functions from TensorFlow."""
        for copy in self._copies.values():
            copy.discard()
        for name in self._names:
            internals.remove_function(name)
        self._copies, self._names = {}, {}

    def __enter__(self) -> LoadedCall:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Receiver:
    """Collects the captured tensors of a run, and counts their visits."""

    visits = None  # all iterations of a loop

    def __init__(self, candidates: Mapping[Place, Candidate]) -> None:
        self._candidates = candidates
        self._visits: dict[Place, int] = {}
        self.tensors: list[tuple[Candidate, int, Array]] = []

    def take(self, values: TapValues) -> None:
        for places, arrays, skipped, _ in values:
            for number, place in enumerate(places):
                visit = self._visits.get(place, 0) + skipped
                self._visits[place] = visit
                if arrays is not None:
                    self._visits[place] += 1
                    array = arrays[number]
                    assert not isinstance(array, DeviceSummary)  # a replay requests values
                    self.tensors.append((self._candidates[place], visit, array))

    def failed(self, error: Exception) -> None:
        raise error


@contextlib.contextmanager
def _damage_reported() -> Iterator[None]:
    """Raises DamagedError for any error of TensorFlow: the recording was edited."""
    try:
        yield
    except (TensortapError, MemoryError, tf.errors.ResourceExhaustedError):
        raise
    except Exception as error:
        why = next(iter(str(error).splitlines()), "")
        raise DamagedError(
            f"The recording is damaged: TensorFlow cannot load it ({type(error).__name__}: {why[:300]}).",
            "Copy or record it again. Edited recordings do not run.",
        ) from error


def _definitions(library: bytes) -> list[Any]:
    from google.protobuf.message import DecodeError

    try:
        return internals.definitions(library)
    except DecodeError as error:
        raise DamagedError("The recording is damaged: its functions cannot be read.") from error


class RecordedInputs:
    """Live inputs of a call: variables with the recorded values, iterators over the recorded elements."""

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = arguments
        self._iterators: list[Any] = []  # iterators live as long as their Python objects do

    def __enter__(self) -> list[Any]:
        made = {"tensor": self._tensor, "variable": self._variable, "iterator": self._iterator}
        with _damage_reported():
            return [made[argument.kind](argument) for argument in self._arguments]

    def __exit__(self, *exc: object) -> None:
        self._iterators.clear()

    def _tensor(self, argument: Argument) -> Any:
        (array,) = argument.arrays
        with tf.device(device_here(argument.device) or None):
            return tf.constant(array)

    def _variable(self, argument: Argument) -> Any:
        dtype, shape = _dtype(argument.dtype), tf.TensorShape(argument.shape)
        with tf.device(device_here(argument.device) or None):
            handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name=internals.anonymous_name())
            internals.set_handle_data(handle, dtype, shape)
            for array in argument.arrays:
                tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(array, dtype))
        return handle

    def _iterator(self, argument: Argument) -> Any:
        signature = tuple(
            tf.TensorSpec(tf.TensorShape(part.shape), _dtype(part.dtype)) for part in argument.parts
        )
        width = max(len(signature), 1)
        elements = [argument.arrays[at : at + width] for at in range(0, len(argument.arrays), width)]
        iterator = array_iterator(elements, signature)
        self._iterators.append(iterator)
        return internals.iterator_handle(iterator)


def _dtype(name: str) -> Any:
    try:
        return tf.as_dtype(name)
    except TypeError as error:
        raise InvalidValueError(f"TensorFlow has no dtype {name[:40]!r}.") from error


def variables_of(arguments: Sequence[Argument], inputs: Sequence[Any]) -> dict[int, Array]:
    """Values of the variables among live inputs, by number of their argument."""
    return dict(_values(arguments, inputs))


def _values(arguments: Sequence[Argument], inputs: Sequence[Any]) -> Iterator[tuple[int, Array]]:
    for number, (argument, handle) in enumerate(zip(arguments, inputs, strict=True)):
        if argument.kind == "variable" and tf.raw_ops.VarIsInitializedOp(resource=handle):
            with tf.device(device_here(argument.device) or None):
                value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=_dtype(argument.dtype))
            yield number, internals.as_array(value)


_DEVICE = re.compile(r"device:(\w+:\d+)$", re.IGNORECASE)
_OTHERWISE = "/device:CPU:0"


def device_here(name: str) -> str:
    """The local device for a recorded one, whose job and task belong to another process.

    Args:
        name: `/job:worker/replica:0/task:1/device:GPU:0`, or empty.

    Returns:
        `/device:GPU:0`, or the CPU if that device is missing; empty for an empty name.
    """
    if not name:
        return ""
    found = _DEVICE.search(name)
    here = f"/device:{found.group(1).upper()}" if found else ""
    return here if any(each.name == here for each in tf.config.list_logical_devices()) else _OTHERWISE
