"""Chooses among the watched steps, so that capture takes at most a share of the training's time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Literal

_PLAIN_STEPS = 50  # for the median

Level = Literal["all", "roles", ""]
"""What of a step is captured: all selected tensors, those with a role (`Watch.of_roles`), or nothing."""


@dataclass
class _Spent:
    """What the captured steps of a level took. `seconds`: all of them; `measured`, `measured_seconds`: not
    the first, in which tapped copies are made."""

    captured: int = 0
    seconds: float = 0.0
    measured: int = 0
    measured_seconds: float = 0.0


class StepBudget:
    """Captures a watched step if the previous ones left enough time for it (`Tap(budget=…)`).

    The cost of a captured step is its time beyond the median of the latest plain steps, plus the writer's
    processor time for it. So is that of the first one, in which functions are traced and tapped copies made:
    later ones wait until it fits. The first plain step, which TensorFlow prepares, is not counted. All times
    are measured, so they are approximate, and two runs of a program may capture different steps. The same
    times lead to the same choice.

    After a step did not fit, all tensors may take half of the time. The other half is for steps of which only
    the tensors with a role are captured: they are fewer, so that more steps fit. The copies that these need
    are paid from it, so there are none in a short training.

    Args:
        share: of the time of all steps, between 0 and 1.
        report: called once, at the first watched step that is not captured in full for the budget, with the
            seconds of a plain step, those that capture adds to one, and whether `"roles"` is possible.
        report_first: called once if steps are not captured because the first captured one took long, with
            its seconds and those of a plain step.
        clock: seconds.
    """

    def __init__(
        self,
        share: float,
        report: Callable[[float, float, bool], object],
        report_first: Callable[[float, float], object] = lambda first, plain: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self._share = share
        self._report, self._report_first = report, report_first
        self._lock = threading.Lock()
        self._plain: deque[float] = deque(maxlen=_PLAIN_STEPS)
        self._total = 0.0  # seconds of all steps that are counted
        self._full, self._roles = _Spent(), _Spent()
        self._setup = 0.0  # seconds of the first captured step
        self._latest: _Spent | None = None  # the level of the step that the writer works for
        self._writer = 0.0  # seconds of the writer when a step ended last
        self._has_run_plain = self._is_reported = self._is_first_reported = False

    def admits(self, *, roles: bool) -> Level:
        """What to capture of the next step, which is watched.

        Args:
            roles: whether some of the selected tensors have a role, and others do not.
        """
        with self._lock:
            if self._full.captured == 0:
                return "all"
            if not self._plain:
                return ""  # the time of a plain step must be known first
            if self._full.measured == 0:
                if self._fits(self._full, 0.0, self._share):
                    return "all"
                if not self._is_first_reported:
                    self._is_first_reported = True
                    self._report_first(self._setup, median(self._plain))
                return ""
            expected = self._full.measured_seconds / self._full.measured
            halves = roles and self._is_reported
            if self._fits(self._full, expected, self._share / 2 if halves else self._share):
                return "all"
            reports, self._is_reported = not self._is_reported, True
            plain = median(self._plain)
            admitted = roles and self._fits(self._roles, self._expected_of_roles(expected), self._share / 2)
        if reports:
            self._report(plain, expected, roles)
        return "roles" if admitted else ""

    def _fits(self, level: _Spent, expected: float, share: float) -> bool:
        spent = self._full.seconds + self._roles.seconds + expected
        return spent <= self._share * self._total and level.seconds + expected <= share * self._total

    def _expected_of_roles(self, full: float) -> float:
        if self._roles.measured:
            return self._roles.measured_seconds / self._roles.measured
        return full if self._roles.captured else self._setup

    def note(self, seconds: float, writer: float, *, level: Level) -> None:
        """A step ended.

        Args:
            seconds: that it took.
            writer: seconds that the writer has worked so far, in all.
            level: what of it was captured.
        """
        with self._lock:
            worked, self._writer = max(writer - self._writer, 0.0), writer
            if not level and not self._has_run_plain:
                self._has_run_plain = True
                return
            self._total += seconds
            extra = max(seconds - (median(self._plain) if self._plain else 0.0), 0.0) if level else 0.0
            if level:
                if self._full.captured == 0:
                    self._setup = seconds
                self._latest = self._full if level == "all" else self._roles
                self._latest.captured += 1
                self._latest.measured = self._latest.captured - 1
            else:
                if not self._plain:  # the first captured step took as long, besides
                    self._full.seconds = max(self._full.seconds - seconds, 0.0)
                self._plain.append(seconds)
            if self._latest is not None:
                self._latest.seconds += extra + worked
                if self._latest.measured:
                    self._latest.measured_seconds += extra + worked
