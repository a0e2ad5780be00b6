"""What becomes of each tensor of a step: written as a watch wants it, held by the flight recorder."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..pipeline.messages import CapturedTensor
from ..selection import Selected, selected
from ..tracing.candidate import Candidate
from ..watch import Watch


@dataclass(eq=False)
class Plan:
    """The watches of a step by what they are for. All that is captured is looked at by the trigger.

    Args:
        written: what they select is written.
        held: what they select is held, and written when the trigger fires.
    """

    written: tuple[Watch, ...]
    held: tuple[Watch, ...]
    _known: dict[Candidate, tuple[Selected | None, Selected | None]] = field(default_factory=dict)

    def apply(self, captured: Iterable[CapturedTensor]) -> deque[CapturedTensor]:
        """Notes on each tensor what becomes of it."""
        return deque(self._planned(item) for item in captured)

    def _planned(self, item: CapturedTensor) -> CapturedTensor:
        candidate = item.candidate
        if candidate not in self._known:
            self._known[candidate] = selected(candidate, self.written), selected(candidate, self.held)
        now, later = self._known[candidate]
        wish = None if now is None else now.wish_of(item.array.size)
        hold = None if later is None else later.wish_of(item.array.size)
        if wish is None:
            return item._replace(written=False, hold=hold)
        return item._replace(keep=wish.keep, sample=wish.sample, hold=hold)
