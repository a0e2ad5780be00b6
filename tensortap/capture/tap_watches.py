"""What a tap watches: which watches apply to a step, and which tensors of a function they select."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from .capture_warnings import CaptureWarnings, OneTimeWarnings, PutEvent, print_line
from .place_selection import PlaceSelection
from .tracing.candidate import Kind
from .tracing.traced_function import TracedRoot
from .triggers.trigger_control import TriggerControl
from .watching.selection import StepWatches
from .watching.step_budget import StepBudget
from .watching.watch import Watch, shown_rules
from .watching.watch_file import WatchFile, watch_facts


class TapWatches:
    """The watches of a tap, applied to the steps that run and the functions that they call.

    Args:
        watches: the watches, until `watch_file` changes them.
        not_captured: warns about tensors that the watches cannot capture.
        put_event: records in the run from which step which watches apply.
        watch_file: may change the watches before a step.
        triggers: want more of a step than the watches do.
        budget: decides which of the watched steps are captured; None: all.
    """

    def __init__(
        self,
        watches: Sequence[Watch],
        warnings: OneTimeWarnings,
        not_captured: CaptureWarnings,
        put_event: PutEvent,
        *,
        watch_file: WatchFile | None = None,
        triggers: TriggerControl | None = None,
        budget: StepBudget | None = None,
    ) -> None:
        self.current = tuple(watches)
        self._warnings, self._not_captured, self._put_event = warnings, not_captured, put_event
        self._watch_file = watch_file
        self._triggers = triggers
        self._budget = budget
        self._step_watches: dict[Any, StepWatches] = {}
        self._selections: dict[tuple[str, StepWatches], PlaceSelection] = {}
        self._unselected: dict[str, set[Kind]] = {}  # kinds by function without selected tensors
        self._unselected_ops: set[str] = set()  # their op types
        self._any_selected = False  # outside functions
        self._ran = range(0)  # from the first to the last step that ran
        self._any_watched = False
        self._any_idle = self._any_busy = False  # watched steps in which nothing ran, and others

    def begin_steps(self, numbers: range) -> StepWatches:
        """Begins steps; returns their watches."""
        if self._watch_file is not None:
            self._poll_watch_file(self._watch_file, numbers.start)
        wanting = partial(self._wanting, numbers=numbers)
        written = wanting(self.current)
        found = StepWatches(written)
        if written and self._budget is not None:
            found = self._within(self._budget, written)
        if self._triggers is not None:
            found = self._triggers.extend(written, self.current, wanting)
        before = self._ran or numbers
        self._ran = range(min(before.start, numbers.start), max(before.stop, numbers.stop))
        self._not_captured.step = self._ran.stop - 1
        self._any_watched = self._any_watched or bool(found.all)
        return self._shared(found)

    def of_earlier_steps(self, numbers: range) -> StepWatches:
        """Selections of the watches for steps that have already begun, without those of a trigger."""
        return self._shared(StepWatches(self._wanting(self.current, numbers)))

    @property
    def possible(self) -> Sequence[Watch]:
        """The watches that any step may have, as long as `watch_file` does not change them."""
        more = () if self._triggers is None else self._triggers.possible_watches(self.current)
        return tuple(dict.fromkeys((*self.current, *more)))

    def select(self, traced: TracedRoot, watches: StepWatches) -> PlaceSelection:
        """The tensors of a function that watches select, by place."""
        key = traced.root, watches
        if key not in self._selections:
            self._selections[key] = PlaceSelection(traced, watches)
        return self._selections[key]

    def note_selected(self) -> None:
        """Note that a tensor outside functions is selected."""
        self._any_selected = True

    def note_unselected(self, name: str, kinds: Collection[Kind], op_types: Collection[str] = ()) -> None:
        """Note that nothing of a function, a session or eager code is selected.

        Args:
            kinds, op_types: of the tensors that could have been, if known.
        """
        self._unselected[name] = {*kinds}
        self._unselected_ops.update(op_types)

    def note_ran(self, *, idle: bool) -> None:
        """Note that a watched step ended, and whether no op ran in its thread."""
        self._any_idle, self._any_busy = self._any_idle or idle, self._any_busy or not idle

    def note_only_eager(self) -> None:
        """Note that a watched step ran ops, but none in a function or an eager scope."""
        if not self._selections and not self._any_selected:
            self._not_captured.only_eager()

    def warn_if_nothing_selected(self) -> None:
        """Warns if the watched steps ran, but the watches selected none of their tensors."""
        if self._unselected and not self._selections and not self._any_selected:
            kinds = sorted(set().union(*self._unselected.values()) - {""})
            names, op_types = sorted(self._unselected), sorted(self._unselected_ops)
            self._not_captured.nothing_selected(self.current, names, kinds, op_types)
        captured = self._selections or self._unselected or self._any_selected
        if self._any_idle and not self._any_busy and not captured:
            self._not_captured.only_idle()

    def warn_if_no_step_watched(self) -> None:
        """Warns if steps ran, but the watches wanted none of them."""
        if self._ran and not self._any_watched:
            self._not_captured.no_step_watched(self.current, self._ran)

    def _within(self, budget: StepBudget, written: tuple[Watch, ...]) -> StepWatches:
        """The watches, or as much of them as the budget admits."""
        reduced = tuple(filter(None, (watch.of_roles() for watch in written)))
        selections = self._selections.values()
        differ = any(each.has_roles for each in selections) and any(each.has_others for each in selections)
        level = budget.admits(roles=differ and bool(reduced))
        if level == "roles":
            return StepWatches(reduced, only_roles=True)
        return StepWatches(written if level else ())

    def _shared(self, found: StepWatches) -> StepWatches:
        """One object for the same watches: selections are looked up by it."""
        key = found.written, found.examined, found.held, found.only_roles
        return self._step_watches.setdefault(key, found)

    def _wanting(self, watches: Sequence[Watch], numbers: range) -> tuple[Watch, ...]:
        return tuple(watch for watch in watches if self._wants(watch, numbers))

    def _wants(self, watch: Watch, numbers: range) -> bool:
        try:
            return any(watch.wants_step(step) for step in numbers)
        except Exception as error:
            self._warnings.warn("steps", f"{watch!r} failed", "Fix steps=; nothing is captured.", error)
            return False

    def _poll_watch_file(self, watch_file: WatchFile, step: int) -> None:
        if not self._ran:
            self._note_watches(step, "program")
        change = watch_file.poll(step)
        if change is None:
            return
        if change.watches is None:
            print_line(change.error)
            self._put_event(step, "watch", {"error": change.error})
        else:
            self.current = change.watches
            self._note_watches(step, change.source)

    def _note_watches(self, step: int, source: str) -> None:
        facts = watch_facts(self.current, shown_rules(self.current), source=source)
        self._put_event(step, "watch", facts)
