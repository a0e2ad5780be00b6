"""Where saved indices are, and which of them are no longer of use."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from pathlib import Path

VARIABLE = "TENSORTAP_CACHE"
RUN_NAME = "run.txt"  # the run's path: an index whose run is gone is removed
_UNUSED = 90 * 86_400.0  # s after which an index that nobody opened is removed
_OFF = ("", "0", "off", "none")


def cache_folder() -> Path | None:
    """The user's folder for saved indices; None if `TENSORTAP_CACHE` switches them off.

    `TENSORTAP_CACHE` names it; else it is `tensortap` in the platform's cache directory.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return None if chosen.strip().lower() in _OFF else Path(chosen).expanduser()
    with contextlib.suppress(RuntimeError):  # there is no home directory
        return _platform_folder() / "tensortap"
    return None


def _platform_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return chosen if chosen.is_absolute() else Path.home() / ".cache"


def run_folder(cache: Path, run_dir: Path, version: int) -> Path:
    """The folder for the index of a run, by the run's path and the version of the index."""
    text = os.fsencode(run_dir.resolve())
    return cache / f"index-{version}" / hashlib.blake2b(text, digest_size=16).hexdigest()


def claim(folder: Path, run_dir: Path) -> None:
    """Makes the folder of an index, readable by its user only. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / RUN_NAME).write_text(json.dumps(str(run_dir.resolve())), encoding="utf-8")


def touch(folder: Path) -> None:
    """Notes that an index is in use."""
    with contextlib.suppress(OSError):
        os.utime(folder / RUN_NAME)


def is_ours(folder: Path) -> bool:
    """Whether a folder exists and is this user's own, and no link."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return mine and folder.is_dir() and not folder.is_symlink()


def sweep(cache: Path) -> None:
    """Removes the indices of runs that are gone, or that nobody opened for three months."""
    with contextlib.suppress(OSError):
        for folder in cache.glob("index-*/*"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                mark = folder / RUN_NAME
                unused = time.time() - mark.stat().st_mtime > _UNUSED
                run_dir = Path(json.loads(mark.read_text(encoding="utf-8")))
                # A parent that is gone may be a disk that is not mounted: such an index waits.
                gone = run_dir.parent.is_dir() and not run_dir.exists()
                if unused or gone:
                    shutil.rmtree(folder, ignore_errors=True)
