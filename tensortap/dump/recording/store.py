"""`RecordingStore`: adds and removes recordings of a run, and the blobs that none refers to any more."""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from tensortap.core.errors import TensortapError
from tensortap.storage.files import publish_json, read_json

from .blobs import LARGE, large_name
from .recording import Recording
from .recording_files import (
    FOLDER,
    MANIFEST,
    MAX_MANIFEST,
    being_written,
    blob_hashes,
    find_recordings,
    write_recording,
)

_TAKEN = ".taken.tmp"  # ends the name of a blob while it is looked at once more


class RecordingStore:
    """Adds recordings to a run, and removes some with the bytes that no other one refers to.

    Other processes may add theirs meanwhile, also such as refer to what is just being removed.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._blobs = run_dir / FOLDER / LARGE
        self._referred: dict[Path, set[str]] = {}  # by recording

    def add(self, recording: Recording) -> Path:
        """`write_recording`."""
        return write_recording(self._run_dir, recording)

    @staticmethod
    def set_reason(folder: Path, reason: str) -> None:
        """Says anew why a recording was made.

        Raises:
            OSError, DamagedError: it is gone, or cannot be read or written.
        """
        path = folder / MANIFEST
        publish_json(path, read_json(path, MAX_MANIFEST) | {"reason": reason})

    def remove(self, folders: Iterable[Path]) -> None:
        """Removes recordings, and what was only theirs.

        A blob that nobody refers to gets another name before all references are read again. Whoever refers
        to it since then did not find it, and wrote it anew; for whoever did before, it is put back. So is
        what a process left that was killed meanwhile.
        """
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        used = self._used()
        if used is None:
            return
        for path in self._blobs.glob(large_name("*")):
            if path.stem not in used:
                _rename(path, path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{_TAKEN}"))
        taken = list(self._blobs.glob(f"*{_TAKEN}"))
        used = self._used() if taken else None
        for path in taken:
            digest = path.name.partition(".")[0]
            if used is None or digest in used:
                _rename(path, path.with_name(large_name(digest)))
            else:
                with contextlib.suppress(OSError):  # somebody else did it
                    path.unlink()

    def _used(self) -> set[str] | None:
        """What recordings refer to, those that are being written first: they may be published meanwhile.

        Returns:
            None where the blobs of one are not known, so that all of them must stay.
        """
        try:
            begun = set().union(*map(_hashes, being_written(self._run_dir)))
            places = [place.path for place in find_recordings(self._run_dir, _refuse)]
            # That of a published one does not change.
            self._referred = {path: self._referred.get(path) or _hashes(path) for path in places}
        except (OSError, TensortapError):
            return None
        return begun.union(*self._referred.values())


def _hashes(path: Path) -> set[str]:
    try:
        return blob_hashes(path)
    except FileNotFoundError:  # removed or published by another process meanwhile, or only just begun
        return set()


def _refuse(folder: Path, error: OSError) -> None:
    raise error


def _rename(path: Path, target: Path) -> None:
    with contextlib.suppress(OSError):  # somebody else did it; or it is another user's
        path.replace(target)
