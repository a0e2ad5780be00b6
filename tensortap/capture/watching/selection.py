"""Combines the watches of a tap for a tensor: whether it is captured, and what of it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import NamedTuple

from tensortap.core.records import Keep
from tensortap.core.sampling import Sample

from ..tracing.candidate import Candidate
from .watch import Watch, is_static


class KeepSpec(NamedTuple):
    """The part of a tensor that is stored: its summary, or its value, whole or in part."""

    keep: Keep
    sample: Sample | None = None


class Handling(NamedTuple):
    """How a captured tensor is stored.

    Attributes:
        keep, sample: how much of it goes to the dump, and what part.
        written: whether it goes there at all if no trigger fires.
        hold: what goes there if a trigger fires; None: as if none did.
        visits: how many visits of a step are written at most; None: all.
    """

    keep: Keep
    sample: Sample | None = None
    written: bool = True
    hold: KeepSpec | None = None
    visits: int | None = None


class Selected(NamedTuple):
    """A captured tensor, and which part of it is stored.

    `handling` is None where it depends on a size that only the running step knows; `handle` decides then.
    """

    candidate: Candidate
    handling: Handling | None
    selecting: StepWatches

    def handle(self, size: int) -> Handling | None:
        """How a tensor of `size` elements is stored; None if it is not captured."""
        return self.handling or self.selecting.of_size(size).handling


@dataclass(frozen=True, eq=False)
class StepWatches:
    """The watches that select a step, by purpose.

    Args:
        written: their tensors are written.
        examined: their tensors are measured for the trigger of the tap.
        held: their tensors are held by the flight recorder, and written when the trigger fires.
        only_roles: whether they are reduced to tensors with a role (`Watch.of_roles`), because of the budget.
    """

    written: tuple[Watch, ...] = ()
    examined: tuple[Watch, ...] = ()
    held: tuple[Watch, ...] = ()
    _: KW_ONLY
    only_roles: bool = False

    @cached_property
    def all(self) -> tuple[Watch, ...]:
        return tuple(dict.fromkeys((*self.written, *self.examined, *self.held)))

    @cached_property
    def visits(self) -> int | None:
        """How many visits of a step are stored at most; None: all of them are needed."""
        return None if self.examined or self.held else _most_visits(self.written)

    def select(self, candidate: Candidate) -> Selected | None:
        """How a tensor is stored; None if no watch selects it.

        Raises:
            ChoiceFailedError: a callable of a watch raised.
        """
        chosen = [watch for watch in self.all if watch.selects(candidate)]
        if not chosen:
            return None
        selecting = StepWatches(
            *(
                tuple(watch for watch in watches if watch in chosen)
                for watches in (self.written, self.examined, self.held)
            )
        )
        sized = any(watch.min_size is not None or watch.max_size is not None for watch in chosen)
        handling = None if sized and not is_static(candidate) else selecting.handling
        return Selected(candidate, handling, selecting)

    def of_size(self, size: int) -> StepWatches:
        """The watches that select a tensor of `size` elements."""
        return StepWatches(
            *(
                tuple(watch for watch in watches if watch.fits_size(size))
                for watches in (self.written, self.examined, self.held)
            )
        )

    @cached_property
    def handling(self) -> Handling | None:
        """How a tensor selected by all of them is stored; None without watches."""
        now = _most(self.written)
        if now is None:
            return Handling("summary", None, False, _most(self.held)) if self.all else None
        return Handling(*now, True, _most(self.held), _most_visits(self.written))


def _most_visits(watches: Sequence[Watch]) -> int | None:
    """The largest number of visits that one of them stores; None: all."""
    visits = [watch.visits for watch in watches if watch.visits is not None]
    return max(visits, default=None) if len(visits) == len(watches) else None


def _most(watches: Sequence[Watch]) -> KeepSpec | None:
    """The most that any of the watches stores of a tensor selected by all of them."""
    if not watches:
        return None
    samples = [watch.sample for watch in watches if watch.keep == "value"]
    if not samples:
        return KeepSpec("summary")
    limited = [sample for sample in samples if isinstance(sample, Sample)]
    if len(limited) < len(samples):
        return KeepSpec("value")
    return KeepSpec("value", max(limited, key=lambda sample: sample.count))
