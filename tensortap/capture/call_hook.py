"""The hook through which all traced functions run; runs tapped copies of them on watched steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tensortap.core.records import CaptureMode
from tensortap.tf import internals

from .capture_warnings import first_line
from .errors import ChoiceFailedError
from .exact.drawing_shadow import DeterministicFunction, DrawingShadow, draws_randomly
from .exact.shadow import NoShadowError, Shadow, ShadowFailedError
from .exact.side_effects import MUTED
from .exact.variable_snapshot import SnapshotReader, VariableSnapshot, changed_bytes
from .instrument.context_stack import TaskStack
from .instrument.device_summary import can_summarize
from .instrument.random_streams import RandomStreams
from .instrument.receivers import CallReceiver, PendingRecording, StepReceiver
from .instrument.tapped_function import InstrumentedFunction, TapFailedError, check_memory
from .tracing.candidate import Candidate
from .tracing.layer_tracker import LayerTracker
from .tracing.traced_function import Place, TracedRoot, trace_root
from .watching.watch import Watch

# a function, what is watched of it, whether exactly, whether recordings need what it draws, and whether it
# summarizes tensors itself
_Key = tuple[str, frozenset[Watch], bool, bool, bool]


_Tapped = InstrumentedFunction | Shadow | DrawingShadow


class _OtherStepError(Exception):
    """A call failed for its taps, and will draw another batch when it is made again without; the cause says
    why it failed."""


class _Call(NamedTuple):
    """A call in watched or recorded steps.

    Attributes:
        run, inputs, num_outputs: as the call hook is given them.
        standing: the copy that runs at every call, if there is one.
        run_untapped: runs the function with some inputs, nothing of which is captured.
    """

    function: str
    run: internals.CallFunction
    inputs: Sequence[Any]
    num_outputs: int
    steps: Sequence[StepReceiver]
    pending: Sequence[PendingRecording]
    standing: InstrumentedFunction | None
    run_untapped: Callable[[Sequence[Any]], Any]


class _Pause:
    """Nothing outside of it is captured."""


_STEPS: TaskStack[StepReceiver | _Pause] = TaskStack("tensortap steps")
_PAUSE = _Pause()


class CallHook:
    """Installed while any tap is in use. Calls outside of a watched step pass through untouched."""

    def __init__(self) -> None:
        self.tracker = LayerTracker()
        self._lock = threading.RLock()
        self._users = 0
        self._uninstall: Any = None
        self._traced: dict[str, TracedRoot] = {}
        self._copies: dict[
            tuple[str, frozenset[Place], frozenset[Place], bool, bool], InstrumentedFunction
        ] = {}
        self._instrumented: dict[_Key, _Tapped | None] = {}
        self._state: dict[str, SnapshotReader] = {}
        self._streams = RandomStreams()

    def acquire(self) -> None:
        """Installs the interceptor for one more user."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._instrumented.clear()  # a call that went on after the last release may have given up
                self.tracker.install()
                self._streams.begin()
                if self._uninstall is None:
                    self._uninstall = internals.install_call_hook(self._on_call)

    def release(self) -> None:
        """Undoes one `acquire`; the last one restores TensorFlow and drops all copies, but those that hold
        the streams from which a function goes on drawing."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self.tracker.uninstall()
                self._discard()
                if not self._streams.end():
                    self._uninstall()
                    self._uninstall = None

    def inside(self, step: StepReceiver) -> AbstractContextManager[None]:
        """The calls that this thread, or task, makes in the body belong to a step.

        Steps of other owners go on, an outer step of the same owner pauses.
        """
        return _STEPS.inside(step)

    def step_of(self, owner: object) -> StepReceiver | None:
        """The innermost step of that owner which this thread, or task, is in."""
        for step in _STEPS:
            if not isinstance(step, _Pause) and step.owner is owner:
                return step
        return None

    def _steps(self) -> tuple[StepReceiver, ...]:
        """The innermost step of each owner, outer ones first."""
        found: dict[int, StepReceiver] = {}
        for step in _STEPS:
            if isinstance(step, _Pause):
                break
            found.setdefault(id(step.owner), step)
        return tuple(reversed(found.values()))

    def _on_call(
        self, run: internals.CallFunction, name: bytes, inputs: Sequence[Any], num_outputs: int
    ) -> Any:
        around = self._steps()
        function = name.decode() if isinstance(name, bytes) else name
        standing = self._standing(function, inputs, around)

        def run_untapped(inputs: Sequence[Any]) -> Any:
            if standing is None:
                return run(name, inputs, num_outputs)
            return self._run_standing(standing, function, run, inputs, num_outputs, around)

        steps = tuple(step for step in around if step.active)
        if not steps:
            return run_untapped(inputs)
        pending, given = self._begin_recordings(function, inputs, steps), inputs
        if pending:
            inputs = pending[-1].inputs
        call = _Call(function, run, inputs, num_outputs, steps, pending, standing, run_untapped)
        try:
            outputs = self._run_tapped(call)
        except _OtherStepError as error:
            for recording in pending:
                recording.end(None, error.__cause__)
            return run_untapped(given)
        except BaseException as error:
            for recording in pending:
                recording.end(None, error)
            raise
        for recording in pending:
            recording.end(outputs)
        _note_call(function, given, outputs, steps)
        return outputs

    def _begin_recordings(
        self, function: str, inputs: Sequence[Any], steps: Sequence[StepReceiver]
    ) -> list[PendingRecording]:
        """Each is given the inputs of the one before."""
        begun: list[PendingRecording] = []
        recording = [step for step in steps if step.records]
        if not recording:
            return begun
        with _STEPS.inside(_PAUSE), internals.not_recorded():
            try:
                with self._lock:
                    traced = self._record(function, inputs, steps)
            except Exception as error:
                for step in recording:
                    step.warnings.function_failed(function, "could not be recorded", error)
                return begun
            for step in recording:
                pending = step.begin_recording(traced, inputs)
                if pending is not None:
                    begun.append(pending)
                    inputs = pending.inputs
        return begun

    def _run_tapped(self, call: _Call) -> Any:
        function, inputs, steps = call.function, call.inputs, call.steps
        drawn = {place: node for recording in call.pending for place, node in recording.draws.items()}
        key = _key(function, steps, bool(drawn))
        with _STEPS.inside(_PAUSE), internals.not_recorded():
            instrumented = self._instrument(key, call, drawn)
        if instrumented is None:
            return call.run_untapped(inputs)
        traced = self._traced[function]
        way: CaptureMode = "in-place" if isinstance(instrumented, InstrumentedFunction) else "shadow"
        receiver = CallReceiver(traced, steps, way, call.pending)
        untouched = isinstance(instrumented, Shadow)  # the function itself makes the step
        try:
            with _STEPS.inside(_PAUSE):
                before = None if untouched else self._state_of(traced).read(inputs)
        except Exception as error:
            self._give_up(key, steps, "could not be tapped", error)
            return call.run_untapped(inputs)
        receiver.expect_draws(not untouched)
        try:
            return instrumented.call(call.run, function.encode(), inputs, call.num_outputs, receiver)
        except ShadowFailedError as failure:
            self._give_up(key, steps, "could not run as a shadow", failure.__cause__ or failure)
            return failure.outputs
        except TapFailedError as failure:
            cause = failure.__cause__ or failure
            what = "could not run with taps" + (_undone(before) if before is not None else "")
            self._give_up(key, steps, what, cause)
            receiver.expect_draws(False)
            if before is not None and before.draws:
                raise _OtherStepError from cause
            return call.run_untapped(inputs)

    def _standing(
        self, function: str, inputs: Sequence[Any], around: Sequence[StepReceiver]
    ) -> InstrumentedFunction | None:
        """The copy that runs at every call of a function, watched or not, since that draws from streams that
        its nodes keep: two copies would draw the same numbers twice."""
        known = self._streams.decided
        if function in known:
            return known[function]
        if not around:
            self._streams.ran_untapped(function)
            return None
        with self._lock, _STEPS.inside(_PAUSE), internals.not_recorded():
            if function not in known:
                try:
                    known[function] = self._make_standing(function, inputs, around)
                except Exception as error:
                    self._streams.ran_untapped(function)
                    known[function] = None
                    for step in around:
                        step.warnings.function_failed(function, "could not be tapped", error)
            return known[function]

    def _make_standing(
        self, function: str, inputs: Sequence[Any], around: Sequence[StepReceiver]
    ) -> InstrumentedFunction | None:
        """The copy for all watches of the taps that are in use; None if there is no need of one."""
        seeded = self._streams.draws(function)
        if not (seeded or _exact(around)) or (seeded and self._streams.has_begun(function)):
            return None
        traced = self._record(function, inputs, around)
        drawn = {place: node for step in around for place, node in step.draws_of(traced).items()}
        if _exact(around) and draws_randomly(traced):
            try:
                drawn |= DeterministicFunction(traced).read
            except NoShadowError:  # said when the function is to be captured
                self._streams.ran_untapped(function)
                return None
        elif not seeded:
            return None
        chosen = _chosen(traced, [step.possible_watches for step in around if not step.exact])
        if not chosen and not drawn:
            self._streams.ran_untapped(function)
            return None
        chosen |= drawn.keys()
        summarized = _summarized(traced, chosen, around, [step.possible_watches for step in around])
        check_memory(_moved(traced, chosen - summarized), 0)
        return InstrumentedFunction(traced, chosen, (), drawn, summarized=summarized, switched=True)

    def _run_standing(
        self,
        standing: InstrumentedFunction,
        function: str,
        run: internals.CallFunction,
        inputs: Sequence[Any],
        num_outputs: int,
        around: Sequence[StepReceiver],
    ) -> Any:
        try:
            return standing.call_untapped(run, inputs, num_outputs)
        except TapFailedError as failure:
            with self._lock:
                self._streams.ran_untapped(function)
                self._streams.decided[function] = None
            for step in around:
                step.warnings.function_failed(
                    function, "could not run with taps", failure.__cause__ or failure
                )
            return run(function.encode(), inputs, num_outputs)

    def _state_of(self, traced: TracedRoot) -> SnapshotReader:
        with self._lock:
            if traced.root not in self._state:
                self._state[traced.root] = SnapshotReader(traced)
            return self._state[traced.root]

    def _instrument(self, key: _Key, call: _Call, drawn: Mapping[Place, str]) -> _Tapped | None:
        """The function's copy for these steps; None if nothing is selected or it cannot be tapped."""
        function, steps = call.function, call.steps
        with self._lock:
            try:
                if key not in self._instrumented:
                    self._instrumented[key] = self._make(key, call, drawn)
                return self._instrumented[key]
            except NoShadowError as error:
                self._instrumented[key] = None
                for step in steps:
                    step.warnings.no_shadow(function, str(error))
                return None
            except Exception as error:
                self._give_up(key, steps, "could not be tapped", error)
                return None

    def _make(self, key: _Key, call: _Call, drawn: Mapping[Place, str]) -> _Tapped | None:
        function, watches, exact, *_ = key
        steps = call.steps
        if not watches and not drawn:  # the step is only recorded
            return None
        traced = self._record(function, call.inputs, steps)
        chosen = _chosen(traced, [step.watches for step in steps])
        if watches and not chosen:
            for step in steps:
                step.nothing_selected(traced)
        if not chosen and not drawn:
            return None
        if exact and chosen:
            return self._make_shadow(call, traced, frozenset(chosen))
        if call.standing is not None:
            return _standing_for(call, traced, chosen, bool(drawn))
        if exact:
            return None  # what it draws cannot be recorded without a change of the step
        if self._streams.draws(function):
            for step in steps:
                step.warnings.draws_already(traced.root, traced.seeded_random_ops())
            return None
        instrumented = self._copy(traced, frozenset({*chosen, *drawn}), False, drawn, steps)
        _warn_of_limits(traced, instrumented, steps)
        return instrumented

    def _make_shadow(self, call: _Call, traced: TracedRoot, chosen: frozenset[Place]) -> _Tapped | None:
        if not draws_randomly(traced):
            instrumented = self._copy(traced, chosen, True, {}, call.steps)
            shadow: _Tapped = Shadow(traced, instrumented)
        else:
            given, standing = DeterministicFunction(traced), call.standing
            if standing is None or not given.read.keys() <= standing.chosen:
                for step in call.steps:
                    step.warnings.draws_already(traced.root, traced.seeded_random_ops())
                return None
            instrumented = self._copy(given.traced, chosen, True, {}, call.steps)
            shadow = DrawingShadow(traced, given, standing, instrumented)
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
        key = traced.root, chosen, summarized, exact, bool(drawn)
        if key not in self._copies:
            check_memory(_moved(traced, chosen - summarized), 0 if exact else changed_bytes(traced))
            self._copies[key] = InstrumentedFunction(
                traced, chosen, MUTED if exact else (), drawn, summarized=summarized, shadow=exact
            )
        return self._copies[key]

    def _record(self, function: str, inputs: Sequence[Any], steps: Sequence[StepReceiver]) -> TracedRoot:
        traced = self._traced.get(function)
        if traced is None:
            known = [path for step in steps for path in step.known_layers]
            names = {short: name for step in steps for short, name in step.names.items()}
            traced = trace_root(function, inputs, self.tracker, known_layers=known, names=names)
            self._traced[function] = traced
        return traced

    def _give_up(self, key: _Key, steps: Sequence[StepReceiver], what: str, error: BaseException) -> None:
        with self._lock:
            self._instrumented[key] = None
        for step in steps:
            step.warnings.function_failed(key[0], what, error)

    def _discard(self) -> None:
        for copy in self._copies.values():
            copy.discard()
        for reader in self._state.values():
            reader.discard()
        self._copies.clear()
        self._state.clear()
        self._instrumented.clear()
        self._traced.clear()


