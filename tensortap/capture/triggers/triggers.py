"""Triggers: conditions on a step that make a tap write its flight recorder, and stop training."""

from __future__ import annotations

import re
import statistics
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from tensortap.core.names import parse_tensor_name
from tensortap.core.text import number_text
from tensortap.tfproto.function_calls import CALLS

from ..errors import WatchError
from ..tracing.candidate import Candidate
from ..watching.step_schedule import every
from ..watching.watch import DEFAULT_STEPS, Watch, Watches, as_watches
from .expected_nonfinite import without_constant_infinities, without_overflow
from .step_summaries import Examined, GraphLookup, StepSummaries

FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_CARRIERS = frozenset({*FLOATS, "variant"})  # possible sources of a NaN; lists of tensors are variants
# Where others are bad, too, they have it from these: a variable may be read again after the step has written
# what went wrong, and a function that is called twice is known by its first caller.
_PASS_THROUGH = frozenset({*CALLS, "ReadVariableOp"})
_OVERFLOWS = 20  # in a row; Keras begins at a scale of 2**15, which is then 2**-5
_LEAST_LOSSES = 5  # before there are as many, nothing is called a spike


class Finding(NamedTuple):
    """Reason of a firing: a sentence without a full stop, and the tensor concerned, if any.

    `trigger` names the trigger if there are several, else it is empty.

    Example:
        ```python
        for firing in tap.fired:
            print(firing.step, firing.reason)  # the sentence of its finding
        ```
    """

    reason: str
    tensor: Examined | None = None
    trigger: str = ""


def check_finding(found: Any) -> None:
    """Checks the return value of a user's trigger. Raises TypeError."""
    if not isinstance(found, Finding):
        raise TypeError(f"check() returned {found!r}, which is neither a Finding nor None")
    if not isinstance(found.reason, str) or not isinstance(found.tensor, Examined | None):
        raise TypeError(f"the reason of {found!r} must be a string, and its tensor one of the step or None")


class Trigger(ABC):
    """A condition on the tensors of a step; `a | b` fires when either does.

    Attributes:
        watches: tensors that must be captured for it; empty for those of the tap's own watch, at every step.

    Example:
        ```python
        either = tensortap.NonFinite() | tensortap.LossSpike(20)
        tensortap.Tap("logs/either", on=either)
        ```
    """

    watches: tuple[Watch, ...] = ()

    @abstractmethod
    def check(self, step: StepSummaries) -> Finding | None:
        """Checks one step after it ran. Called once per step, in order. Returns None if the trigger does not
        fire."""

    def __or__(self, other: Any) -> Trigger:
        return AnyTrigger((self, as_trigger(other)))

    def __ror__(self, other: Any) -> Trigger:
        return AnyTrigger((as_trigger(other), self))


