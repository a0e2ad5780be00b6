"""A little room on the disk that is held back for the last words on a full one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO

_BYTES = 16 << 10  # a statistics file that holds one commit without rows has 5 KB, `closed.json` less than 1


class SpareRoom:
    """A file without a name, which goes with its process however that ends; none where that cannot be had."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  held until `free`
            self._file.write(os.urandom(_BYTES))  # zeros might be compressed, and take no room

    @property
    def held(self) -> int:
        """Bytes."""
        return _BYTES if self._file is not None else 0

    def free(self) -> None:
        """Gives the room back; also to be called in a forked child, which holds the file, too."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
