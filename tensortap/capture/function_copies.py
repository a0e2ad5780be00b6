"""Tapped copies of functions: made when a watched step first calls them, shared by equal choices of tensors.

A function has one copy per selection of tensors; a function with stateful random ops has one permanent copy,
which runs at every call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensortap.tf import internals

from .capture_warnings import RUNS_UNTAPPED
from .errors import ChoiceFailedError
from .exact.drawing_shadow import DeterministicFunction, DrawingShadow, draws_randomly
from .exact.shadow import NoShadowError, Shadow
from .exact.side_effects import MUTED
from .exact.variable_snapshot import SnapshotReader, changed_bytes
from .instrument.device_summary import can_summarize
from .instrument.function_rewrite import RewriteOptions
from .instrument.random_streams import RandomStreams
from .instrument.receivers import PendingRecording, StepReceiver, most_visits
from .instrument.tapped_function import InstrumentedFunction, check_memory
from .tracing.candidate import Candidate
from .tracing.layer_tracker import LayerTracker
from .tracing.traced_function import Place, TracedRoot, trace_root
from .watching.watch import Watch

# a function, what is watched of it, whether exactly, whether recordings need what it draws, and whether it
# summarizes tensors itself
_Key = tuple[str, frozenset[Watch], bool, bool, bool]

TappedCopy = InstrumentedFunction | Shadow | DrawingShadow


@dataclass(frozen=True)
class WatchedCall:
    """A call of a function in watched or recorded steps.

    Attributes:
        run, inputs, num_outputs: the arguments of the call hook.
        pending: the recordings of the call that have begun.
        permanent: the copy that runs at every call, if there is one.
        run_untapped: runs the function without capture.
    """

    function: str
    run: internals.CallFunction
    inputs: Sequence[Any]
    num_outputs: int
    steps: Sequence[StepReceiver]
    pending: Sequence[PendingRecording]
    permanent: InstrumentedFunction | None
    run_untapped: Callable[[Sequence[Any]], Any]

    @cached_property
    def drawn(self) -> Mapping[Place, str]:
        """Tensors that taps must deliver for the recordings, and the node that draws each."""
        return {place: node for recording in self.pending for place, node in recording.draws.items()}

    @cached_property
    def key(self) -> _Key:
        """Equal for calls that the same copy serves."""
        watches = frozenset(watch for step in self.steps for watch in step.watches)
        on_device = all(step.summarizes_on_device for step in self.steps)
        return self.function, watches, _exact(self.steps), bool(self.drawn), on_device


class FunctionCopies:
    """The tapped copies of all functions that run while any tap is in use.

    Args:
        tracker: knows the layers that were called while functions were traced.
        lock: that of the call hook: while a copy is made, the garbage collector may close a tap.
    """

    def __init__(self, tracker: LayerTracker, lock: threading.RLock) -> None:
        self._tracker, self._lock = tracker, lock
        self._traced: dict[str, TracedRoot] = {}
        self._copies: dict[
            tuple[str, frozenset[Place], frozenset[Place], bool, bool, bool], InstrumentedFunction
        ] = {}
        self._by_kind: dict[_Key, TappedCopy | None] = {}  # of calls
        self._state: dict[str, SnapshotReader] = {}
        self._streams = RandomStreams()

    def begin(self) -> None:
        """Calls are seen from now on."""
        self._by_kind.clear()  # a call that continued after the last `end` may have given up
        self._streams.begin()

    def end(self) -> bool:
        """Drops all copies, except those with the random streams that a function continues to use. Returns
        whether there are any, so that the hook must stay installed."""
        for copy in self._copies.values():
            copy.discard()
        for reader in self._state.values():
            reader.discard()
        for cache in (self._copies, self._state, self._by_kind, self._traced):
            cache.clear()
        return self._streams.end()

    def traced(self, function: str, inputs: Sequence[Any], steps: Sequence[StepReceiver]) -> TracedRoot:
        """A function as traced, with all its callees."""
        with self._lock:
            traced = self._traced.get(function)
            if traced is None:
                known = [path for step in steps for path in step.known_layers]
                names = {short: name for step in steps for short, name in step.names.items()}
                traced = trace_root(function, inputs, self._tracker, known_layers=known, names=names)
                self._traced[function] = traced
            return traced

    def variables_of(self, traced: TracedRoot) -> SnapshotReader:
        """Reads the values of a function's variables, so that a failed call can be undone."""
        with self._lock:
            if traced.root not in self._state:
                self._state[traced.root] = SnapshotReader(traced)
            return self._state[traced.root]

    # The permanent copy

    @property
    def permanent(self) -> Mapping[str, InstrumentedFunction | None]:
        """By function, if decided: the copy that runs at every call, watched or not; None: the function
        itself, or any copy.

        There is one where the function draws from streams that its nodes keep: two copies would draw the
        same numbers twice.
        """
        return self._streams.decided

    def ran_untapped(self, function: str) -> None:
        """A function runs, or will run, without taps."""
        self._streams.ran_untapped(function)

    def decide_permanent(
        self, function: str, inputs: Sequence[Any], around: Sequence[StepReceiver]
    ) -> InstrumentedFunction | None:
        """The permanent copy of a function; None if it is not needed or cannot be made."""
        with self._lock:
            decided = self._streams.decided
            if function not in decided:
                try:
                    decided[function] = self._make_permanent(function, inputs, around)
                except Exception as error:
                    self.drop_permanent(function, "could not be tapped", error, around)
            return decided[function]

    def drop_permanent(
        self, function: str, what: str, error: BaseException, around: Sequence[StepReceiver]
    ) -> None:
        """The function itself runs from now on, as its permanent copy failed."""
        with self._lock:
            self._streams.ran_untapped(function)
            self._streams.decided[function] = None
        for step in around:
            step.warnings.function_failed(function, what, error, RUNS_UNTAPPED)

    def _make_permanent(
        self, function: str, inputs: Sequence[Any], around: Sequence[StepReceiver]
    ) -> InstrumentedFunction | None:
        """The copy for all watches of active taps; None if it is not needed."""
        seeded = self._streams.draws(function)
        if not (seeded or _exact(around)) or (seeded and self._streams.has_begun(function)):
            return None
        traced = self.traced(function, inputs, around)
        drawn = {place: node for step in around for place, node in step.draws_of(traced).items()}
        if _exact(around) and draws_randomly(traced):
            try:
                drawn |= DeterministicFunction(traced).read
            except NoShadowError:  # reported when the function will be captured
                self._streams.ran_untapped(function)
                return None
        elif not seeded:
            return None
        chosen = _chosen(traced, [step.possible_watches for step in around if not step.exact])
        compiled = traced.compiled_places(chosen)
        if compiled and not _exact(around):  # a shadow will be captured
            with suppress(NoShadowError):  # reported when the function will be captured
                drawn |= DeterministicFunction(traced).read
        chosen -= compiled
        if not chosen and not drawn:
            self._streams.ran_untapped(function)
            return None
        chosen |= drawn.keys()
        summarized = _summarized(traced, chosen, around, [step.possible_watches for step in around])
        check_memory(_moved(traced, chosen - summarized), 0)
        options = RewriteOptions(held=drawn, summarized=summarized, switched=True, strided=not drawn)
        return InstrumentedFunction(traced, chosen, options)

    # The copy for watched steps

    def copy_for(self, call: WatchedCall) -> TappedCopy | None:
        """The function's copy for these steps; None if no tensor is selected or it cannot be tapped."""
        with self._lock:
            try:
                if call.key not in self._by_kind:
                    self._by_kind[call.key] = self._make(call)
                return self._by_kind[call.key]
            except NoShadowError as error:
                self._by_kind[call.key] = None
                for step in call.steps:
                    step.warnings.no_shadow(call.function, str(error))
                return None
            except Exception as error:
                self.give_up(call, "could not be tapped", error)
                return None

    def give_up(self, call: WatchedCall, what: str, error: BaseException) -> None:
        """Calls of this kind run untapped from now on."""
        with self._lock:
            self._by_kind[call.key] = None
        for step in call.steps:
            step.warnings.function_failed(call.function, what, error, RUNS_UNTAPPED)

    def _make(self, call: WatchedCall) -> TappedCopy | None:
        function, watches, exact, *_ = call.key
        if not watches and not call.drawn:  # the step is only recorded
            return None
        traced = self.traced(function, call.inputs, call.steps)
        chosen = _chosen(traced, [step.watches for step in call.steps])
        if watches and not chosen:
            for step in call.steps:
                step.nothing_selected(traced)
        compiled = traced.compiled_places(chosen)
        if compiled or (exact and chosen):
            try:
                return self._make_shadow(call, traced, frozenset(chosen))
            except NoShadowError as error:
                if exact:
                    raise
                for step in call.steps:
                    step.warnings.compiled(traced.root, _moved(traced, compiled), str(error))
                chosen -= compiled
        return self._make_in_graph(call, traced, chosen) if chosen or call.drawn else None

    def _make_in_graph(
        self, call: WatchedCall, traced: TracedRoot, chosen: set[Place]
    ) -> InstrumentedFunction | None:
        steps = call.steps
        if call.permanent is not None:
            return _permanent_for(call, traced, chosen)
        if _exact(steps):
            return None  # its draws cannot be recorded without changing the step
        if self._streams.draws(call.function):
            for step in steps:
                step.warnings.draws_already(traced.root, traced.seeded_random_ops())
            return None
        instrumented = self._copy(traced, frozenset({*chosen, *call.drawn}), False, call.drawn, steps)
        _warn_of_limits(traced, instrumented, steps)
        return instrumented

    def _make_shadow(
        self, call: WatchedCall, traced: TracedRoot, chosen: frozenset[Place]
    ) -> TappedCopy | None:
        if not draws_randomly(traced):
            instrumented = self._copy(traced, chosen, True, {}, call.steps)
            shadow: TappedCopy = Shadow(traced, instrumented)
        else:
            given, permanent = DeterministicFunction(traced), call.permanent
            if permanent is None and not traced.seeded_random_ops():
                raise NoShadowError("it draws random numbers without a seed (exact=True captures it)")
            if permanent is None or not given.read.keys() <= permanent.chosen:
                for step in call.steps:
                    step.warnings.draws_already(traced.root, traced.seeded_random_ops())
                return None
            instrumented = self._copy(given.traced, chosen, True, {}, call.steps)
            shadow = DrawingShadow(traced, given, permanent, instrumented)
        _warn_of_limits(traced, instrumented, call.steps)
        return shadow

    def _copy(
        self,
        traced: TracedRoot,
        chosen: frozenset[Place],
        exact: bool,
        drawn: Mapping[Place, str],
        steps: Sequence[StepReceiver],
    ) -> InstrumentedFunction:
        """The copy that catches these tensors; watches that choose the same share one."""
        summarized = _summarized(traced, chosen, steps, [step.watches for step in steps])
        strided = not exact and not drawn and most_visits(steps) is not None
        key = traced.root, chosen, summarized, exact, bool(drawn), strided
        if key not in self._copies:
            check_memory(_moved(traced, chosen - summarized), 0 if exact else changed_bytes(traced))
            options = RewriteOptions(MUTED if exact else (), drawn, summarized, shadow=exact, strided=strided)
            self._copies[key] = InstrumentedFunction(traced, chosen, options)
        return self._copies[key]


