"""How much several watches together want of a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tensortap.core.model import Keep
from tensortap.core.sampling import Sample

from .tracing.candidate import Candidate
from .watch import Watch, is_static


class Wish(NamedTuple):
    """What is kept of a tensor: its summary, or its value, whole or in part."""

    keep: Keep
    sample: Sample | None = None


class Selected(NamedTuple):
    """A tensor that watches select, and what they want of it.

    `undecided` are the watches, where it depends on a size that only the running step knows.
    """

    candidate: Candidate
    wish: Wish
    undecided: tuple[Watch, ...] = ()

    def wish_of(self, size: int) -> Wish | None:
        """What is wanted of a tensor of `size` elements; None for nothing."""
        if not self.undecided:
            return self.wish
        return _most([watch for watch in self.undecided if watch.fits_size(size)])


def selected(candidate: Candidate, watches: Iterable[Watch]) -> Selected | None:
    """What the watches want of a tensor: the most that any of them does; None if none selects it.

    Raises:
        ChoiceFailedError: a callable of a watch raised.
    """
    selecting = tuple(watch for watch in watches if watch.selects(candidate))
    wish = _most(selecting)
    if wish is None:
        return None
    limited = any(watch.min_size is not None or watch.max_size is not None for watch in selecting)
    return Selected(candidate, wish, selecting if limited and not is_static(candidate) else ())


def _most(watches: Sequence[Watch]) -> Wish | None:
    if not watches:
        return None
    samples = [watch.sample for watch in watches if watch.keep == "value"]
    if not samples:
        return Wish("summary")
    limited = [sample for sample in samples if isinstance(sample, Sample)]
    if len(limited) < len(samples):
        return Wish("value")
    return Wish("value", max(limited, key=lambda sample: sample.count))
