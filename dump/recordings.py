"""The recordings of a run (FORMAT.md, "Recordings")."""

from __future__ import annotations

import contextlib
import json
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from .blobs import LARGE, SMALL, BlobReader, Blobs, FolderBlobs, get, large_name, store
from .errors import NotFoundError, TensortapError
from .files import Input, read_json
from .folders import exists, look, scan
from .function_names import short_function_name
from .recording import Recording
from .recording_manifest import from_manifest, to_manifest

FOLDER = "recordings"
MANIFEST = "recording.json"
MAX_MANIFEST = 64 << 20
_BEING_WRITTEN = 600.0  # s, in which the recording that refers to a new blob is published
_NAME = re.compile(r"(\d{1,19})-(\d{1,9})-[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """A recording of a run: its step, which call within the step, and the folder that holds it."""

    step: int
    call: int
    path: Path


def write_recording(run_dir: Path, recording: Recording) -> Path:
    """Adds a recording to a run; nobody sees half of it. Returns its folder.

    Raises:
        OSError: the disk refused; what was begun is ignored by readers.
    """
    blobs = Blobs()
    manifest = to_manifest(recording, blobs)
    base = run_dir / FOLDER
    store(base / LARGE, blobs)
    name = f"{recording.step}-{recording.call}-{uuid.uuid4().hex[:8]}"
    folder = base / f".{name}.tmp"
    folder.mkdir(parents=True)
    (folder / SMALL).write_bytes(blobs.small)
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder.rename(base / name)


def find_recordings(run_dir: Path) -> list[RecordingPlace]:
    """The recordings of a run, by step and call. Links are not followed."""
    base = run_dir / FOLDER
    try:
        if not look(base).is_folder:
            return []
        entries = scan(base)
    except OSError:  # there is none
        return []
    found = []
    for entry in entries:
        name = _NAME.match(entry.name)
        path = base / entry.name
        if name and entry.is_folder and exists(path / MANIFEST):
            found.append(RecordingPlace(int(name[1]), int(name[2]), path))
    return sorted(found, key=lambda place: (place.step, place.call, place.path.name))


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


def recorded_function(folder: Path) -> tuple[str, str]:
    """Of the recording in a folder: name of its function, and id of that one's graph in the run; empty where
    they cannot be read."""
    try:
        manifest = read_json(folder / MANIFEST, MAX_MANIFEST)
    except (OSError, TensortapError):
        return "", ""
    name, graph = (str(manifest.get(key) or "") for key in ("function", "graph"))
    return short_function_name(name), graph


def remove_unused_blobs(run_dir: Path) -> None:
    """Removes the blobs that no recording refers to, and that were not written in the last minutes."""
    used: set[str] = set()
    for place in find_recordings(run_dir):
        used.update(_hashes(place.path))
    latest = time.time() - _BEING_WRITTEN
    for path in (run_dir / FOLDER / LARGE).glob("*.blob"):
        with contextlib.suppress(OSError):  # somebody else did it
            if path.stem not in used and path.stat().st_mtime < latest:
                path.unlink()


def large_names(folder: Path) -> list[str]:
    """The files in `blobs/`, beside the folder of a recording, that it refers to."""
    names = sorted(map(large_name, _hashes(folder)))
    return [name for name in names if exists(folder.parent / LARGE / name)]


def _hashes(folder: Path) -> set[str]:
    """Everything in a recording's manifest that looks like the hash of a blob."""
    with Input(folder / MANIFEST) as file:
        data = file.read(0, file.size)
    return {found.decode() for found in re.findall(rb"[0-9a-f]{64}", data)}


def _get(own: BlobReader, shared: BlobReader, reference: object) -> bytes:
    large = isinstance(reference, dict) and reference.get("at") is None
    return get(shared if large else own, reference)
