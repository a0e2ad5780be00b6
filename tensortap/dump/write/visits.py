"""Counts which time a tensor is logged within a step."""

from __future__ import annotations

_STEPS = 64  # of one tensor at the same time; a step that comes back after so many others starts at 0 again


class VisitCounter:
    """Hands out visit numbers from 0 for each (graph, tensor, step)."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], dict[int, int]] = {}

    def take(self, graph: str, tensor: str, step: int) -> int:
        """The number of this visit."""
        steps = self._next.setdefault((graph, tensor), {})
        visit = steps.get(step, 0)
        if not visit and len(steps) >= _STEPS:
            del steps[next(iter(steps))]
        steps[step] = visit + 1
        return visit
