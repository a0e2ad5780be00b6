"""A bundle: one recording as one file, to be run again elsewhere, or unpacked into a run."""

from __future__ import annotations

import hashlib
import re
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError
from tensortap.core.records import Graph
from tensortap.storage.files import json_bytes, parse_json
from tensortap.system.temp_dirs import temp_folder

from ..format.graphs import is_graph_id, read_graph, table_path, write_graph
from .blobs import LARGE, SMALL, Blobs, get, large_name
from .recording import Recording
from .recording_files import FOLDER, MANIFEST, MAX_MANIFEST
from .recording_manifest import checked_manifest, from_manifest, to_manifest

_MAX_RATIO = 1100  # deflate ends at 1,032
ZIP_ERRORS = (
    KeyError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError
)  # fmt: skip
MAX_GRAPH = 512 << 20  # bytes of the graph's table, which is packed


def write_bundle(path: Path, recording: Recording, graph: Graph | None = None) -> None:
    """One recording as one file: a zip of manifest, small and large blobs.

    Args:
        graph: of its function, as the run has it; of the program's files only lines that made nodes go along.

    Raises:
        FileExistsError: there is such a file already.
    """
    blobs = Blobs()
    table = None if graph is None else _table(graph)
    recording = recording if table is None else replace(recording, graph=table[0])
    manifest = to_manifest(recording, blobs)
    with (
        path.open("xb") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(MANIFEST, json_bytes(manifest))
        archive.writestr(SMALL, bytes(blobs.small))
        for digest, data in blobs.large.items():
            archive.writestr(f"{LARGE}/{large_name(digest)}", bytes(data))
        if table is not None:
            archive.writestr(f"graphs/{table[0]}.arrows", table[1])


def _table(graph: Graph) -> tuple[str, bytes]:
    """The id of a graph reduced to what a bundle needs, and its table."""
    used: dict[str, set[int]] = {}
    for stack in graph.stacks:
        for file, line, _ in stack:
            used.setdefault(file, set()).add(line)
    sources = {
        file: "\n".join(
            line if number in used.get(file, ()) else "" for number, line in enumerate(text.splitlines(), 1)
        )
        for file, text in graph.sources.items()
    }
    with temp_folder() as folder:
        graph_id = write_graph(folder, replace(graph, sources=sources, graph_def=None), "zstd")
        return graph_id, table_path(folder, graph_id).read_bytes()


def read_bundle_graph(path: Path, graph_id: str) -> Graph | None:
    """The graph in a bundle; None if it has no graph with that id.

    Raises:
        DamagedError: it is not whole.
    """
    if not is_graph_id(graph_id):
        return None
    name = f"graphs/{graph_id}.arrows"
    try:
        with zipfile.ZipFile(path) as archive, temp_folder() as folder:
            if name not in archive.namelist():
                return None
            size = archive.getinfo(name).file_size
            if size > MAX_GRAPH:
                raise DamagedError(f"The graph of {path.name} is {size} bytes; the limit is {MAX_GRAPH}.")
            table = table_path(folder, graph_id)
            table.parent.mkdir()
            table.write_bytes(_ZipBlobs(archive).read(name, 0, size))
            return read_graph(folder, graph_id)
    except ZIP_ERRORS as error:
        raise DamagedError(f"{path.name} is not a bundle: {error}.") from error


class _ZipBlobs:
    """A `BlobReader` of the members of a zip file; claimed sizes are checked before reading."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def read(self, name: str, offset: int, length: int) -> bytes:
        try:
            known = self._archive.getinfo(name)
            if offset + length > known.file_size or length > (known.compress_size + 64) * _MAX_RATIO:
                raise DamagedError(f"{name} does not have {length} bytes at {offset}.")
            with self._archive.open(known) as member:
                member.seek(offset)
                data = member.read(length)
        except (*ZIP_ERRORS, OSError) as error:
            raise DamagedError(f"{name} cannot be read: {error}.") from error
        if len(data) != length:
            raise DamagedError(f"{name} is shorter than {offset + length} bytes.")
        return data


def read_bundle(path: Path) -> Recording:
    """The recording in a bundle.

    Raises:
        DamagedError: the file is not a bundle, or is incomplete. FormatVersionError: a newer tensortap wrote
            it.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            reader = _ZipBlobs(archive)
            return from_manifest(_manifest(archive, path.name), lambda reference: get(reader, reference))
    except ZIP_ERRORS as error:
        raise DamagedError(f"{path.name} is not a bundle: {error}.") from error


def read_bundle_manifest(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """The manifest of an open bundle; `name` is used in errors.

    Raises:
        DamagedError: there is none, or it is not one. FormatVersionError: a newer tensortap wrote it.
    """
    return checked_manifest(_manifest(archive, name))


def _manifest(archive: zipfile.ZipFile, name: str) -> object:
    try:
        size = archive.getinfo(MANIFEST).file_size
    except KeyError as error:
        raise DamagedError(f"{name} has no {MANIFEST}.", "It is not a bundle.") from error
    if size > MAX_MANIFEST:
        raise DamagedError(f"The manifest of {name} is {size} bytes; the limit is {MAX_MANIFEST}.")
    return parse_json(_ZipBlobs(archive).read(MANIFEST, 0, size), f"The manifest of {name}")


def read_bundle_blob(archive: zipfile.ZipFile, reference: object) -> bytes:
    """The bytes that a manifest of an open bundle refers to. Raises DamagedError as `blobs.get` does."""
    return get(_ZipBlobs(archive), reference)


_HASH = re.compile(r"[0-9a-f]{64}\Z")
_COPY_BYTES = 1 << 20
_MAX_STEP, _MAX_CALL = (1 << 63) - 1, 999_999_999


def unpack_bundle(archive: zipfile.ZipFile, manifest: Mapping[str, Any], run_dir: Path) -> None:
    """Adds the recording in an open bundle to a run without readers.

    What its members would unpack to is for the caller to limit.

    Args:
        manifest: as `read_bundle_manifest` gives it; that of the run, so that its `graph` may be another.

    Raises:
        DamagedError: its step is not one, or bytes are missing or not those that were written.
        OSError: the disk refuses.
    """
    base = run_dir / FOLDER
    (base / LARGE).mkdir(parents=True, exist_ok=True)
    folder = base / _name(manifest)
    folder.mkdir()
    _copy(archive, SMALL, folder / SMALL)
    for digest in sorted(_large(manifest)):
        name = large_name(digest)
        if _copy(archive, f"{LARGE}/{name}", base / LARGE / name) != digest:
            raise DamagedError(f"{name} of the bundle fails its checksum.", "Copy the bundle again.")
    (folder / MANIFEST).write_bytes(json_bytes(dict(manifest)))


def _name(manifest: Mapping[str, Any]) -> str:
    """The folder name of a recording, from its step and call."""
    step, call = manifest.get("step"), manifest.get("call")
    for number, most in ((step, _MAX_STEP), (call, _MAX_CALL)):
        if type(number) is not int or not 0 <= number <= most:
            raise DamagedError(f"The bundle has an invalid step {step!r:.40} or call {call!r:.40}.")
    return f"{step}-{call}-{uuid.uuid4().hex[:8]}"


def _large(manifest: Mapping[str, Any]) -> set[str]:
    """Hashes of the blobs in separate files."""
    return {
        digest
        for reference in _references(manifest)
        if reference.get("at") is None
        and isinstance(digest := reference["sha256"], str)
        and _HASH.match(digest)
    }


def _references(manifest: object) -> Iterator[dict[str, Any]]:
    waiting = [manifest]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "sha256" in each:
                yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _copy(archive: zipfile.ZipFile, name: str, to: Path) -> str:
    """Unpacks a member; returns the hash of its bytes."""
    digest = hashlib.sha256()
    try:
        with archive.open(name) as member, to.open("xb") as file:
            while piece := member.read(_COPY_BYTES):
                digest.update(piece)
                file.write(piece)
    except ZIP_ERRORS as error:
        raise DamagedError(
            f"{name} of the bundle cannot be read: {error}.", "Copy the bundle again."
        ) from error
    return digest.hexdigest()
