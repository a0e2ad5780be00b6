"""Chooses among the watched steps, so that capture takes at most a share of the training's time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from statistics import median

_PLAIN_STEPS = 50  # for the median


class StepBudget:
    """Captures a watched step if the previous ones left enough time for it (`Tap(budget=…)`).

    The cost of a captured step is its time beyond the median of the latest plain steps, plus the writer's
    processor time for it. The first captured step, in which tapped copies are made, and the first plain one,
    which TensorFlow prepares, are not counted. All times are measured, so they are approximate, and two runs
    of a program may capture different steps.

    Args:
        share: of the time of all steps, between 0 and 1.
        report: called once, at the first watched step that is not captured for the budget, with the seconds
            of a plain step and those that capture adds to one.
        clock: seconds.
    """

    def __init__(
        self,
        share: float,
        report: Callable[[float, float], object],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self._share = share
        self._report = report
        self._lock = threading.Lock()
        self._plain: deque[float] = deque(maxlen=_PLAIN_STEPS)
        self._total = 0.0  # seconds of all steps that are counted
        self._extra = 0.0  # of them, seconds that capture took; with those of the writer
        self._captured = self._measured = 0
        self._writer = 0.0  # seconds of the writer when a step ended last
        self._has_run_plain = self._is_reported = False

    def admits(self) -> bool:
        """Whether to capture the next step, which is watched."""
        with self._lock:
            if self._captured == 0:
                return True
            if not self._plain:
                return False  # the time of a plain step must be known first
            if self._measured == 0:
                return True
            expected = self._extra / self._measured
            admitted = self._extra + expected <= self._share * self._total
            reports = not admitted and not self._is_reported
            self._is_reported |= reports
            plain = median(self._plain)
        if reports:
            self._report(plain, expected)
        return admitted

    def note(self, seconds: float, writer: float, *, captured: bool) -> None:
        """A step ended.

        Args:
            seconds: that it took.
            writer: seconds that the writer has worked so far, in all.
        """
        with self._lock:
            worked, self._writer = max(writer - self._writer, 0.0), writer
            if captured and self._captured == 0:
                self._captured = 1
                return
            if not captured and not self._has_run_plain:
                self._has_run_plain = True
                return
            self._total += seconds
            if self._measured or captured:  # before, it worked for the first captured step
                self._extra += worked
            if captured:
                self._captured += 1
                self._measured += 1
                self._extra += max(seconds - median(self._plain), 0.0) if self._plain else 0.0
            else:
                self._plain.append(seconds)
