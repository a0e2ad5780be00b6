"""`tap.session()`: a version 1 session with runs as steps, and the ops that this adds to its graph."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.tf import internals

from ..capture_warnings import RUNS_UNTAPPED
from ..errors import WatchError
from ..pipeline.messages import GraphHandle
from ..step import UNRECORDED_RUNS, Step
from ..tap_steps import TapSteps
from ..tracing.candidate import Candidate
from ..watching.selection import Selected, StepWatches
from .v1_session_duplicates import SessionDuplicates
from .v1_session_plan import FUNCTION, KINDS, NAME, SessionPlan, plan_run, session_graph

Names = tuple[frozenset[str], frozenset[str]]  # of the fetches and the feeds of a run
Selection = dict[Any, Selected]  # by reference of the tensor


@dataclass(eq=False)
class _Run:
    """One kind of run (by the names of fetches and feeds) for one set of watches.

    `readable` are the tensors that are read for those in `fetched` and `tapped`: see `SessionDuplicates`.
    """

    names: Names
    handle: GraphHandle
    fetched: Selection
    tapped: Selection
    fed: Selection
    readable: Mapping[Any, Any]


class TappedSession:
    """A session that captures the tensors of its `run`. All other attributes are those of the session.

    Each run is a step, the tap's next. Tensors that it computes anyway are fetched with it; tensors inside
    loops and branches leave through ops that are added to the graph, one beside each, when they are first
    watched.
    """

    def __init__(self, steps: TapSteps, session: Any) -> None:
        if not callable(getattr(session, "run", None)) or not hasattr(session, "graph"):
            raise WatchError(f"{session!r} is not a session.", "Pass a tf.compat.v1.Session.")
        self.session = session
        self._steps = steps
        steps.leave_unrecorded(*UNRECORDED_RUNS)
        self._taps = SessionTaps(session.graph)
        self._runs: dict[Any, _Run] = {}
        self._handles: dict[Any, GraphHandle] = {}
        self._given_up: set[Any] = set()
        self._lock = threading.Lock()  # taps of two runs at once could not be distinguished

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """`tf.compat.v1.Session.run`, as its own step, or in the step of `with tap.step(n):`."""
        arguments = {"feed_dict": feed_dict, "options": options, "run_metadata": run_metadata}
        if self._steps.closed:
            return self.session.run(fetches, **arguments)
        with self._step() as step:
            if step.records:
                step.leave_unrecorded(*UNRECORDED_RUNS)
            if not step.watches:
                return self.session.run(fetches, **arguments)
            return self._run(step, fetches, arguments)

    def __enter__(self) -> TappedSession:
        self.session.__enter__()
        return self

    def __exit__(self, *exc: Any) -> Any:
        return self.session.__exit__(*exc)

    def __getattr__(self, name: str) -> Any:
        if name == "session":  # requested before it exists, e.g. by copy.copy
            raise AttributeError(name)
        return getattr(self.session, name)

    @contextlib.contextmanager
    def _step(self) -> Iterator[Step]:
        current = self._steps.current
        if current is not None:
            yield current
            return
        with self._steps.step() as step:
            yield step

    def _run(self, step: Step, fetches: Any, arguments: dict[str, Any]) -> Any:
        if step.exact:
            step.warnings.no_shadow("Session.run", "session state cannot be copied")
            return self.session.run(fetches, **arguments)
        request = _request(self.session.graph, fetches, arguments["feed_dict"])
        run: _Run | None = None
        taps: list[Any] = []
        fed: dict[Any, Array] = {}
        try:
            if request is not None:
                asked, fed = request
                run = self._planned(step, asked, fed)
                taps = self._taps.ops(run.tapped, run.readable) if run is not None else []
        except Exception as error:
            step.warnings.function_failed("Session.run", "could not be tapped", error, RUNS_UNTAPPED)
            run = None
        if run is None:
            return self.session.run(fetches, **arguments)
        values = [run.readable[tensor] for tensor in run.fetched]
        more = {"user": fetches, "values": values, "taps": taps}
        with self._lock if taps else contextlib.nullcontext():
            try:
                outcome = self.session.run(more, **arguments)
            except Exception as error:
                if not self._is_to_blame(error):
                    raise
                alone = self.session.run(fetches, **arguments)  # if that fails, too, it was not for the taps
                self._given_up.add(run.names)
                step.warnings.function_failed("Session.run", "could not be tapped", error, RUNS_UNTAPPED)
                return alone
            finally:
                inside = self._taps.take()
        try:
            self._deliver(step, run, fed, outcome, inside)
        except Exception as error:
            step.warnings.function_failed("Session.run", "ran, but its tensors could not be stored", error)
        return outcome["user"]

    def _deliver(
        self,
        step: Step,
        run: _Run,
        fed: Mapping[Any, Array],
        outcome: Mapping[str, Any],
        inside: Mapping[Any, Sequence[Array | None]],
    ) -> None:
        """Delivers a run's tensors to the step. When it returns, the program may overwrite its feeds and
        results."""
        shared = [*fed.values(), *_arrays(outcome["user"])]
        found = zip(run.fetched, outcome["values"], strict=True)
        values = {tensor: [_own(value, shared)] for tensor, value in found}
        given = {tensor: [fed[tensor].copy()] for tensor in run.fed}
        step.take_runs(
            str(run.names), run.handle, [(run.fed, given), (run.fetched, values), (run.tapped, inside)]
        )

    def _is_to_blame(self, error: Exception) -> bool:
        """Whether the taps made a run fail: before anything ran, or in one of their nodes."""
        # Hooks of a MonitoredSession may raise anything, even after the run.
        unwrapped = isinstance(self.session, tf.compat.v1.Session | tf.compat.v1.InteractiveSession)
        before = unwrapped and isinstance(error, ValueError | TypeError | RuntimeError)
        return before or f"node {NAME}/" in str(error)

    def _planned(self, step: Step, asked: Sequence[Any], fed: Mapping[Any, Array]) -> _Run | None:
        """Plan to capture a run; None if no watch selects any of its tensors, or if it failed before."""
        names = frozenset(fetch.name for fetch in asked), frozenset(tensor.deref().name for tensor in fed)
        key = names, step.watched
        if names in self._given_up:
            return None
        if key not in self._runs:
            plan = plan_run(self.session.graph, asked, [tensor.deref() for tensor in fed])
            step.warnings.session_parts(plan.unseen, plan.calls)
            if names not in self._handles:
                graph = session_graph(plan, asked, sources=step.embeds_sources)  # may change any time
                self._handles[names] = GraphHandle(lambda: graph)
            if not step.watched.only_roles:  # else it is the budget that chose the kinds
                step.warnings.unknown_kinds(FUNCTION, step.watches, KINDS)
            self._runs[key] = self._chosen(names, plan, asked, step.watched)
        run = self._runs[key]
        selected = bool(run.fetched or run.tapped or run.fed)
        step.note_selection(FUNCTION, selected, KINDS)
        return run if selected else None

    def _chosen(self, names: Names, plan: SessionPlan, asked: Sequence[Any], watches: StepWatches) -> _Run:
        def choose(candidates: Mapping[Any, Candidate]) -> Selection:
            found = {tensor: watches.select(candidate) for tensor, candidate in candidates.items()}
            return {tensor: selected for tensor, selected in found.items() if selected is not None}

        fetched, tapped = choose(plan.fetched), choose(plan.tapped)
        duplicates = SessionDuplicates(self.session, plan, asked)
        readable = duplicates.readable(tensor.deref() for tensor in (*fetched, *tapped))
        pairs = dict(zip((*fetched, *tapped), readable, strict=True))
        return _Run(names, self._handles[names], fetched, tapped, choose(plan.fed), pairs)


def _request(graph: Any, fetches: Any, feed_dict: Any) -> tuple[list[Any], dict[Any, Array]] | None:
    """Fetches and feeds of a run; None if they are invalid, which the session reports itself."""
    try:
        return _asked(graph, fetches), _fed(graph, feed_dict)
    except (KeyError, TypeError, ValueError):
        return None


def _asked(graph: Any, fetches: Any) -> list[Any]:
    """The tensors and operations in a structure of fetches."""
    flat = tf.nest.flatten(fetches, expand_composites=True)
    return [graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True) for fetch in flat]


def _fed(graph: Any, feed_dict: Any) -> dict[Any, Array]:
    """Fed values, by reference of the tensor."""
    found: dict[Any, Array] = {}
    for key, value in (feed_dict or {}).items():
        if isinstance(key, tf.SparseTensor):
            parts = zip((key.indices, key.values, key.dense_shape), tuple(value), strict=True)
        else:
            parts = zip((graph.as_graph_element(key, allow_operation=False),), (value,), strict=True)
        for tensor, part in parts:
            found[tensor.ref()] = np.asarray(part, dtype=tensor.dtype.as_numpy_dtype)
    return found


def _arrays(fetched: Any) -> list[Array]:
    """The arrays that a run returned to the program, which may overwrite them."""
    return [value for value in tf.nest.flatten(fetched) if isinstance(value, np.ndarray)]


def _own(value: Any, shared: Sequence[Array]) -> Any:
    """A fetched value, copied if it shares its memory with the program."""
    if isinstance(value, np.ndarray) and any(np.may_share_memory(value, each) for each in shared):
        return value.copy()
    return value


class SessionTaps:
    """The taps of one graph, added to it on demand.

    A tap is one op in the loop or branch of its tensor; it runs with each iteration, calls back into Python
    and is given the number of the iteration in each loop around it, since iterations overlap. For tensors in
    branches, another one contains the executed iterations.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._taps: dict[tuple[Any, Any], Any] = {}  # references of a tensor and of its substitute -> tap
        self._clocks: dict[Any, Any] = {}  # reference of a tensor in a branch -> of its loop's condition
        self._counters: dict[Any, Any] = {}  # loop -> tensor with the number of its iteration
        self._values: dict[Any, dict[tuple[int, ...], Array]] = {}
        self._lock = threading.Lock()  # callbacks come from TensorFlow's threads

    def ops(self, tensors: Iterable[Any], readable: Mapping[Any, Any]) -> list[Any]:
        """The taps of tensors (given as references), to run with the other fetches; they read `readable`."""
        asked = list(tensors)
        clocks = {tensor: clock for tensor in asked if (clock := _clock(tensor.deref().op)) is not None}
        self._clocks |= clocks
        tapped = {tensor: readable.get(tensor, tensor.deref()) for tensor in (*asked, *clocks.values())}
        taps = []
        with internals.unfinalized(self._graph):
            for tensor, read in tapped.items():
                key = tensor, read.ref()
                if key not in self._taps:
                    self._taps[key] = self._tap(tensor, read)
                taps.append(self._taps[key])
        return taps

    def take(self) -> dict[Any, list[Array | None]]:
        """Values since the last call: by tensor, in the order of iterations; None for iterations that took
        another branch."""
        with self._lock:
            caught, self._values = self._values, {}
        found: dict[Any, list[Array | None]] = {}
        for tensor, _ in self._taps:
            visits = caught.get(tensor, {})
            clock = caught.get(self._clocks.get(tensor))
            iterations = visits if clock is None else [at for at, goes_on in clock.items() if goes_on]
            found[tensor] = [visits.get(iteration) for iteration in sorted(iterations)]
        return found

    def _tap(self, reference: Any, read: Any) -> Any:
        tensor = reference.deref()

        def catch(array: Array, *iterations: int) -> None:
            key = tuple(int(number) for number in iterations)
            with self._lock:
                self._values.setdefault(reference, {})[key] = np.asarray(array)

        counters = [self._counter(loop) for loop in _loops_around(tensor.op)]
        return internals.call_in_graph(catch, read, counters, name=f"{NAME}/{tensor.op.name}")

    def _counter(self, loop: Any) -> Any:
        if loop not in self._counters:
            self._counters[loop] = internals.iteration_counter(self._graph, loop)
        return self._counters[loop]


def _clock(operation: Any) -> Any:
    """The condition of the loop around an op's branch: each iteration computes it, and the last one gets
    False. None if the op is in no branch, or its branch in no loop."""
    branch = around = internals.control_flow_of(operation)
    while around is not None and not around.IsWhileContext():
        around = around.outer_context
    return around.pivot.ref() if around is not None and around is not branch else None


def _loops_around(operation: Any) -> list[Any]:
    """The version 1 loops around an op, outermost first."""
    found: list[Any] = []
    around = internals.control_flow_of(operation)
    while around is not None:
        if around.IsWhileContext():
            found.insert(0, around)
        around = around.outer_context
    return found
