"""What lies at an address, copied to the disk for those who read it there: importers, and replays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tensortap.dump import Entry, Input, LimitError, RemoteError, look, path_of, scan, shown_path

MAX_BYTES = 16 << 30
MAX_FILES = 100_000
_MAX_FOLDERS = 32  # levels
_PIECE = 8 << 20  # bytes read at a time
_SHARDS = ".safetensors.index.json"


@dataclass(slots=True)
class Fetched:
    """Copies files into a folder, within limits.

    Args:
        max_bytes: of all files together.
        progress: is told what is being copied.
    """

    folder: Path
    max_bytes: int = MAX_BYTES
    progress: Callable[[str], None] = lambda text: None
    bytes: int = field(default=0, init=False)
    files: int = field(default=0, init=False)

    def fetch(self, address: str) -> Path:
        """Copies a file or folder, and of a checkpoint or of sharded weights all files; returns its copy,
        which has the same name.

        Raises:
            LimitError: it is too large. RemoteError: it cannot be read.
        """
        base = address.rstrip("/")
        place, name = path_of(base), path_of(base).name
        try:
            found = self._look(place)
            if found is not None and found.is_folder:
                self._copy_folder(place, self.folder / name, 0)
            elif found is not None:
                self._copy(place, self.folder / name)
            self._copy_siblings(base, name)
        except OSError as error:
            raise RemoteError(f"{shown_path(place)} cannot be read: {error.strerror}.") from None
        if not self.files:
            raise RemoteError(f"There is nothing at {shown_path(place)}.", "Name a file or a folder.")
        return self.folder / name

    def _look(self, place: Path) -> Entry | None:
        try:
            return look(place)
        except FileNotFoundError:  # maybe what the files of a checkpoint begin with
            return None

    def _copy_siblings(self, base: str, name: str) -> None:
        start = name + "."
        for mark in (_SHARDS, ".index", ".data-"):
            if mark in name:
                start = name[: name.rindex(mark)] + ("-" if mark == _SHARDS else ".")
                break
        else:
            if self.files:
                return
        if not set(base) & set("?#") and "::" not in base:
            parent = path_of(base.rpartition("/")[0])
            for entry in scan(parent):
                if entry.is_file and entry.name.startswith(start) and entry.name != name:
                    self._copy(parent / entry.name, self.folder / entry.name)

    def _copy_folder(self, source: Path, copy: Path, level: int) -> None:
        copy.mkdir(parents=True, exist_ok=True)
        for entry in scan(source):
            if entry.is_folder and level < _MAX_FOLDERS:
                self._copy_folder(source / entry.name, copy / entry.name, level + 1)
            elif entry.is_file:
                self._copy(source / entry.name, copy / entry.name)

    def _copy(self, source: Path, copy: Path) -> None:
        with Input(source) as file, copy.open("xb") as out:
            self.files += 1
            self.bytes += file.size
            if self.files > MAX_FILES or self.bytes > self.max_bytes:
                limits = f"{self.max_bytes:,} bytes, or {MAX_FILES:,} files"
                raise LimitError(
                    f"With {shown_path(source)} it is more than {limits}.",
                    "Name a part of it, raise --max-bytes, or copy it to a disk.",
                )
            self.progress(source.name)
            for at in range(0, file.size, _PIECE):
                out.write(file.read_exactly(at, min(_PIECE, file.size - at)))
