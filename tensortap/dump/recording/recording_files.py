"""The recordings of a run (FORMAT.md, "Recordings"): found, read, written, removed with their blobs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, NotFoundError, TensortapError
from tensortap.core.names import short_function_name
from tensortap.storage.entry import Entry
from tensortap.storage.files import FileReader, json_bytes, publish_json, read_json
from tensortap.storage.filesystem import exists, is_folder, scan, stat_path
from tensortap.storage.uri import is_remote

from ..format.layout import RECORDINGS
from ..read.runs import RunReader
from .blobs import LARGE, SMALL, BlobReader, Blobs, FolderBlobs, get, large_name, store
from .recording import Recording
from .recording_manifest import checked_manifest, from_manifest, to_manifest

FOLDER = RECORDINGS
MANIFEST = "recording.json"
MAX_MANIFEST = 64 << 20
_BEING_WRITTEN = 600.0  # s, after which a writer that did nothing was killed
_LATEST = 1e12  # seconds since 1970
_NAME = re.compile(r"(\d{1,19})-(\d{1,9})-[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """A recording of a run: its step, the number of its call in the step, and its folder."""

    step: int
    call: int
    path: Path


def write_recording(run_dir: Path, recording: Recording) -> Path:
    """Adds a recording to a run; readers never see half of it. Returns its folder.

    References are written before the blobs are checked: a concurrent removal of blobs sees the reference, or
    else this writes the blob again.

    Raises:
        OSError: the disk refused; a partial recording is removed, or ignored by readers.
    """
    blobs = Blobs()
    manifest = to_manifest(recording, blobs)
    base = run_dir / FOLDER
    name = f"{recording.step}-{recording.call}-{uuid.uuid4().hex[:8]}"
    folder = base / f".{name}.tmp"
    folder.mkdir(parents=True)
    try:
        (folder / MANIFEST).write_bytes(json_bytes(manifest | {"run_id": _run_id(run_dir)}))
        (folder / SMALL).write_bytes(blobs.small)
        for _ in store(base / LARGE, blobs):
            os.utime(folder)  # it is still being written
        return folder.rename(base / name)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def being_written(run_dir: Path) -> list[Path]:
    """Folders of unpublished recordings whose writer was active within ten minutes."""
    since = time.time() - _BEING_WRITTEN
    found = []
    for folder in (run_dir / FOLDER).glob(".*.tmp"):
        with contextlib.suppress(OSError):  # just published
            if folder.stat().st_mtime >= since:
                found.append(folder)
    return found


def find_recordings(
    run_dir: Path, unread: Callable[[Path, OSError], object] = lambda folder, error: None
) -> list[RecordingPlace]:
    """The recordings of a run, by step, call and time. Links are not followed.

    One without a readable `recording.json` is listed, too, so that no earlier step is replayed in its place.
    `unread` is called with its folder, and with that of all recordings if it cannot be listed.
    """
    base = run_dir / FOLDER
    try:
        entries = scan(base) if stat_path(base).is_folder else []
    except (FileNotFoundError, NotADirectoryError):  # there is none
        return []
    except OSError as error:
        unread(base, error)
        return []
    found = []
    for entry in entries:
        name = _NAME.match(entry.name)
        if name:
            try:
                stat_path(base / entry.name / MANIFEST)
            except OSError as error:
                unread(base / entry.name, error)
            found.append(RecordingPlace(int(name[1]), int(name[2]), base / entry.name))
    return _in_order(found)


class RunRecordings:
    """The recordings of a run that is read repeatedly."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._notes: dict[Path, tuple[Entry | None, RecordingNote]] = {}
        self._added: Entry | None = None  # their folder as of the last look
        self._unlisted: list[str] = []
        self._damaged: list[str] = []

    def notes(self) -> list[tuple[RecordingPlace, RecordingNote]]:
        """The recordings, and their notes. A readable note is read once."""
        errors: list[OSError] = []
        places = find_recordings(
            self._run_dir, lambda folder, error: errors.append(error) if folder.name == FOLDER else None
        )
        reasons = [str(error.strerror) for error in errors]
        if self._notes and not (places or reasons or exists(self._run_dir)):
            reasons = ["the run was removed or moved"]
        self._unlisted = [f"{FOLDER}/ cannot be read: {reason}." for reason in reasons]
        for place in places:
            state, known = _state_of(place.path / MANIFEST), self._notes.get(place.path)
            if known is None or known[0] != state or known[1].damage:
                self._notes[place.path] = state, recording_note(place.path)
        if not reasons:  # forgets those that were removed
            self._notes = {place.path: self._notes[place.path] for place in places}
        return [(place, self._notes[place.path][1]) for place in places]

    def look(self) -> bool:
        """Looks for damage: on this disk each time, else when recordings were added. Returns whether it
        differs."""
        before, at = self.damage, _state_of(self._run_dir / FOLDER)
        if at != self._added or before or not is_remote(self._run_dir):
            self._added = at
            self._damaged = [note.damage for _, note in self.notes() if note.damage]
        return self.damage != before

    @property
    def damage(self) -> list[str]:
        """Sentences about those without a sound manifest, as of the last `look`, and about their folder if it
        could not be listed."""
        return self._unlisted + self._damaged


def _state_of(path: Path) -> Entry | None:
    """Differs once a file or folder is changed; None if it cannot be seen."""
    try:
        return stat_path(path)
    except (OSError, DamagedError):
        return None


