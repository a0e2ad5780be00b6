"""Recordings that wait in memory for a trigger: of the step that it checks, and of some before."""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

from tensortap.core.records import Graph

from ..pipeline.messages import StepEntry
from .call_recorder import RecordedCall
from .tensor_hashes import TensorHashes

_AHEAD = 1  # steps that may wait to be checked while the next one runs


class QueuedRecording(NamedTuple):
    """A recorded call on its way to the disk; `written`: it is there, and only the reason is another one."""

    call: RecordedCall
    graph: Graph
    step: int
    number: int
    reason: str
    hashes: TensorHashes
    written: bool = False


class PendingRecordings:
    """Holds the calls of a step until the trigger has checked it, and of so many steps before it.

    One thread holds, another one settles. A step that is entered twice under one number counts as two.

    Args:
        before: how many steps before the one at which the trigger fires are written as well.
        patience: seconds that training waits until an earlier step has been checked.
    """

    def __init__(self, before: int, patience: float) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._waiting: dict[StepEntry, list[QueuedRecording]] = {}  # not checked yet
        self._checked: deque[list[QueuedRecording]] = deque(maxlen=before)  # steps, oldest first

    def wait_for_room(self, entry: StepEntry) -> bool:
        """Waits until at most one other step that has ended is not checked.

        Returns:
            False if that took too long: all that was held is given up.
        """
        with self._changed:
            if self._changed.wait_for(lambda: self._has_room(entry), self._patience):
                return True
            self._waiting.clear()
            self._checked.clear()
            return False

    def _has_room(self, entry: StepEntry) -> bool:
        return entry in self._waiting or sum(each.ended for each in self._waiting) <= _AHEAD

    def hold(self, entry: StepEntry, item: QueuedRecording) -> None:
        """Keeps a call of the step that runs."""
        with self._changed:
            self._waiting.setdefault(entry, []).append(item)

    def settle(self, entry: StepEntry, reason: str) -> list[QueuedRecording]:
        """A step was checked; drops what no later step can need.

        Args:
            reason: why it is written; empty if it is not.

        Returns:
            What is to be written, oldest first.
        """
        with self._changed:
            items = self._waiting.pop(entry, [])
            self._changed.notify_all()
            if not items:
                return []  # nothing of it was recorded
            if not reason:
                self._checked.append(items)
                return []
            wanted = [*self._checked, items]
            self._checked.clear()
            return [item._replace(reason=reason) for held in wanted for item in held]
