"""Folders that a process uses, so that no other removes them: a lock that ends with the process."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tensortap.system.user_dirs import open_regular

LOCK = ".in-use"  # contains the host's name, because only that host knows whether the lock is held
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)  # errors of a read-only folder
_OTHER_HOST_SECONDS = 7 * 86_400.0  # s without use, after which what another host uses counts as given up
_BEING_MADE = 3_600.0  # s in which a folder gets its lock at the latest


class FolderLease:
    """Marks a folder as in use until `end`, or until the process ends.

    In a read-only folder, only the lock counts; the time of the use is not noted.

    Raises:
        OSError: the folder is missing, or being removed; or its lock is a link or FIFO.
    """

    def __init__(self, folder: Path) -> None:
        self._writes = True
        try:
            self._fd = open_regular(folder / LOCK, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
            self._writes = False
            there = (folder / LOCK).exists()
            self._fd = open_regular(folder / LOCK, os.O_RDONLY) if there else os.open(folder, os.O_RDONLY)
        try:
            _lock(self._fd, shared=True)
            self._sign()
        except BaseException:
            os.close(self._fd)
            raise

    def end(self) -> None:
        """Releases the folder."""
        with contextlib.suppress(OSError):
            self._sign()
        os.close(self._fd)

    def _sign(self) -> None:
        """Writes the host, and with it the time of the last use."""
        if not self._writes:
            return
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.ftruncate(self._fd, os.write(self._fd, socket.gethostname().encode()))


def remove_unused(folder: Path, unused: float = 0.0) -> bool:
    """Removes a folder that no process uses, and none has used for `unused` seconds; returns whether it
    did."""
    doomed = folder.with_name(f"{folder.name}.gone")
    with contextlib.suppress(OSError):
        if _idle(folder) >= unused:
            with _claimed(folder):
                folder.rename(doomed)  # first, so that no reader finds half of it
            shutil.rmtree(doomed, ignore_errors=True)
            return True
    return False


def _idle(folder: Path) -> float:
    """Seconds since it was last taken into use, or, without a lock, changed."""
    with contextlib.suppress(FileNotFoundError):
        return time.time() - (folder / LOCK).stat().st_mtime
    return time.time() - folder.stat().st_mtime


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Keeps others from using it. Raises OSError: a process uses it, or may use it."""
    try:
        fd = open_regular(folder / LOCK, os.O_RDWR)
    except FileNotFoundError:
        if _idle(folder) <= _BEING_MADE:
            raise
        yield
        return
    try:
        if os.read(fd, 300).decode("utf-8", "replace") == socket.gethostname():
            _lock(fd, shared=False)
        elif _idle(folder) <= _OTHER_HOST_SECONDS:
            raise BlockingIOError(f"{folder} belongs to another host.")
        if sys.platform == "win32":  # where renaming a folder with an open file fails and so shows its use
            os.close(fd)
            fd = -1
        yield
    finally:
        if fd >= 0:
            os.close(fd)


if sys.platform == "win32":

    def _lock(fd: int, *, shared: bool) -> None:
        """Does nothing: the open file itself marks the folder as in use."""
else:
    import fcntl

    def _lock(fd: int, *, shared: bool) -> None:
        """Raises BlockingIOError: another process has it; OSError: locks are unavailable here."""
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks
            if not shared:
                raise