def _in_order(found: list[RecordingPlace]) -> list[RecordingPlace]:
    """Only of those that have one number, as several workers' do, the time needs to be looked at."""
    many = Counter((place.step, place.call) for place in found)

    def key(place: RecordingPlace) -> tuple[int, int, float, str]:
        alike = many[place.step, place.call] > 1
        time = recording_note(place.path).time if alike else 0.0
        return place.step, place.call, time, place.path.name

    return sorted(found, key=key)


def read_recording(folder: Path) -> Recording:
    """The recording in a folder of a run's `recordings/`.

    Raises:
        NotFoundError: there is none.
        DamagedError: it is not complete, or not as it was written.
        FormatVersionError: a newer tensortap wrote it.
    """
    return _read(folder, FolderBlobs(folder), FolderBlobs(folder.parent))


def check_recording(folder: Path) -> None:
    """Reads a recording; raises as `read_recording`, also if its files have more bytes than it refers to."""
    own, shared = FolderBlobs(folder), FolderBlobs(folder.parent)
    _read(folder, own, shared)
    own.check_ends()
    shared.check_ends()


def _read(folder: Path, own: BlobReader, shared: BlobReader) -> Recording:
    try:
        manifest = _read_manifest(folder)
    except FileNotFoundError as error:
        if _NAME.match(folder.name) and is_folder(folder):
            raise DamagedError(f"{folder.name}: {MANIFEST} is missing.", "Copy it again.") from error
        raise NotFoundError(
            f"There is no recording in {str(folder)!r}.", "Pass a folder in 'recordings/'."
        ) from error
    return from_manifest(manifest, lambda reference: _get(own, shared, reference))


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in a folder. Raises as `read_recording`, also if it is of another run or call."""
    manifest = checked_manifest(read_json(folder / MANIFEST, MAX_MANIFEST))
    run_id = manifest.get("run_id")
    if run_id and _run_id(folder.parent.parent) not in ("", run_id):
        raise DamagedError(f"{MANIFEST} belongs to another run.", "Copy it again.")
    name = _NAME.match(folder.name)
    if name and [name[1], name[2]] != [str(manifest.get(key)) for key in ("step", "call")]:
        raise DamagedError(f"{MANIFEST} belongs to another call.", "Copy it again.")
    return manifest


def _run_id(run_dir: Path) -> str:
    """The id of a run; empty if it cannot be read."""
    try:
        return RunReader(run_dir).info().id
    except (TensortapError, OSError):
        return ""


@dataclass(frozen=True, slots=True)
class RecordingNote:
    """Facts of a recording that are read quickly: its function's name, the id of that one's graph in the
    run, why it was recorded (empty where that cannot be read), and when, in seconds since 1970 (0). `damage`:
    a sentence if its manifest cannot be read; its values are not checked here."""

    function: str = ""
    graph: str = ""
    reason: str = ""
    time: float = 0.0
    damage: str = ""


def recording_note(folder: Path) -> RecordingNote:
    """Read the note of the recording in a folder, without its values."""
    try:
        manifest = _read_manifest(folder)
    except FileNotFoundError:
        return RecordingNote(damage=f"recording {folder.name}: {MANIFEST} is missing. Copy it again.")
    except TensortapError as error:
        return RecordingNote(damage=f"recording {folder.name}: {error}")
    except OSError as error:
        return RecordingNote(damage=f"recording {folder.name}: {MANIFEST} cannot be read: {error.strerror}.")
    name, graph, reason = (str(manifest.get(key) or "") for key in ("function", "graph", "reason"))
    time = manifest.get("time")
    known = float(time) if isinstance(time, (int, float)) and abs(time) < _LATEST else 0.0
    return RecordingNote(short_function_name(name), graph, reason, known)


def large_names(folder: Path) -> list[str]:
    """The files in `blobs/`, beside the folder of a recording, that it refers to."""
    names = sorted(map(large_name, blob_hashes(folder)))
    return [name for name in names if exists(folder.parent / LARGE / name)]


def blob_hashes(folder: Path) -> set[str]:
    """Everything in a recording's manifest that looks like the hash of a blob."""
    with FileReader(folder / MANIFEST) as file:
        data = file.read(0, file.size)
    return {found.decode() for found in re.findall(rb"[0-9a-f]{64}", data)}


def _get(own: BlobReader, shared: BlobReader, reference: object) -> bytes:
    large = isinstance(reference, dict) and reference.get("at") is None
    return get(shared if large else own, reference)


_TAKEN = ".taken.tmp"  # ends the name of a blob while it is checked once more


class RecordingStore:
    """Adds recordings to a run, and removes some with the bytes that no other one refers to.

    Other processes may add theirs meanwhile, including ones that reference blobs being removed.
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
        """Changes the reason of a recording.

        Raises:
            OSError, DamagedError: it is missing, or cannot be read or written.
        """
        path = folder / MANIFEST
        publish_json(path, read_json(path, MAX_MANIFEST) | {"reason": reason})

    def remove(self, folders: Iterable[Path]) -> None:
        """Removes recordings, and blobs that only they use.

        An unreferenced blob is renamed before all references are read again. Newer references did not find
        it, so their writers wrote it again; for older references, it is restored. So are the remains of a
        killed process.
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
                with contextlib.suppress(OSError):  # another process did it
                    path.unlink()

    def _used(self) -> set[str] | None:
        """Blobs that recordings refer to, those that are being written first: they may be published
        meanwhile.

        Returns:
            None where the blobs of one are unknown, so that all of them must stay.
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
    with contextlib.suppress(OSError):  # another process did it, or it belongs to another user
        path.replace(target)
