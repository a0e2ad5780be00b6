"""A bundle: one recording as one file, to be run again elsewhere."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path

from .blobs import LARGE, SMALL, Blobs, get, large_name
from .errors import DamagedError
from .recording import Recording
from .recording_manifest import from_manifest, to_manifest
from .recordings import MANIFEST, MAX_MANIFEST

_MAX_RATIO = 1100  # deflate ends at 1,032


def write_bundle(path: Path, recording: Recording) -> None:
    """One recording as one file: a zip of manifest, small and large blobs.

    Raises:
        FileExistsError: there is such a file already.
    """
    blobs = Blobs()
    manifest = to_manifest(recording, blobs)
    with (
        path.open("xb") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(MANIFEST, json.dumps(manifest))
        archive.writestr(SMALL, bytes(blobs.small))
        for digest, data in blobs.large.items():
            archive.writestr(f"{LARGE}/{large_name(digest)}", bytes(data))


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
        except (
            KeyError,
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            ValueError,
            RuntimeError,
            NotImplementedError,
        ) as error:
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
            try:
                size = archive.getinfo(MANIFEST).file_size
            except KeyError as error:
                raise DamagedError(f"{path.name} holds no {MANIFEST}.", "It is not a bundle.") from error
            if size > MAX_MANIFEST:
                raise DamagedError(f"The manifest of {path.name} has {size} bytes, more than {MAX_MANIFEST}.")
            try:
                manifest = json.loads(reader.read(MANIFEST, 0, size))
            except (ValueError, RecursionError) as error:
                raise DamagedError(f"The manifest of {path.name} is not JSON: {error}.") from error
            return from_manifest(manifest, lambda reference: get(reader, reference))
    except zipfile.BadZipFile as error:
        raise DamagedError(f"{path.name} is not a bundle: {error}.") from error
