"""A root function with taps in it: runs instead of the original, and delivers the tapped values."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, NamedTuple, Protocol

import tensorflow as tf

from tensortap.core.dtypes import Array, itemsize
from tensortap.system.host_memory import available_bytes
from tensortap.tf import internals

from ..tracing.candidate import Candidate
from ..tracing.traced_function import Place, TracedRoot
from ..watching.watch import is_static, static_size
from .added_nodes import HOST, MARK
from .device_summary import DeviceSummary
from .function_rewrite import RewriteOptions, Rewritten, rewrite
from .grappler_duplicates import DUPLICATE
from .tap_queues import Route, TapQueue, received, summarized_at


class TappedVisit(NamedTuple):
    """Tensors of one visit of a function: where they were computed, and their values.

    `skipped` visits before this one did not run the nodes: iterations in which another branch was taken.
    After the last call there are no values. `places` is the same object at each visit. `routes` are the calls
    that led to each of the places.
    """

    places: Sequence[Place]
    arrays: Sequence[Array | DeviceSummary] | None
    skipped: int = 0
    routes: Sequence[Route] = ()


TapValues = list[TappedVisit]
"""In the order of delivery."""


class Receiver(Protocol):
    """Takes the tapped values of a call. Neither method may raise."""

    @property
    def visits(self) -> int | None:
        """How many iterations of a loop it needs; None: all."""

    def take(self, values: TapValues) -> None: ...

    def failed(self, error: Exception) -> None:
        """Some values could not be delivered; the call itself continues."""


# A loop may enqueue without bound while the function runs; from then on it is emptied as it runs.
_PUMP_AFTER_SECONDS = 0.05
_PUMP_EVERY_SECONDS = 0.02

_NODE = re.compile(r"node ([^\s}]+)")  # in error messages: `{{node x}}`, `Detected at node x defined at`

_COPY = re.compile(rf"__{MARK}\d+_\d+\b")  # what `rewrite` adds to the name of a function

# What XLA says when it cannot compile a function, e.g. because of an additional output.
_COMPILER_ERRORS = (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError, tf.errors.InternalError)

# The rest is for what the estimate does not see: unknown shapes, iterations of loops, the writer.
_SHARE = 0.5


class InstrumentedFunction:
    """Copies of one root function with taps at chosen tensors.

    Args:
        chosen: the selected tensors; also an attribute.

    Not for two threads at once: the queues are shared by all calls of the copy, so calls are serialized.
    """

    def __init__(
        self,
        traced: TracedRoot,
        chosen: Collection[Place],
        options: RewriteOptions = RewriteOptions(),  # noqa: B008  frozen
    ) -> None:
        self.chosen = frozenset(chosen)
        self._rewritten = rewrite(traced, self.chosen, options)
        self._name = self._rewritten.name.encode()
        self._output_places = [tapped.place for tapped in self._rewritten.outputs]
        self._output_routes = [tapped.route for tapped in self._rewritten.outputs]
        self._summarized_outputs = summarized_at(self._rewritten.outputs)
        self._lock = threading.RLock()
        self._has_run = self._discarded = False
        self._runs: dict[TapQueue, int] = {}  # entries that were read in this call
        self._iterations: dict[TapQueue, int] = {}  # the next one
        paths: dict[str, set[int]] = {}
        for queue in self._rewritten.queues:
            paths.setdefault(queue.tapped[0].place[0], set()).add(queue.rank)
        # Only where a function is called from one place can entries be delivered before all are known.
        self._pumped = [
            queue
            for queue in self._rewritten.queues
            if queue.looped and all(len(paths.get(tapped.place[0], ())) == 1 for tapped in queue.tapped)
        ]

    @property
    def rewritten(self) -> Rewritten:
        return self._rewritten

    def call(
        self,
        run: internals.CallFunction,
        name: bytes,
        inputs: Sequence[Any],
        num_outputs: int,
        receiver: Receiver,
    ) -> Any:
        """Runs the copy and delivers the tapped values, also if it fails midway.

        Returns:
            The results of the original: a list of tensors, or None.

        Raises:
            The function's own errors. `TapFailedError` if it was the taps that failed.
        """
        with self._lock:
            self._turn(True)
            for stride in self._rewritten.strides:
                stride.begin(receiver.visits)
            with self._emptying_queues(receiver):
                outputs, extra = self._run(run, inputs, num_outputs)
        if extra:
            _deliver(receiver, lambda: self._outputs(extra))
        return outputs

    def call_untapped(self, run: internals.CallFunction, inputs: Sequence[Any], num_outputs: int) -> Any:
        """Runs the copy with its taps switched off; returns and raises as `call`."""
        with self._lock:
            self._turn(False)
            for stride in self._rewritten.strides:
                stride.turn_off()
            return self._run(run, inputs, num_outputs)[0]

    def _turn(self, on: bool) -> None:
        if self._discarded:
            raise TapFailedError("another thread closed the tap")
        switch = self._rewritten.switch
        if switch is not None and switch.turn(on) and on:
            for counter in self._rewritten.counters:
                counter.take()  # they continue counting while the taps are off

    def _run(
        self, run: internals.CallFunction, inputs: Sequence[Any], num_outputs: int
    ) -> tuple[Any, Sequence[Any]]:
        """Runs the copy; returns the outputs of the original, and those of the taps."""
        count = len(self._rewritten.outputs)
        try:
            outputs = run(self._name, inputs, num_outputs + count)
        except Exception as error:
            if self._is_to_blame(error):
                raise TapFailedError from error
            # TensorFlow adds the lines of the program to errors of functions that it knows.
            internals.reword(error, lambda message: _COPY.sub("", message))
            raise
        self._has_run = True
        return (outputs[:num_outputs] or None, outputs[num_outputs:]) if count else (outputs, ())

    def _is_to_blame(self, error: Exception) -> bool:
        if isinstance(error, tf.errors.ResourceExhaustedError) or self._ran_for_taps(str(error)):
            return True
        return self._rewritten.compiled and not self._has_run and isinstance(error, _COMPILER_ERRORS)

    def _ran_for_taps(self, message: str) -> bool:
        """Whether an error was raised by a node that runs for taps only."""
        for name in _NODE.findall(message):
            if name.startswith(f"{MARK}/") or name.endswith(DUPLICATE):
                return True
            # The nodes of an inlined function have the call's name as a prefix.
            parts = name.split("/")
            ends = ("/".join(parts[first:]) for first in range(len(parts)))
            if not self._rewritten.only_for_taps.isdisjoint(ends):
                return True
        return False

    @contextmanager
    def _emptying_queues(self, receiver: Receiver) -> Iterator[None]:
        """Empties the queues after the body has run, and those of loops from time to time while it runs."""
        try:
            with self._pumping(receiver) if self._pumped else nullcontext():
                yield
        finally:
            _deliver(receiver, self._read_all)

    @contextmanager
    def _pumping(self, receiver: Receiver) -> Iterator[None]:
        ended = threading.Event()
        pump = threading.Thread(target=self._pump, args=(receiver, ended), name="tensortap-pump", daemon=True)
        with suppress(RuntimeError):  # no more threads: the queues are emptied at the end
            pump.start()
        try:
            yield
        finally:
            ended.set()
            if pump.ident is not None:
                pump.join()

    def _pump(self, receiver: Receiver, ended: threading.Event) -> None:
        wait = _PUMP_AFTER_SECONDS
        while not ended.wait(wait):
            wait = _PUMP_EVERY_SECONDS
            for queue in self._pumped:
                if queue.stride is not None and not queue.stride.captures_all:
                    continue  # where the condition ends is known when the loop has ended
                _deliver(receiver, lambda queue=queue: self._read([queue]))  # type: ignore[misc]

    def _read_all(self) -> TapValues:
        """What still waits when the call has ended, and how often nodes did not run after that."""
        with internals.not_recorded():
            for stride in self._rewritten.strides:
                stride.end()
            return [*self._read(self._rewritten.queues), *self._end_iterations()]

    def _read(self, queues: Sequence[TapQueue]) -> TapValues:
        """All that waits in the queues: by iteration, then by call, then in graph order."""
        with internals.not_recorded(), tf.device(HOST):
            entries = [
                (iteration, queue.rank, queue, arrays, skipped)
                for queue in queues
                for iteration, arrays, skipped in self._numbered(queue)
            ]
        entries.sort(key=lambda entry: entry[:2])  # stable: queues are in graph order
        return [
            TappedVisit(queue.places, arrays, skipped, queue.routes)
            for _, _, queue, arrays, skipped in entries
        ]

    def _numbered(self, queue: TapQueue) -> Iterator[tuple[int, list[Array | DeviceSummary], int]]:
        """(iteration, arrays, iterations skipped before) of each entry that waits."""
        entries = queue.take()
        first = self._runs.get(queue, 0)
        self._runs[queue] = first + len(entries)
        for number, (arrays, count) in enumerate(entries, first):
            iteration = count - 1 if queue.is_numbered else number
            if queue.stride is not None and not queue.chooses:
                iteration = queue.stride.iteration(iteration)
                if queue.in_condition and queue.stride.length and not queue.stride.captures_all:
                    iteration = min(iteration, queue.stride.length)  # the length of a failed call is unknown
            skipped = max(iteration - self._iterations.get(queue, 0), 0)
            self._iterations[queue] = iteration + 1
            yield iteration, arrays, skipped

    def _end_iterations(self) -> TapValues:
        """The iterations after the last one that was captured; the next call begins at 0 again."""
        counts = {counter: counter.take() for counter in self._rewritten.counters}
        begun, self._iterations, self._runs = self._iterations, {}, {}
        visits: TapValues = []
        for queue in self._rewritten.queues:
            if queue.counter is not None and (queue.stride is None or queue.chooses):
                count = counts[queue.counter]
            else:
                count = 0 if queue.stride is None else queue.stride.length
            if count > begun.get(queue, 0):
                visits.append(TappedVisit(queue.places, None, count - begun.get(queue, 0)))
        return visits

    def _outputs(self, tensors: Sequence[Any]) -> TapValues:
        arrays = received(tensors, self._summarized_outputs)
        return [TappedVisit(self._output_places, arrays, routes=self._output_routes)]

    def discard(self) -> None:
        """Takes the copies out of TensorFlow again."""
        with self._lock:
            self._discarded = True
            self._rewritten.discard()


class TapFailedError(Exception):
    """The taps of a function failed, not the function; the cause has the reason. The original can run
    instead."""


def _deliver(receiver: Receiver, catch: Callable[[], TapValues]) -> None:
    try:
        caught = catch()
    except Exception as error:
        receiver.failed(error)
    else:
        if caught:
            receiver.take(caught)


def check_memory(candidates: Iterable[Candidate], copied: int) -> None:
    """Checks whether the host has memory for a copy's tensors, so that training is never killed for lack of
    memory.

    Args:
        copied: bytes of the variable values that are referenced while the copy runs.

    Raises:
        MemoryError: there is not.
    """
    needed, available = estimated_bytes(candidates) + copied, available_bytes()
    if available is not None and needed > _SHARE * available:
        raise MemoryError(f"a step needs {needed / 1e9:.1f} GB, but only {available / 1e9:.1f} GB are free")


def estimated_bytes(candidates: Iterable[Candidate]) -> int:
    """Size of one visit of all of them, from known shapes."""
    return sum(
        static_size(candidate) * itemsize(candidate.dtype) for candidate in candidates if is_static(candidate)
    )
