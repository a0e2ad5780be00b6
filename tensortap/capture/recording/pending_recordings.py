"""Recordings that are not on disk yet: those that wait for a trigger, and hashes of captured tensors."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tensortap.core.errors import InvalidValueError
from tensortap.core.records import CaptureMode, Graph
from tensortap.dump.recording.recording import array_hash

from ..pipeline.messages import CapturedTensor, StepEntry, held_bytes
from .call_recorder import RecordedCall

_AHEAD = 1  # steps that may wait to be checked while the next one runs


_MAX_BYTES = 16 << 20  # each takes about 4 ns to hash
_MAX_VISITS = 10_000


class QueuedRecording(NamedTuple):
    """A recorded call to write; `written`: it is on disk, and only its reason changes."""

    call: RecordedCall
    graph: Graph
    way: CaptureMode
    step: int
    number: int
    reason: str
    hashes: TensorHashes
    written: bool = False


class PendingRecordings:
    """Holds the calls of a step until the trigger has checked it, and those of a number of steps before it.

    One thread holds, another one settles. A step that is entered twice under one number counts as two.

    Args:
        before: number of steps to write before the one at which the trigger fires.
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
            False if that took too long; the held recordings are then dropped.
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
        """A step was checked; drops calls that no later step can need.

        Args:
            reason: why it is written; empty if it is not.

        Returns:
            The recordings to write, oldest first.
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


class TensorHashes:
    """Hashes of tensors until the recording is written, as far as memory allows; the writer thread computes
    them.

    Args:
        before: by tensor name, the visits that earlier calls of the step made.
    """

    def __init__(self, before: Mapping[str, int]) -> None:
        self._before = before
        self._left = _MAX_BYTES
        self._visits: list[tuple[str, int, np.ndarray[Any, Any]]] = []
        self._skipped: set[str] = set()

    def add(self, tensors: Iterable[CapturedTensor]) -> None:
        """Tensors of the call."""
        for tensor in tensors:
            name, visit, array = tensor.name, tensor.visit, tensor.values
            nbytes = held_bytes(array)
            if nbytes > self._left or len(self._visits) == _MAX_VISITS:
                self._skipped.add(name)
            elif name not in self._skipped:
                self._left -= nbytes
                self._visits.append((name, visit - self._before.get(name, 0), array))

    def by_name(self) -> dict[str, list[str]]:
        """Hashes of the visits by tensor name; empty if the node did not run. Tensors with a visit that did
        not fit are skipped."""
        found: dict[str, list[str]] = {}
        for name, visit, array in self._visits:
            if name not in self._skipped:
                hashes = found.setdefault(name, [])
                hashes += [""] * (visit - len(hashes))
                try:
                    hashes.append(array_hash(array))
                except InvalidValueError:  # a dtype that no dump holds
                    hashes.append("")
        return found
