"""Recordings that wait in memory for a trigger: of the step that it looks at, and of some before."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import NamedTuple

from tensortap.dump import Graph

from .recorder import RecordedCall
from .seen_tensors import SeenTensors
from .snapshots import Entry

_AHEAD = 1  # steps that may wait to be looked at while the next one runs


class Item(NamedTuple):
    """A recorded call on its way to the disk; `written`: it is there, and only the reason is another one."""

    call: RecordedCall
    graph: Graph
    step: int
    number: int
    reason: str
    seen: SeenTensors
    written: bool = False


@dataclass
class _HeldStep:
    entry: Entry
    items: list[Item] = field(default_factory=list)


class HeldRecordings:
    """Holds the calls of a step until the trigger has looked at it, and so many steps before it.

    One thread holds, another one settles. A step that is entered twice under one number counts as two.

    Args:
        before: how many steps before the one at which the trigger fires are written as well.
        patience: seconds that training waits until an earlier step has been looked at.
    """

    def __init__(self, before: int, patience: float) -> None:
        self._before, self._patience = before, patience
        self._changed = threading.Condition()
        self._steps: list[_HeldStep] = []  # oldest first; numbers need not rise
        self._looked_at = 0  # so many of them

    def wait_for_room(self, entry: Entry) -> bool:
        """Waits until at most one other step is not looked at.

        Returns:
            False if that took too long: all that was held is given up.
        """
        with self._changed:
            if self._changed.wait_for(lambda: self._has_room(entry), self._patience):
                return True
            self._steps, self._looked_at = [], 0
            return False

    def _has_room(self, entry: Entry) -> bool:
        waiting = self._steps[self._looked_at :]
        return len(waiting) <= _AHEAD or waiting[-1].entry is entry

    def hold(self, entry: Entry, item: Item) -> None:
        """Keeps a call of the step that runs."""
        with self._changed:
            if len(self._steps) == self._looked_at or self._steps[-1].entry is not entry:
                self._steps.append(_HeldStep(entry))
            self._steps[-1].items.append(item)

    def settle(self, entry: Entry, reason: str) -> list[Item]:
        """A step was looked at; lets go of what no later step can want.

        Args:
            reason: why it is written; empty if it is not.

        Returns:
            What is to be written, oldest first.
        """
        with self._changed:
            places = [
                at for at, held in enumerate(self._steps) if at >= self._looked_at and held.entry is entry
            ]
            if not places:
                return []  # nothing of it was recorded
            end = places[0] + 1
            wanted = self._steps[max(0, end - 1 - self._before) : end] if reason else []
            kept = 0 if reason else min(end, self._before)
            self._steps, self._looked_at = self._steps[end - kept :], kept
            self._changed.notify_all()
            return [item._replace(reason=reason) for held in wanted for item in held.items]
