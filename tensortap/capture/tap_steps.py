"""`TapSteps`, the interface of a tap for adapters: it makes and ends steps.

An adapter (`capture/adapters`) ties one way of running TensorFlow to a tap. It holds on to a `TapSteps`, runs
each step in `with steps.step() as step:`, and passes the values to the `Step`; it knows nothing else of the
tap.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

from .call_hook import CALL_HOOK
from .eager import EagerScopes
from .step import Step
from .tap_state import TapState


class TapSteps:
    """The steps of a tap. The tap is closed when the last reference to this is dropped.

    Args:
        max_bytes: of tensors that ops outside functions compute in a step; they wait until it ends.
    """

    def __init__(self, state: TapState, *, max_bytes: int) -> None:
        self._state = state
        self._eager = EagerScopes(
            CALL_HOOK.tracker, sources=state.options.embeds_sources, max_bytes=max_bytes
        )
        self._known_layers: Collection[str] = ()
        # Also at the end of the program.
        self._finalizer = weakref.finalize(self, state.close)

    @property
    def closed(self) -> bool:
        """Whether the tap is closed; what runs now is not a step."""
        return self._state.closed

    @property
    def current(self) -> Step | None:
        """The innermost step of this thread or task, even if none of it is captured."""
        step = CALL_HOOK.step_of(self._state)
        return step if isinstance(step, Step) else None

    @contextmanager
    def step(
        self,
        first: int | None = None,
        count: int = 1,
        source: Any = None,
        *,
        names: Mapping[str, str] = MappingProxyType({}),
        after: range | None = None,
    ) -> Iterator[Step]:
        """The calls and ops that this thread, or task, runs in the body are a step.

        Args:
            first: its number; the tap's next one if None.
            count: of the steps that run in one call.
            source: the iterator that feeds it, if that is known.
            names, after: see `Step`.

        Raises:
            TrainingStoppedError: a trigger of the tap fired and stops training.
        """
        step = Step(self._state, first, count, self._known_layers, source, names=names, after=after)
        try:
            links = nullcontext() if step.links is None else step.links.noting()
            with CALL_HOOK.inside(step), links, self._eager.step(step):
                yield step
        except BaseException as error:
            step.end(error)
            raise
        step.end()

    @contextmanager
    def eager(self) -> Iterator[None]:
        """Records the ops of the body one by one, in the current step or a new one."""
        step = self.current
        if step is None:
            with self.step(), self.eager():
                yield
            return
        with self._eager.scope(step):
            yield

    def note_logs(self, step: int, facts: Mapping[str, Any]) -> None:
        """Write loss, metrics and learning rate of a step (FORMAT.md, "Events", `logs`)."""
        self._state.put_event(step, "logs", facts)

    def leave_unrecorded(self, what: str, why: str) -> None:
        """The program will run a call that cannot be recorded: warns about it if `record=` is given."""
        if self._state.recordings is not None and not self.closed:
            self._state.not_captured.unrecorded(what, why, "Calls of a tf.function are recorded.")

    def skip(self, count: int) -> None:
        """`count` steps ran without capture: their numbers are taken."""
        self._state.numbers.claim(None, count)

    def begin_training(self, known_layers: Collection[str]) -> None:
        """A program begins to train these layers: its traces are tracked from now on."""
        self._known_layers = list(known_layers)
        self._state.use_call_hook()

    def end_training(self) -> None:
        """Commit all that was captured, as training has ended."""
        self._state.release_call_hook()
        self._state.flush()
        self._state.watches.warn_if_nothing_selected()

    def warn(self, kind: str, message: str, hint: str) -> None:
        """Warns, unless this kind of warning was issued before. `message` has no full stop, `hint` has."""
        self._state.warnings.warn(kind, message, hint)

    def close(self) -> None:
        """Writes the remaining data and closes the run. A second call has no effect."""
        self._finalizer.detach()
        self._state.close()