class NonFinite(Trigger):
    """Fires when a NaN or infinity appears, and names its origin.

    Gradient overflows of dynamic loss scaling (`mixed_float16`) do not count, because the optimizer skips
    such a step, unless twenty steps in a row overflow. Infinite constants of the program, as in masks, do
    not count either.

    Args:
        watch: tensors to check; the default is all floating-point tensors. Without `steps=`, every step.
        inf: whether infinities count, or only NaN.

    Example:
        ```python
        tensortap.Tap("logs/first-nan", on=tensortap.NonFinite(tensortap.Watch(kinds="gradient")))
        ```

    Raises:
        WatchError: `watch` is not a watch.
    """

    def __init__(self, watch: Watch | Watches | None = None, *, inf: bool = True) -> None:
        self._watch = watch
        self._inf = inf
        self.watches = every_step(Watch(dtypes=FLOATS) if watch is None else watch)
        self._graphs = GraphLookup()
        self._selects = Selector(self.watches)
        self._overflows = 0

    def check(self, step: StepSummaries) -> Finding | None:
        bad = [tensor for tensor in step.tensors if self._selects(tensor.candidate) and self._is_bad(tensor)]
        bad = without_constant_infinities(bad, step, self._graphs)
        if not bad:
            self._overflows = 0
            return None
        unscaled = without_overflow(bad, self._graphs)
        self._overflows = 0 if unscaled else self._overflows + 1
        if not unscaled and self._overflows < _OVERFLOWS:
            return None
        tensor = self._origin(unscaled or bad, step)
        nan, inf = tensor.nonfinite
        counts = [f"{count:,} {what}" for count, what in ((nan, "NaN"), (inf, "infinite")) if count]
        return Finding(f"{tensor.name} has {' and '.join(counts)} of {tensor.array.size:,} elements", tensor)

    def _is_bad(self, tensor: Examined) -> bool:
        nan, inf = tensor.nonfinite
        return nan > 0 or (self._inf and inf > 0)

    def _origin(self, bad: list[Examined], step: StepSummaries) -> Examined:
        """The first that does not have it from another; of tensors in a loop, of its first bad visit."""
        visits: dict[str, int] = {}
        for tensor in bad:
            function = tensor.candidate.function
            visits[function] = min(visits.get(function, tensor.visit), tensor.visit)
        first = [tensor for tensor in bad if tensor.visit == visits[tensor.candidate.function]]
        names = {tensor.name for tensor in first}
        origins = [tensor for tensor in first if names.isdisjoint(self._sources(tensor, step))]
        computed = [tensor for tensor in origins if tensor.candidate.op_type not in _PASS_THROUGH]
        return (computed or origins or bad)[0]

    def _sources(self, tensor: Examined, step: StepSummaries) -> set[str]:
        """The tensors of the step that a tensor was computed of, maybe through others that were not seen."""
        graph, lookup = tensor.graph, self._graphs
        node = lookup.node(graph, tensor.candidate.node)
        if node is None:
            return {tensor.name}  # nothing is known of it: no origin
        waiting = lookup.sources(graph, node) + lookup.returned(graph, node)
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen or not lookup.may_hold(graph, name, _CARRIERS):
                continue
            seen.add(name)
            node = lookup.node(graph, parse_tensor_name(name)[0])
            if node is not None and step.tensor(name) is None:
                waiting += lookup.sources(graph, node) + lookup.returned(graph, node)
        return seen

    def __repr__(self) -> str:
        given = [repr(self._watch)] if self._watch is not None else []
        return f"NonFinite({', '.join(given + ([] if self._inf else ['inf=False']))})"


class LossSpike(Trigger):
    """Fires when the loss is more than `factor` times the median of the last `window` steps, or not finite.

    For losses around or below zero, the distance from the median counts, in medians. During the first five
    steps only a non-finite loss fires.

    Args:
        factor: above 1.
        tensor: regular expression for the name of the loss. The default is the tensor that gradient tapes
            differentiate; of several, the largest counts.
        window: number of steps.

    Example:
        ```python
        tensortap.Tap("logs/spikes", on=tensortap.LossSpike(20), stop=True)
        ```

    Raises:
        WatchError: an argument is invalid.
    """

    def __init__(self, factor: float = 10.0, *, tensor: str | None = None, window: int = 20) -> None:
        if not _is_number(factor) or not factor > 1:
            raise WatchError(f"LossSpike({factor!r}) is not a valid factor.", "Use a number above 1.")
        if not _is_number(window) or not window >= _LEAST_LOSSES:
            raise WatchError(f"window={window!r} is too short.", f"Use at least {_LEAST_LOSSES} steps.")
        self._factor, self._tensor, self._window = float(factor), tensor, window
        self.watches = (Watch(kinds="loss", steps=every(1)),)
        if tensor is not None:
            node = Watch(nodes=tensor.partition(":")[0], steps=every(1))
            self.watches = (replace(node, dtypes=FLOATS),)
        self._losses: deque[float] = deque(maxlen=int(window))
        self._selects = Selector(self.watches)

    def check(self, step: StepSummaries) -> Finding | None:
        chosen = [tensor for tensor in step.tensors if self._is_loss(tensor)]
        if not chosen:
            return None
        bad = [tensor for tensor in chosen if any(tensor.nonfinite)]
        if bad:
            return Finding(f"the loss {bad[0].name} is not finite", bad[0])
        tensor = max(chosen, key=lambda each: each.summary.mean)
        loss = tensor.summary.mean
        before = list(self._losses)
        self._losses.append(loss)
        if len(before) < _LEAST_LOSSES:
            return None
        usual = statistics.median(before)
        if loss - usual <= (self._factor - 1) * max(abs(usual), 1e-12):
            return None
        return Finding(
            f"the loss {tensor.name} is {number_text(loss)}, after a median of {number_text(usual)}", tensor
        )

    def _is_loss(self, tensor: Examined) -> bool:
        if not tensor.array.size or not self._selects(tensor.candidate):  # nothing has no mean
            return False
        return self._tensor is None or re.search(self._tensor, tensor.name) is not None

    def __repr__(self) -> str:
        tensor = f", tensor={self._tensor!r}" if self._tensor is not None else ""
        window = f", window={self._window}" if self._window != 20 else ""
        return f"LossSpike({self._factor:g}{tensor}{window})"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


