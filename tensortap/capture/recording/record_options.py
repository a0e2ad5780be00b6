"""Options of `Tap(record=…)`: which steps are recorded, to be run again, and which recordings stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import RecordingStore, find_recordings, recording_note

from ..errors import WatchError
from ..watching.step_schedule import Steps, is_whole_number, step_predicate

ASKED_FOR = "steps="  # how the reason of a recording begins that no trigger chose


@dataclass(frozen=True)
class Record:
    """Steps to record for replay, with variables and inputs.

    The first recording has the size of the variables; later ones only store changes.

    Example:
        ```python
        tensortap.Tap("logs/recorded", record=tensortap.Record(tensortap.every(1000)))
        failing = tensortap.Record(on_trigger=True)  # the failing step, and the one before it
        tensortap.Tap("logs/failing", on=tensortap.NonFinite(), record=failing)
        ```

    Args:
        steps: as in `Watch`: `every(100)`, a range, step numbers, or a callable; None: those of `on_trigger`.
        keep_last: number of recordings to keep, counted separately for `steps` and for triggers. Older ones
            are removed. None: all.
        on_trigger: also record the step at which a trigger (`on=`) fires or which raises, and the steps
            before it. So each step is recorded in memory: calls of at most `before` + 2 steps, each with
            variables before and after, inputs, captured constants, outputs and up to 16 MiB of captured
            tensors. On a CPU, n consecutive calls take n + 1 copies of the changed variables; unchanged data
            share memory. On a GPU everything is copied, variables twice per call. With a slow disk, calls of
            `before` + 3 more steps may wait, up to 16 per step.
        before: number of steps before the step that fired. A step entered twice, e.g. by a GAN with `with
            tap.step(n)` for each network, counts twice.

    Raises:
        WatchError: an argument is invalid.
    """

    steps: Steps | None = None
    keep_last: int | None = None
    on_trigger: bool = False
    before: int = 1
    _wants: Callable[[int], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.on_trigger, bool):
            raise WatchError(
                f"on_trigger={self.on_trigger!r} is neither True nor False.",
                "Pass the trigger to the tap: Tap(…, record=Record(on_trigger=True), on=…).",
            )
        nothing = self.steps is None and self.on_trigger
        object.__setattr__(self, "_wants", _never if nothing else step_predicate(self.steps))
        if not is_whole_number(self.before):
            raise WatchError(f"before={self.before!r} is not a number of steps.", "Use 0 or more.")
        if self.keep_last is not None and not is_whole_number(self.keep_last, 1):
            raise WatchError(
                f"keep_last={self.keep_last!r} stores nothing.", "Use a number of at least 1, or None."
            )

    def wants_step(self, step: int) -> bool:
        """Whether a step is recorded."""
        return self._wants(step)


def _never(step: int) -> bool:
    return False


def record_of(given: Any) -> Record | None:
    """`Tap(record=…)`: a `Record`, or just its steps. None or False: nothing is recorded.

    Raises:
        WatchError: it is neither.
    """
    if given is None or given is False:
        return None
    if given is True:
        raise WatchError(
            "record=True does not say which steps.", "Use record=every(100), or steps as in Watch."
        )
    if isinstance(given, Record):
        return given
    step_predicate(given, "record")  # so that the error names this argument
    return Record(given)


class RecordingRetention:
    """The recordings of a run, including those of earlier processes, in the order of creation.

    Args:
        keep_last: number of recordings to keep of those selected by step, and separately of those selected
            by triggers. None: all.
    """

    def __init__(self, run_dir: Path, keep_last: int | None) -> None:
        self._keep_last = keep_last
        self._store = RecordingStore(run_dir)
        before = find_recordings(run_dir)
        self._next_call = Counter[int]()
        for place in before:
            self._next_call[place.step] = max(self._next_call[place.step], place.call + 1)
        self._own: dict[tuple[int, int], Path] = {}
        self._made: list[tuple[Path, bool]] = []  # and whether a trigger chose it
        if keep_last is not None:
            self._made = list(_by_time([place.path for place in before]))

    def calls_before(self, step: int) -> int:
        """The number that the first call of a step gets in this process."""
        return self._next_call[step]

    def add(self, recording: Recording) -> None:
        """Writes a recording, and removes those that are now too old."""
        folder = self._store.add(recording)
        self._own[recording.step, recording.call] = folder
        self._made.append((folder, not recording.reason.startswith(ASKED_FOR)))
        self._forget_old()

    def holds(self, step: int, call: int, reason: str) -> bool:
        """Whether a requested call still has its recording; from now on it belongs to a trigger, for
        `reason`."""
        folder = self._own.get((step, call))
        if folder is None:
            return False
        if (folder, False) not in self._made:
            return (folder, True) in self._made
        try:
            self._store.set_reason(folder, reason)
        except (OSError, TensortapError):
            return False
        self._made.remove((folder, False))
        self._made.append((folder, True))
        self._forget_old()
        return True

    def _forget_old(self) -> None:
        if self._keep_last is None:
            return
        old = [
            each
            for chosen in (False, True)
            for each in [made for made in self._made if made[1] is chosen][: -self._keep_last]
        ]
        if old:
            self._made = [each for each in self._made if each not in old]
            gone = {folder for folder, _ in old}
            self._own = {place: folder for place, folder in self._own.items() if folder not in gone}
            self._store.remove(gone)


def _by_time(folders: list[Path]) -> Iterator[tuple[Path, bool]]:
    notes = [(recording_note(folder), folder) for folder in folders]
    for note, folder in sorted(notes, key=lambda each: (each[0].time, each[1].name)):
        if note.time:  # else it is unreadable and must not be removed
            yield folder, not note.reason.startswith(ASKED_FOR)
