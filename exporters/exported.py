"""What every exporter takes and returns, and how its file gets its name."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.dump import InvalidNameError, NotFoundError
from tensortap.index import RunIndex

Array = np.ndarray[Any, np.dtype[Any]]
Advance = Callable[[int, int], object]  # (done, in all), of whatever is counted
Export = Callable[[RunIndex, Array | None, Path, Advance], "Exported"]
"""Exports the rows of a run's catalog (None: all of it) to a path that does not exist yet.

Raises:
    NotFoundError: nothing is left to export. OSError: the disk refused; nothing is left behind.
"""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written. `left_out`: sentences about what the format, or by now the dump, does not hold."""

    path: Path
    snapshots: int
    bytes: int
    left_out: list[str]


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which gets that name if all went well.

    Raises:
        InvalidNameError: there is something of that name, or no folder for it.
    """
    if not path.parent.is_dir():
        raise InvalidNameError(f"There is no folder {str(path.parent)!r}.", "Make it, or name another place.")
    if path.exists() or path.is_symlink():
        raise InvalidNameError(f"{str(path)!r} exists.", "Remove it, or choose another name.")
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)  # noqa: PTH105 (a name that was taken meanwhile is replaced on every system)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def all_rows(run: RunIndex, rows: Array | None) -> Array:
    """The rows to export, at least one.

    Raises:
        NotFoundError: there is none.
    """
    found = np.arange(run.catalog.rows) if rows is None else rows
    if not len(found):
        raise NotFoundError("No snapshot fits.", "'tensortap show RUN' lists what was captured.")
    return found
