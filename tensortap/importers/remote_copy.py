"""Copies from and to addresses: sources that are imported or replayed, files that commands write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tensortap.core.errors import InvalidNameError, LimitError, RemoteError
from tensortap.core.progress import Notice, ignore_notice
from tensortap.storage.entry import Entry
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import exists, scan, stat_path
from tensortap.storage.uri import is_remote, path_of, put_file, shown_path
from tensortap.system.temp_dirs import temp_folder

MAX_BYTES = 16 << 30
MAX_FILES = 100_000
MAX_FOLDERS = 100_000
_LEVELS = 32  # of folders
_READ_BYTES = 8 << 20  # bytes read at a time
_SHARDS = ".safetensors.index.json"


class RemoteFile(NamedTuple):
    """A file at an address. `name`: the name of its copy, with `/` if it is in a folder."""

    place: Path
    name: str
    entry: Entry


def list_files(address: str, most: int = MAX_FILES, most_folders: int = MAX_FOLDERS) -> list[RemoteFile]:
    """A file, or the files of a folder; for a checkpoint or sharded weights all their files.

    Args:
        most, most_folders: files and folders that are listed.

    Raises:
        LimitError: there are too many. RemoteError: it cannot be read, or there is nothing.
    """
    base = address.rstrip("/")
    place = path_of(base)
    try:
        files = _named(place, most, most_folders)
        files += _siblings(base, place.name, alone=bool(files))
    except OSError as error:
        raise RemoteError(f"{shown_path(place)} cannot be read: {error.strerror}.") from None
    if not files:
        raise RemoteError(f"{shown_path(place)} does not exist.", "Pass a file or a folder.")
    return files


def _named(place: Path, most: int, most_folders: int) -> list[RemoteFile]:
    try:
        entry = stat_path(place)
    except FileNotFoundError:  # maybe the common prefix of a checkpoint's files
        return []
    if not entry.is_folder:
        return [RemoteFile(place, place.name, entry)]
    found: list[RemoteFile] = []
    waiting = [(place, place.name, 0)]
    for at, (folder, name, level) in enumerate(waiting):  # which grows
        for inside in scan(folder):
            below = f"{name}/{inside.name}"
            if inside.is_folder and level < _LEVELS:
                waiting.append((folder / inside.name, below, level + 1))
            elif inside.is_file:
                found.append(RemoteFile(folder / inside.name, below, inside))
        if len(found) > most or at == most_folders:
            raise LimitError(
                f"{shown_path(place)} has more than {most:,} files, or {most_folders:,} folders.",
                "Pass a subdirectory.",
            )
    return found


def _siblings(base: str, name: str, *, alone: bool) -> list[RemoteFile]:
    """Files that belong to the given one. `alone`: only those of a checkpoint or of shards."""
    start = name + "."
    for mark in (_SHARDS, ".index", ".data-"):
        if mark in name:
            start = name[: name.rindex(mark)] + ("-" if mark == _SHARDS else ".")
            break
    else:
        if alone:
            return []
    if set(base) & set("?#") or "::" in base:
        return []
    parent = path_of(base.rpartition("/")[0])
    beside = [entry for entry in scan(parent) if entry.is_file and entry.name.startswith(start)]
    return [RemoteFile(parent / entry.name, entry.name, entry) for entry in beside if entry.name != name]


@dataclass(slots=True)
class RemoteCopier:
    """Copies files into a folder, within limits.

    Args:
        max_bytes: of all files together.
        progress: called with the name of the file being copied.
    """

    folder: Path
    max_bytes: int = MAX_BYTES
    progress: Notice = ignore_notice
    bytes: int = field(default=0, init=False)

    def fetch(self, address: str) -> Path:
        """Copies the files of `list_files`; returns the copy, which has the same name.

        Raises:
            LimitError: it is too large. RemoteError: it cannot be read.
        """
        for file in list_files(address):
            try:
                self._copy(file.place, self.folder / file.name)
            except OSError as error:
                raise RemoteError(f"{shown_path(file.place)} cannot be read: {error.strerror}.") from None
        return self.folder / path_of(address.rstrip("/")).name

    def _copy(self, source: Path, copy: Path) -> None:
        copy.parent.mkdir(parents=True, exist_ok=True)
        with FileReader(source) as file, copy.open("xb") as out:
            self.bytes += file.size
            if self.bytes > self.max_bytes:
                raise LimitError(
                    f"{shown_path(source)} brings the total above {self.max_bytes:,} bytes.",
                    "Pass a part of it, raise --max-bytes of 'tensortap import', or copy it to a local disk.",
                )
            self.progress(source.name)
            for at in range(0, file.size, _READ_BYTES):
                out.write(file.read_exactly(at, min(_READ_BYTES, file.size - at)))


@contextmanager
def staged_output(target: Path) -> Iterator[Path]:
    """Where to write a file or folder for `target`; it is uploaded to an address at the end.

    Raises:
        InvalidNameError: there is something at the address. RemoteError: it cannot be read, or refuses.
    """
    if not is_remote(target):
        yield target
        return
    if exists(target):
        raise InvalidNameError(f"{shown_path(target)} exists.", "Remove it, or choose another name.")
    with temp_folder() as folder:
        made = folder / target.name
        yield made
        for file in sorted(made.rglob("*")) if made.is_dir() else [made]:
            if file.is_file():
                _put(file, target / file.relative_to(made))


def _put(file: Path, target: Path) -> None:
    try:
        put_file(file, target)
    except OSError as error:
        raise RemoteError(
            f"{shown_path(target)}: {error.strerror}.", "Write to a local disk, and copy the file."
        ) from None
