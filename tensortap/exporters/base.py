"""Arguments and result of exporters, and how its file gets its name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import InvalidNameError, NotFoundError
from tensortap.core.progress import AdvanceCount
from tensortap.index.run_index import RunIndex
from tensortap.system.temp_dirs import remove_stale_folders, scratch_folder

_PURPOSE = "exporting"

Export = Callable[[RunIndex, Array | None, Path, AdvanceCount], "Exported"]
"""Exports the rows of a run's catalog (None: all of it) to a path that does not exist yet.

Raises:
    NotFoundError: nothing is left to export. OSError: the disk refused; nothing is left behind.
"""


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export. `left_out`: sentences about data that the format cannot store or the dump no
    longer has."""

    path: Path
    snapshots: int
    bytes: int
    left_out: list[str]


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A path in a temporary folder next to `path`, renamed to it after success.

    Other content of that folder is removed. What exports that were killed left there is, too.

    Raises:
        InvalidNameError: there is something of that name, or no folder for it.
    """
    if not path.parent.is_dir():
        raise InvalidNameError(
            f"There is no folder {str(path.parent)!r}.", "Create it, or choose another path."
        )
    if path.exists() or path.is_symlink():
        raise InvalidNameError(f"{str(path)!r} exists.", "Remove it, or choose another name.")
    with scratch_folder(path.parent, _PURPOSE) as folder:
        yield folder / path.name
        os.replace(folder / path.name, path)  # noqa: PTH105 (a name that was taken meanwhile is replaced on every system)


def is_free(folder: Path) -> bool:
    """Whether the folder is missing, or only has leftovers of a killed export."""
    if folder.is_dir():
        remove_stale_folders(folder, _PURPOSE)
        return not any(folder.iterdir())
    return not folder.exists()


def all_rows(run: RunIndex, rows: Array | None) -> Array:
    """The rows to export, at least one.

    Raises:
        NotFoundError: there is none.
    """
    found = np.arange(run.catalog.rows) if rows is None else rows
    if not len(found):
        raise NotFoundError("No snapshots match.", "List the snapshots with 'tensortap show RUN'.")
    return found
