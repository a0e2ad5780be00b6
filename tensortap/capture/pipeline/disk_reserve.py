"""The free space of a disk that a tap leaves alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..warnings_once import OneTimeWarnings


class DiskReserve:
    """Free space that is left alone; asked before snapshots and recordings are written.

    Args:
        least: bytes of free space below which nothing is written.
    """

    def __init__(self, least: int, warnings: OneTimeWarnings) -> None:
        self._least, self._warnings = least, warnings

    def has_room(self, folder: Path) -> bool:
        """Whether there is more free space where this folder is; warns once if there is not."""
        try:
            free = shutil.disk_usage(folder).free
        except OSError:
            return True  # the file system does not say; writing will show
        if free < self._least:
            self._warnings.warn(
                "reserve",
                f"only {free >> 20} MiB are free at {folder}, and below {self._least >> 20} MiB neither"
                " snapshots nor recordings are written",
                "Free space, or lower Tap(disk_reserve=…).",
            )
            return False
        return True
