"""Temporary folders of a process, removed when it ends; those of killed processes are removed by the next
one."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tensortap.core.names import is_worker_name, new_worker_name

from .locks import is_gone, is_locked, lock_file
from .user_dirs import is_own_folder

_TEMPORARY = "tensortap"
_CAREFUL = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_own: set[str] = set()  # names of those that this process has


@contextlib.contextmanager
def scratch_folder(parent: Path, purpose: str, *, mode: int = 0o777) -> Iterator[Path]:
    """A folder `.<purpose>-<host>-<pid>-<8 hex digits>`, removed at the end with its content.

    Those that processes of this host left when they were killed are removed, too. A fork removes nothing.
    `mode` is that of the folder, less the umask.

    Raises OSError.
    """
    remove_stale_folders(parent, purpose)
    name, process = new_worker_name(), os.getpid()
    folder = parent / f".{purpose}-{name}"
    _own.add(name)
    try:
        folder.mkdir(mode)
        with _locked(folder):
            yield folder
    finally:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)
        _own.discard(name)


def temp_folder() -> AbstractContextManager[Path]:
    """A `scratch_folder` in the system's temporary folder, which only this user can read. Raises OSError."""
    return scratch_folder(Path(tempfile.gettempdir()), _TEMPORARY, mode=0o700)


def temp_folder_until_exit() -> Path:
    """A `temp_folder` that goes when this process does. Raises OSError."""
    held = contextlib.ExitStack()
    folder = held.enter_context(temp_folder())
    atexit.register(held.close)
    return folder


def remove_stale_temp_folders() -> None:
    """Removes the temporary folders of killed processes. Raises OSError."""
    remove_stale_folders(Path(tempfile.gettempdir()), _TEMPORARY)


def remove_stale_folders(parent: Path, purpose: str) -> None:
    """Removes the `scratch_folder`s of ended processes of this user and host."""
    here = new_worker_name().rsplit("-", 2)[0]
    for folder in parent.glob(f".{purpose}-*"):
        name = folder.name.removeprefix(f".{purpose}-")
        # Opens nothing else: a shared folder may contain a FIFO, which would block.
        if is_worker_name(name) and name not in _own and is_own_folder(folder):
            host, pid, _ = name.rsplit("-", 2)
            if host == here and _is_left(folder, int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path, pid: int) -> bool:
    if pid == os.getpid():  # of one that had this number before: in a container, a server is always number 1
        return _is_locked(folder) is False
    return is_gone(socket.gethostname(), pid) and not _is_locked(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks the folder for processes that cannot see this one, in containers with the same host name."""
    with _opened(folder) as fd:
        if fd is not None:
            lock_file(fd)
        yield


def _is_locked(folder: Path) -> bool | None:
    """Whether a process has locked it, or it cannot be opened; None if its disk has no locks."""
    with _opened(folder) as fd:
        return True if fd is None else is_locked(fd)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """A file descriptor of a folder; None if it cannot be opened (on Windows always)."""
    try:
        fd = os.open(folder, os.O_RDONLY | _CAREFUL)
    except OSError:
        fd = None
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)
