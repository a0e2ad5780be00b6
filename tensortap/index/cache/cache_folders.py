"""Folders of the cache: one of each run, with its path; those of removed and of unused runs are deleted."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

from tensortap.system.user_dirs import is_own_folder, make_private_folder, open_regular

RUN_NAME = "run.txt"  # the run's path: an index of a removed run is deleted
_UNUSED = 90 * 86_400.0  # s after which an unused index is removed
_LONGEST_MARK = 1 << 20  # characters of a path, as JSON


def run_folder(cache: Path, run_dir: Path, version: int) -> Path:
    """The folder for the index of a run, by the run's path and the version of the index."""
    text = os.fsencode(run_dir.resolve())
    return cache / f"index-{version}" / hashlib.blake2b(text, digest_size=16).hexdigest()


def claim(cache: Path, folder: Path, run_dir: Path) -> None:
    """Makes the folder of an index, this user's alone below the cache. Raises OSError."""
    make_private_folder(cache, folder)
    fd = open_regular(folder / RUN_NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(str(run_dir.resolve()), file)


def touch(folder: Path) -> None:
    """Notes that an index is in use."""
    with contextlib.suppress(OSError):
        os.utime(folder / RUN_NAME)


def sweep(cache: Path) -> None:
    """Removes the indices of removed runs, and of runs not opened for three months."""
    with contextlib.suppress(OSError):
        for folder in cache.glob("index-*/*"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                if not is_own_folder(folder):
                    continue
                fd = open_regular(folder / RUN_NAME, os.O_RDONLY)
                with os.fdopen(fd, encoding="utf-8") as mark:
                    unused = time.time() - os.fstat(fd).st_mtime > _UNUSED
                    run_dir = Path(json.loads(mark.read(_LONGEST_MARK)))
                # A missing parent may be an unmounted disk, so the index stays.
                gone = run_dir.parent.is_dir() and not run_dir.exists()
                if unused or gone:
                    shutil.rmtree(folder, ignore_errors=True)
