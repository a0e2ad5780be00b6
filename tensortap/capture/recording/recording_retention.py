"""Which recordings stay in a run: of those that steps asked for the last ones, and of those of triggers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tensortap.core.errors import TensortapError
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import RecordingStore, find_recordings, recording_note

ASKED_FOR = "steps="  # how the reason of a recording begins that no trigger chose


class RecordingRetention:
    """The recordings of a run, those of earlier processes among them, in the order in which they were made.

    Args:
        keep_last: so many stay of those that were asked for by step, and as many of those that triggers
            chose, which would else be pushed out by what comes after them. None: all.
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
        """Writes one, and removes what is too old then."""
        folder = self._store.add(recording)
        self._own[recording.step, recording.call] = folder
        self._made.append((folder, not recording.reason.startswith(ASKED_FOR)))
        self._forget_old()

    def holds(self, step: int, call: int, reason: str) -> bool:
        """Whether a call that was asked for is still there; from now on it is a trigger's, for `reason`."""
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
        if note.time:  # else it cannot be read, and is not ours to remove
            yield folder, not note.reason.startswith(ASKED_FOR)
