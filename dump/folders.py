"""Files and folders of dumps by their path, on the disk or in an archive (`archive.py`)."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from .archive import archive_of
from .errors import DamagedError

# O_NONBLOCK: opening a FIFO somebody put into a dump must not wait for its writer.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder; links and devices are neither. What is in an archive is as old as the archive."""

    name: str
    is_file: bool
    is_folder: bool
    size: int
    mtime_ns: int
    inode: int


def look(path: Path) -> Entry:
    """What is at a path; the last link is not followed.

    Raises:
        OSError: nothing is there, or it cannot be seen.
    """
    try:
        return _entry(path.name, path.lstat())
    except NotADirectoryError:
        found = _within(path)
        if found is None:
            raise
        return found


def scan(folder: Path) -> list[Entry]:
    """What is in a folder, in any order; what vanishes meanwhile is left out.

    Raises:
        OSError: it is no folder, or cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            found = []
            for entry in entries:
                try:
                    found.append(_entry(entry.name, entry.stat(follow_symlinks=False)))
                except FileNotFoundError:
                    continue
            return found
    except NotADirectoryError:
        names = _names(folder)
        if names is None:
            raise
        inside = [_within(folder / name) for name in names]
        return [entry for entry in inside if entry is not None]


def exists(path: Path) -> bool:
    """Whether there is a file or folder."""
    try:
        look(path)
    except OSError:
        return False
    return True


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, or an archive that can be read as one, or a folder in one; links count."""
    if path.is_dir():
        return True
    try:
        return _names(path) is not None
    except OSError:
        return False


def open_file(path: Path) -> tuple[int, int, int]:
    """Opens a file for reading: descriptor, first byte, size.

    Raises:
        FileNotFoundError: there is none. DamagedError: it is a link, a folder or a device.
    """
    try:
        fd = os.open(path, _READ)
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:
        return _open_within(path, error)
    except OSError as error:
        raise DamagedError(
            f"{path.name} cannot be read: {error.strerror}.", "Links are not followed."
        ) from error
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise DamagedError(f"{path.name} is not a regular file.")
    return fd, 0, status.st_size


def _entry(name: str, status: os.stat_result) -> Entry:
    mode = status.st_mode
    return Entry(
        name, stat.S_ISREG(mode), stat.S_ISDIR(mode), status.st_size, status.st_mtime_ns, status.st_ino
    )


def _within(path: Path) -> Entry | None:
    """What is at a path that leads into an archive; None if the path leads into none.

    Raises:
        FileNotFoundError: it is not in the archive. DamagedError: the archive cannot be used.
    """
    found = archive_of(path)
    if found is None:
        return None
    archive, name = found
    status = archive.path.stat()
    member = archive.files.get(name)
    if member is None and name not in archive.folders:
        raise FileNotFoundError(2, "not in the archive", str(path))
    size = 0 if member is None else member.size
    return Entry(path.name, member is not None, member is None, size, status.st_mtime_ns, status.st_ino)


def _names(folder: Path) -> set[str] | None:
    found = archive_of(folder)
    if found is None:
        return None
    archive, name = found
    return archive.folders.get(name)


def _open_within(path: Path, error: NotADirectoryError) -> tuple[int, int, int]:
    found = archive_of(path)
    if found is None:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror}.") from error
    archive, name = found
    member = archive.files.get(name)
    if member is None:
        raise FileNotFoundError(2, "not in the archive", str(path))
    fd = os.open(archive.path, _READ)
    try:
        return fd, archive.start(fd, member, os.fstat(fd).st_size), member.size
    except BaseException:
        os.close(fd)
        raise
