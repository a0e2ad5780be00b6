"""The spool: where a dump that goes to an address waits on the disk until it is uploaded."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..format.run_files import CLOSED_FILE

SEGMENT = 1 << 20  # bytes from which a file is ended when it is uploaded; a smaller one is uploaded again
MAX_SHARD = 8 << 20  # bytes of values of one file: it is uploaded as a whole
LEAST = 1_000_000  # bytes of a spool: in less, files that are still written leave no room for values
_SHARES = 8  # three files are written at a time, and the values file has a header of 256 KiB
_ORDER = ("run.json", "worker.json", ".pb", ".arrows", ".safetensors")
_LAST = 2 * len(_ORDER)


@dataclass(frozen=True, slots=True)
class SpooledFile:
    """A file of the spool to upload: its first `size` bytes; `final`: it is complete."""

    name: str  # below the run
    path: Path
    size: int
    final: bool


class Spool:
    """A run's folder on disk, with a limit of `max_bytes`; in `TENSORTAP_SPOOL`, else in the system's
    temporary folder.

    Args:
        base: a spool that already exists.

    Attributes:
        share: size at which a file is ended, so that open files never fill the spool.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, run: str, max_bytes: int, base: Path | None = None) -> None:
        where = os.environ.get("TENSORTAP_SPOOL")
        self.base = base or Path(tempfile.mkdtemp(prefix="tensortap-spool-", dir=where))
        self.run_dir = self.base / run
        self._max_bytes = max_bytes
        self.share = max_bytes // _SHARES
        self._bytes = 0  # time of the last check
        self._since = 0  # bytes of values written since
        self.failure = ""  # why nothing leaves it

    @property
    def waiting_bytes(self) -> int:
        """Bytes waiting in the spool."""
        return self._bytes + self._since

    def take(self, length: int) -> None:
        """Reserves a number of bytes for writing.

        Raises:
            OSError: the spool is full (ENOSPC).
        """
        if self.waiting_bytes + length > self._max_bytes:
            why = (
                f"{self.waiting_bytes:,} bytes wait to be uploaded; the limit is {self._max_bytes:,} "
                "(spool_bytes)"
            )
            if length > self._max_bytes:
                why = f"a value of {length:,} bytes exceeds the limit of {self._max_bytes:,} (spool_bytes)"
            raise OSError(errno.ENOSPC, why + (f"; {self.failure}" if self.failure else ""), str(self.base))
        self._since += length

    def parts(self, open_files: Collection[Path | None]) -> list[SpooledFile]:
        """The files in an order in which a reader of the uploads never finds a reference to a missing file.

        Args:
            open_files: those that are still being written.
        """
        parts = [
            SpooledFile(path.relative_to(self.run_dir).as_posix(), path, size, path not in open_files)
            for path, size in _files(self.run_dir)
        ]
        self._bytes, self._since = sum(part.size for part in parts), 0
        return sorted(parts, key=_place)

    def remove(self, part: SpooledFile) -> None:
        """Removes a file that is not needed here any more."""
        with contextlib.suppress(OSError):
            part.path.unlink()
            self._bytes -= part.size

    def clear(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.base, ignore_errors=True)
        self._bytes = self._since = 0


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # a temporary name, just renamed
            if path.is_file() and path.suffix != ".tmp":
                yield path, path.stat().st_size


def _place(part: SpooledFile) -> tuple[int, str]:
    """The upload order: the run, graphs, values, statistics that reference them, events; finally the
    totals."""
    name = part.path.name
    if name == CLOSED_FILE:
        return _LAST, part.name
    rank = next((at for at, end in enumerate(_ORDER) if name.endswith(end)), len(_ORDER))
    return rank + 2 * name.startswith("stats-"), part.name
