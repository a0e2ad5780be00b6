"""`Entry`: the metadata of a file or folder, on any storage."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder, but no link or device. Members of an archive have the archive's time.

    `size` is -1 where a list of a remote folder does not report it; `look` does. A remote file has no inode:
    the number represents its ETag. A remote folder is as old as what was found in it is known. `is_dated`:
    the time is that of a change; else that at which the file was first seen, and none since. `changed_ns`: of
    a file on this disk, when the system last noted a change, which no program can put back.
    """

    name: str
    is_file: bool
    is_folder: bool
    size: int
    mtime_ns: int
    inode: int
    is_dated: bool = True
    changed_ns: int = 0


def entry_of(name: str, status: os.stat_result) -> Entry:
    """The entry of a path, from the system's metadata."""
    mode = status.st_mode
    return Entry(
        name,
        stat.S_ISREG(mode),
        stat.S_ISDIR(mode),
        status.st_size,
        status.st_mtime_ns,
        status.st_ino,
        changed_ns=status.st_ctime_ns,
    )
