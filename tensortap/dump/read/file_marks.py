"""Records which bytes of a worker's statistics were read, to check whether derived data is still valid."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError
from tensortap.storage.entry import Entry
from tensortap.storage.files import crc32c_of_file
from tensortap.storage.filesystem import stat_path

from ..format.layout import stats_path
from .stats_reader import TailPosition

_SETTLE_NS = 2 * 10**9  # a file that was written to just now may change within its timestamp's resolution


@dataclass(frozen=True, slots=True)
class FileMark:
    """State of a file: `length` bytes of it were read, with that checksum. `settled`: its timestamp was old
    enough to detect every later change."""

    size: int
    mtime_ns: int
    inode: int
    length: int
    crc32c: int
    settled: bool


class FileFingerprints:
    """The marks of a worker's files, recomputed only for changed ones.

    `renewed`: `hold` read a whole file, and found a timestamp that spares the next reader this.
    """

    def __init__(self, worker_dir: Path, known: list[dict[str, Any]] | None = None) -> None:
        self._dir = worker_dir
        self.renewed = False
        self._known = [FileMark(**mark) for mark in known or ()]

    def update(self, position: TailPosition) -> list[dict[str, Any]]:
        """The marks of all files up to a position.

        Raises:
            OSError, DamagedError: a file cannot be read any more.
        """
        for number in range(position.file + 1):
            known = self._known[number] if number < len(self._known) else None
            length = position.offset if number == position.file else None
            if known is None or not _unchanged(self._path(number), known, length):
                self._known[number : number + 1] = [self._mark(number, length)]
        return [asdict(mark) for mark in self._known]

    def _mark(self, number: int, length: int | None) -> FileMark:
        found = stat_path(self._path(number))
        length = found.size if length is None else length
        crc = crc32c_of_file(self._path(number), length)
        return FileMark(found.size, found.mtime_ns, found.inode, length, crc, _is_settled(found))

    def hold(self) -> bool:
        """Whether the bytes read of each file are unchanged: by timestamp, or else by checksum."""
        try:
            return all(self._holds(number, mark) for number, mark in enumerate(self._known))
        except (OSError, DamagedError):
            return False

    def _holds(self, number: int, mark: FileMark) -> bool:
        path = self._path(number)
        if _unchanged(path, mark, mark.length):
            return True
        found = stat_path(path)
        if found.size < mark.length or crc32c_of_file(path, mark.length) != mark.crc32c:
            return False
        if _is_settled(found):
            self._known[number] = FileMark(
                found.size, found.mtime_ns, found.inode, mark.length, mark.crc32c, settled=True
            )
            self.renewed = True
        return True

    def _path(self, number: int) -> Path:
        return stats_path(self._dir, number)


def _is_settled(found: Entry) -> bool:
    return time.time_ns() - found.mtime_ns > _SETTLE_NS


def _unchanged(path: Path, mark: FileMark, length: int | None) -> bool:
    found = stat_path(path)
    same = (found.size, found.mtime_ns, found.inode) == (mark.size, mark.mtime_ns, mark.inode)
    return mark.settled and same and mark.length == (found.size if length is None else length)