def _standing_for(
    call: _Call, traced: TracedRoot, chosen: set[Place], drawn: bool
) -> InstrumentedFunction | None:
    """The standing copy, if it catches anything that is chosen or that a recording needs."""
    standing = call.standing
    missing = [traced.candidates[place] for place in chosen - standing.chosen] if standing else []
    if missing:
        for step in call.steps:
            step.warnings.chosen_too_late(traced.root, missing)
    if standing is None or (len(missing) == len(chosen) and not drawn):
        return None
    if chosen:
        _warn_of_limits(traced, standing, call.steps)
    return standing


def _note_call(
    function: str, inputs: Sequence[Any], outputs: Sequence[Any] | None, steps: Sequence[StepReceiver]
) -> None:
    for step in steps:
        step.called(function, inputs, outputs)


def _chosen(traced: TracedRoot, watches: Iterable[Sequence[Watch]]) -> set[Place]:
    """Places that the watches of steps select. A watch whose callable raises says so when it is given its
    tensors.

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


def _undone(before: VariableSnapshot) -> str:
    """Undoes what a call did; says what of it was not."""
    try:
        before.restore()
    except Exception as error:  # nothing may escape into the training
        return f"; its variables could not be given back what they held: {first_line(error)}"
    return f"; what it had done stays done: {before.stays}" if before.stays else ""


def _warn_of_limits(
    traced: TracedRoot, instrumented: InstrumentedFunction, steps: Sequence[StepReceiver]
) -> None:
    """Warns of what is not captured in a copy."""
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


def _watches(steps: Sequence[StepReceiver]) -> frozenset[Watch]:
    return frozenset(watch for step in steps for watch in step.watches)


def _exact(steps: Sequence[StepReceiver]) -> bool:
    return any(step.exact for step in steps)


def _key(function: str, steps: Sequence[StepReceiver], drawn: bool) -> _Key:
    on_device = all(step.summarizes_on_device for step in steps)
    return function, _watches(steps), _exact(steps), drawn, on_device


CALL_HOOK = CallHook()
