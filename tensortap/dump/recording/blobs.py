"""Blobs: the bytes of recordings, large ones once each under their hash, small ones side by side."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from tensortap.core.errors import DamagedError
from tensortap.core.text import counted
from tensortap.storage.files import FileReader, publish

SMALL = "small.bin"
LARGE = "blobs"
_WORTH_A_FILE = 64 << 10  # bytes
MAX_BLOB = 8 << 30
_HASH = re.compile(r"[0-9a-f]{64}\Z")


class BlobReader(Protocol):
    """Bytes by name, from a folder or a zip file."""

    def read(self, name: str, offset: int, length: int) -> bytes:
        """`length` bytes of the member `name`.

        Raises:
            DamagedError: the member is missing or too short.
        """


class Blobs:
    """Collects the bytes of one recording: `small` in order, `large` by hash.

    Each `put` returns a reference for the manifest: `{"sha256", "length"}`, and `"at"` if it is small.
    """

    def __init__(self) -> None:
        self.small = bytearray()
        self.large: dict[str, bytes | memoryview] = {}
        self._seen: dict[str, dict[str, Any]] = {}

    def put(self, data: bytes | memoryview) -> dict[str, Any]:
        """Adds some bytes; equal ones are held once."""
        digest = hashlib.sha256(data).hexdigest()
        reference = self._seen.get(digest)
        if reference is None:
            reference = self._seen[digest] = {"sha256": digest, "length": len(data)}
            if len(data) < _WORTH_A_FILE:
                reference["at"] = len(self.small)
                self.small += data
            else:
                self.large[digest] = data
        return reference


def large_name(digest: str) -> str:
    """The file of a large blob, in its folder."""
    return f"{digest}.blob"


def get(reader: BlobReader, reference: object) -> bytes:
    """The bytes of a reference, proven by their hash.

    Raises:
        DamagedError: the reference is invalid, or the bytes are not those that were written.
    """
    if not isinstance(reference, dict):
        raise DamagedError("A reference of a recording is not an object.")
    digest, length, at = reference.get("sha256"), reference.get("length"), reference.get("at")
    if not (isinstance(digest, str) and _HASH.match(digest)) or not _is_count(length):
        raise DamagedError("A reference of a recording has no hash or length.")
    if at is None:
        data = reader.read(f"{LARGE}/{large_name(digest)}", 0, length)
    elif _is_count(at):
        data = reader.read(SMALL, at, length)
    else:
        raise DamagedError("A reference of a recording has no target.")
    if hashlib.sha256(data).hexdigest() != digest:
        raise DamagedError(f"A part of {length} bytes of a recording fails its checksum.", "Copy it again.")
    return data


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_BLOB


class FolderBlobs:
    """A `BlobReader` of the files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ends: dict[str, int] = {}  # of read bytes, by file

    def read(self, name: str, offset: int, length: int) -> bytes:
        self._ends[name] = max(self._ends.get(name, 0), offset + length)
        try:
            with FileReader(self._folder / name) as file:
                return file.read_exactly(offset, length)
        except FileNotFoundError as error:
            raise DamagedError(f"{name} is missing.", "Copy the complete run directory.") from error

    def check_ends(self) -> None:
        """Raises DamagedError if a file continues behind all that was read."""
        for name, end in self._ends.items():
            with FileReader(self._folder / name) as file:
                if file.size > end:
                    more = counted(file.size - end, "byte")
                    raise DamagedError(f"{name} has {more} without a reference.", "Copy it again.")


def store(folder: Path, blobs: Blobs) -> Iterator[None]:
    """Writes the large blobs that the folder does not have yet, one at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    for digest, data in blobs.large.items():
        path = folder / large_name(digest)
        try:
            os.utime(path)  # ask the file server; cached metadata may be old
        except FileNotFoundError:
            publish(path, bytes(data), replace=False)
        except OSError:  # another user's
            pass
        yield
