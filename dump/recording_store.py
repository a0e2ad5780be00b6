"""Recordings of a run as one process adds and removes them (FORMAT.md, "Recordings")."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from .blobs import LARGE, large_name
from .errors import TensortapError
from .files import publish_json, read_json
from .recording import Recording
from .recordings import (
    FOLDER,
    MANIFEST,
    MAX_MANIFEST,
    add_recording,
    blob_hashes,
    find_recordings,
)

_BEING_WRITTEN = 600.0  # s, in which another process publishes the recording that refers to a new blob


class RecordingStore:
    """Adds recordings to a run, and removes some with the bytes that no other one refers to.

    Other processes may add theirs meanwhile: a blob that this process stored goes at once, unless somebody
    has stored the same since; one of others once nobody has touched it for ten minutes.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._stored: dict[str, int] = {}  # blobs of this process, and when it stored them
        self._referred: dict[Path, set[str]] = {}  # by recording

    def add(self, recording: Recording) -> Path:
        """`write_recording`."""
        folder, stored = add_recording(self._run_dir, recording)
        self._stored |= stored
        return folder

    @staticmethod
    def set_reason(folder: Path, reason: str) -> None:
        """Says anew why a recording was made.

        Raises:
            OSError, DamagedError: it is gone, or cannot be read or written.
        """
        path = folder / MANIFEST
        publish_json(path, read_json(path, MAX_MANIFEST) | {"reason": reason})

    def remove(self, folders: Iterable[Path]) -> None:
        """Removes recordings, and what was only theirs."""
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        places = [place.path for place in find_recordings(self._run_dir)]
        try:
            self._referred = {path: self._hashes(path) for path in places}
        except (OSError, TensortapError):  # one whose blobs are not known: they are left where they are
            return
        self._remove_blobs(set().union(*self._referred.values()))

    def _hashes(self, path: Path) -> set[str]:
        """What a recording refers to; that does not change."""
        try:
            return self._referred.get(path) or blob_hashes(path)
        except FileNotFoundError:  # removed by another process meanwhile
            return set()

    def _remove_blobs(self, used: set[str]) -> None:
        before = time.time() - _BEING_WRITTEN
        for path in (self._run_dir / FOLDER / LARGE).glob(large_name("*")):
            if path.stem not in used:
                with contextlib.suppress(OSError):  # somebody else did it
                    changed = path.stat()
                    if self._stored.get(path.stem) == changed.st_mtime_ns or changed.st_mtime < before:
                        path.unlink()
                    self._stored.pop(path.stem, None)
