"""Stat, list and open one path on this disk or at an address; an archive is a file here, not a folder."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from tensortap.core.errors import DamagedError

from .entry import Entry, entry_of
from .links import links_are_followed, opened_parent
from .uri import remote_of

# O_NONBLOCK: opening a FIFO in a dump must not wait for its writer.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def stat_plain(path: Path, *, follow: bool = False) -> Entry:
    """The entry at a path. Raises OSError; NotADirectoryError where the path leads through a file."""
    found = remote_of(path)
    if found is not None:
        return found[0].stat(found[1])
    if follow or links_are_followed():
        return entry_of(path.name, path.stat())
    with opened_parent(path) as (folder, name):
        return entry_of(path.name, os.stat(name, dir_fd=folder, follow_symlinks=False))


def scan_plain(folder: Path) -> list[Entry]:
    """The entries of a folder, in any order; entries that vanish meanwhile are skipped. Raises OSError."""
    remote = remote_of(folder)
    if remote is not None:
        return remote[0].scan(remote[1])
    follow = links_are_followed()
    with _entries(folder) as entries:
        found = []
        for entry in entries:
            try:
                found.append(entry_of(entry.name, entry.stat(follow_symlinks=follow)))
            except FileNotFoundError:
                continue
            except OSError:
                if not follow:
                    raise
                continue  # a circular link, or an unreadable target
        return found


@contextlib.contextmanager
def _entries(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """The entries of a folder on this disk; no link on the way to it is followed."""
    with opened_parent(folder) as (parent, name):
        if parent is None:
            with os.scandir(folder) as entries:
                yield entries
            return
        fd = os.open(name, _LIST, dir_fd=parent)
    try:
        with os.scandir(fd) as entries:
            yield entries
    finally:
        os.close(fd)


def open_plain(path: Path, *, follow: bool = False) -> tuple[BinaryIO, int]:
    """A file to be read at offsets, without a buffer, and its size.

    Raises:
        OSError: it cannot be opened. DamagedError: it is not a regular file.
    """
    found = remote_of(path)
    if found is not None:
        file, size = found[0].open(found[1])
        return cast(BinaryIO, file), size
    if follow or links_are_followed():
        fd = os.open(path, _READ & ~getattr(os, "O_NOFOLLOW", 0))
    else:
        with opened_parent(path) as (folder, name):
            fd = os.open(name, _READ, dir_fd=folder)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise DamagedError(f"{path.name} is not a regular file.")
    return os.fdopen(fd, "rb", buffering=0), status.st_size