class AnyTrigger(Trigger):
    """Fires when any of several triggers does; the first one gives the reason. All check every step."""

    def __init__(self, triggers: Iterable[Trigger]) -> None:
        parts: list[Trigger] = []
        for trigger in triggers:
            parts += parts_of(trigger)
        self.triggers: tuple[Trigger, ...] = tuple(parts)

    def check(self, step: StepSummaries) -> Finding | None:
        findings = [(trigger, trigger.check(step)) for trigger in self.triggers]
        for trigger, finding in findings:
            if finding is not None:
                check_finding(finding)
                return finding._replace(trigger=finding.trigger or repr(trigger))
        return None

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.triggers))


class Condition(Trigger):
    """A callable over `StepSummaries`: fires when it returns something true; a text is the reason."""

    def __init__(self, condition: Callable[[StepSummaries], Any]) -> None:
        self._condition = condition

    def check(self, step: StepSummaries) -> Finding | None:
        answer = self._condition(step)
        if isinstance(answer, np.ndarray | np.generic):
            answer = bool(answer)
        if not answer:
            return None
        return Finding(answer if isinstance(answer, str) else f"{self!r} holds")

    def __repr__(self) -> str:
        return str(getattr(self._condition, "__name__", self._condition))


def parts_of(trigger: Trigger) -> tuple[Trigger, ...]:
    """The triggers that a trigger consists of."""
    return trigger.triggers if isinstance(trigger, AnyTrigger) else (trigger,)


def as_trigger(given: Any) -> Trigger:
    """A trigger, or a callable over the summaries of a step.

    Raises:
        WatchError: it is neither, or the `watches` of a trigger are not a tuple or list of them.
    """
    if isinstance(given, Trigger):
        watches: Any = given.watches  # a program may give it a single one
        if not isinstance(watches, tuple | list) or not all(isinstance(each, Watch) for each in watches):
            raise WatchError(
                f"watches={watches!r} of {given!r} is not a tuple of watches.", "Use (Watch(…),)."
            )
        return given
    if callable(given) and not isinstance(given, type):
        return Condition(given)
    raise WatchError(
        f"on={given!r} is not a trigger.",
        "Use NonFinite(), LossSpike(10), or a callable over the summaries of a step.",
    )


def every_step(watch: Watch | Watches) -> tuple[Watch, ...]:
    """The watches, at every step unless they name their steps.

    Raises:
        WatchError: it is not a watch.
    """
    watches = as_watches(watch)
    return tuple(replace(each, steps=every(1)) if each.steps is DEFAULT_STEPS else each for each in watches)


def watches_of(trigger: Trigger, watched: tuple[Watch, ...]) -> tuple[Watch, ...]:
    """The watches of a trigger: its own, or those of the tap (`watched`) at every step."""
    if isinstance(trigger, AnyTrigger):
        found = (watches_of(part, watched) for part in trigger.triggers)
        return tuple(dict.fromkeys(watch for watches in found for watch in watches))
    return trigger.watches or tuple(replace(watch, steps=every(1)) for watch in watched)


class Selector:
    """Whether any watch selects a tensor; evaluated once for each."""

    def __init__(self, watches: tuple[Watch, ...]) -> None:
        self._watches = watches
        self._known: dict[Candidate, bool] = {}

    def __call__(self, candidate: Candidate) -> bool:
        if candidate not in self._known:
            self._known[candidate] = any(watch.selects(candidate) for watch in self._watches)
        return self._known[candidate]