def _permanent_for(call: WatchedCall, traced: TracedRoot, chosen: set[Place]) -> InstrumentedFunction | None:
    """The permanent copy, if it catches anything that is chosen or that a recording needs."""
    permanent = call.permanent
    missing = [traced.candidates[place] for place in chosen - permanent.chosen] if permanent else []
    if missing:
        for step in call.steps:
            step.warnings.chosen_too_late(traced.root, missing)
    if permanent is None or (len(missing) == len(chosen) and not call.drawn):
        return None
    if chosen:
        _warn_of_limits(traced, permanent, call.steps)
    return permanent


def _chosen(traced: TracedRoot, watches: Iterable[Sequence[Watch]]) -> set[Place]:
    """Places that the watches of steps select. If a callable of a watch raises, it reports the tensors it
    got.

    Raises:
        ChoiceFailedError: a callable of a watch raised, and nothing else is selected.
    """
    chosen: set[Place] = set()
    failure: ChoiceFailedError | None = None
    for of_step in watches:
        try:
            chosen |= {
                place
                for place, candidate in traced.candidates.items()
                if any(watch.selects(candidate) for watch in of_step)
            }
        except ChoiceFailedError as error:
            failure = error
    if failure is not None and not chosen:
        raise failure
    return chosen


def _summarized(
    traced: TracedRoot,
    chosen: Collection[Place],
    steps: Sequence[StepReceiver],
    watches: Iterable[Sequence[Watch]],
) -> frozenset[Place]:
    """Chosen tensors that the function itself summarizes, because no watch keeps their values."""
    if not all(step.summarizes_on_device for step in steps):
        return frozenset()
    keeping = [watch for of_step in watches for watch in of_step if watch.keep == "value"]
    return frozenset(
        place
        for place in traced.candidates.keys() & chosen
        if can_summarize(traced.candidates[place])
        and not any(watch.selects(traced.candidates[place]) for watch in keeping)
    )


def _moved(traced: TracedRoot, places: Collection[Place]) -> list[Candidate]:
    """Candidates whose values leave the function."""
    return [traced.candidates[place] for place in traced.candidates.keys() & places]


def _warn_of_limits(
    traced: TracedRoot, instrumented: InstrumentedFunction, steps: Sequence[StepReceiver]
) -> None:
    """Warns about tensors that are not captured in a copy."""
    if traced.dataset_functions:
        for step in steps:
            step.warnings.dataset_functions(traced.root, traced.dataset_functions)
    unreached = [place for place in instrumented.rewritten.out_of_reach if place in traced.candidates]
    if unreached:
        for step in steps:
            step.warnings.out_of_reach([traced.candidates[place] for place in unreached])
    disturbing = [place for place in instrumented.rewritten.disturbing if place in traced.candidates]
    if disturbing:
        for step in steps:
            step.warnings.disturbing([traced.candidates[place] for place in disturbing])


def _exact(steps: Sequence[StepReceiver]) -> bool:
    return any(step.exact for step in steps)
