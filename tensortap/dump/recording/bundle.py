"""A bundle: one recording as one file, to be run again elsewhere."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError
from tensortap.core.model import Graph
from tensortap.system.temp_dirs import temp_folder

from ..format.graphs import is_graph_id, read_graph, table_path, write_graph
from .blobs import LARGE, SMALL, Blobs, get, large_name
from .manifest import checked_manifest, from_manifest, to_manifest
from .recording import Recording
from .recording_files import MANIFEST, MAX_MANIFEST

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
        archive.writestr(MANIFEST, json.dumps(manifest))
        archive.writestr(SMALL, bytes(blobs.small))
        for digest, data in blobs.large.items():
            archive.writestr(f"{LARGE}/{large_name(digest)}", bytes(data))
        if table is not None:
            archive.writestr(f"graphs/{table[0]}.arrows", table[1])


def _table(graph: Graph) -> tuple[str, bytes]:
    """The id of a graph without what a bundle does not need, and its table."""
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
    """The graph in a bundle; None if it holds none of that id.

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
                raise DamagedError(f"The graph of {path.name} has {size} bytes, more than {MAX_GRAPH}.")
            table = table_path(folder, graph_id)
            table.parent.mkdir()
            table.write_bytes(_ZipBlobs(archive).read(name, 0, size))
            return read_graph(folder, graph_id)
    except ZIP_ERRORS as error:
        raise DamagedError(f"{path.name} is not a bundle: {error}.") from error


class _ZipBlobs:
    """A `BlobReader` of the members of a zip file; what one claims to hold is checked before it is read."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def read(self, name: str, offset: int, length: int) -> bytes:
        try:
            known = self._archive.getinfo(name)
            if offset + length > known.file_size or length > (known.compress_size + 64) * _MAX_RATIO:
                raise DamagedError(f"{name} does not hold {length} bytes at {offset}.")
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
        DamagedError: the file is no bundle, or not whole. FormatVersionError: a newer tensortap wrote it.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            reader = _ZipBlobs(archive)
            return from_manifest(_manifest(archive, path.name), lambda reference: get(reader, reference))
    except ZIP_ERRORS as error:
        raise DamagedError(f"{path.name} is not a bundle: {error}.") from error


def read_bundle_manifest(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """The manifest of an open bundle; `name` is what errors call it.

    Raises:
        DamagedError: there is none, or it is none. FormatVersionError: a newer tensortap wrote it.
    """
    return checked_manifest(_manifest(archive, name))


def _manifest(archive: zipfile.ZipFile, name: str) -> object:
    try:
        size = archive.getinfo(MANIFEST).file_size
    except KeyError as error:
        raise DamagedError(f"{name} holds no {MANIFEST}.", "It is not a bundle.") from error
    if size > MAX_MANIFEST:
        raise DamagedError(f"The manifest of {name} has {size} bytes, more than {MAX_MANIFEST}.")
    try:
        return json.loads(_ZipBlobs(archive).read(MANIFEST, 0, size))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"The manifest of {name} is not JSON: {error}.") from error


def read_bundle_blob(archive: zipfile.ZipFile, reference: object) -> bytes:
    """The bytes that a manifest of an open bundle refers to. Raises DamagedError as `blobs.get` does."""
    return get(_ZipBlobs(archive), reference)
