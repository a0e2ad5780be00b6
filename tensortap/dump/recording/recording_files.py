"""Finds, reads and writes the recordings of a run (FORMAT.md, "Recordings")."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.core.names import short_function_name
from tensortap.storage.files import FileReader, read_json
from tensortap.storage.filesystem import exists, scan, stat_path

from ..read.runs import Unread
from .blobs import LARGE, SMALL, BlobReader, Blobs, FolderBlobs, get, large_name, store
from .manifest import from_manifest, to_manifest
from .recording import Recording

FOLDER = "recordings"
MANIFEST = "recording.json"
MAX_MANIFEST = 64 << 20
_BEING_WRITTEN = 600.0  # s, after which a writer that did nothing was killed
_LATEST = 1e12  # seconds since 1970
_NAME = re.compile(r"(\d{1,19})-(\d{1,9})-[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """A recording of a run: its step, which call within the step, and the folder that holds it."""

    step: int
    call: int
    path: Path


def write_recording(run_dir: Path, recording: Recording) -> Path:
    """Adds a recording to a run; nobody sees half of it. Returns its folder.

    What it refers to is said before it is looked for: who removes blobs at the same time sees that it is
    needed, or else this writes it anew.

    Raises:
        OSError: the disk refused; what was begun is removed, or ignored by readers.
    """
    blobs = Blobs()
    manifest = to_manifest(recording, blobs)
    base = run_dir / FOLDER
    name = f"{recording.step}-{recording.call}-{uuid.uuid4().hex[:8]}"
    folder = base / f".{name}.tmp"
    folder.mkdir(parents=True)
    try:
        (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        (folder / SMALL).write_bytes(blobs.small)
        for _ in store(base / LARGE, blobs):
            os.utime(folder)  # it is still being written
        return folder.rename(base / name)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def being_written(run_dir: Path) -> list[Path]:
    """Folders of recordings that are not published yet, and whose writer was at work within ten minutes."""
    since = time.time() - _BEING_WRITTEN
    found = []
    for folder in (run_dir / FOLDER).glob(".*.tmp"):
        with contextlib.suppress(OSError):  # just published
            if folder.stat().st_mtime >= since:
                found.append(folder)
    return found


def find_recordings(run_dir: Path, unread: Unread = lambda folder, error: None) -> list[RecordingPlace]:
    """The recordings of a run, by step, call and time. Links are not followed.

    `unread` is called with each folder that cannot be looked into: nobody knows what it holds.
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
        if name and entry.is_folder:
            try:
                stat_path(base / entry.name / MANIFEST)
            except FileNotFoundError:
                continue
            except OSError as error:
                unread(base / entry.name, error)
                continue
            found.append(RecordingPlace(int(name[1]), int(name[2]), base / entry.name))
    return _in_order(found)


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
        DamagedError: it is not whole, or not as it was written.
        FormatVersionError: a newer tensortap wrote it.
    """
    try:
        manifest = read_json(folder / MANIFEST, MAX_MANIFEST)
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no recording in {str(folder)!r}.", "Name a folder of 'recordings/'."
        ) from error
    reader = FolderBlobs(folder)
    shared = FolderBlobs(folder.parent)
    return from_manifest(manifest, lambda reference: _get(reader, shared, reference))


@dataclass(frozen=True, slots=True)
class RecordingNote:
    """What is quickly known of a recording: its function's name, the id of that one's graph in the run, why
    it was recorded (empty where that cannot be read), and when, in seconds since 1970 (0)."""

    function: str = ""
    graph: str = ""
    reason: str = ""
    time: float = 0.0


def recording_note(folder: Path) -> RecordingNote:
    """Of the recording in a folder, without its values."""
    try:
        manifest = read_json(folder / MANIFEST, MAX_MANIFEST)
    except (OSError, TensortapError):
        return RecordingNote()
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
