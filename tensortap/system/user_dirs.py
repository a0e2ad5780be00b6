"""The user's cache and configuration folders, and private files where others may write beside them."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from platformdirs import PlatformDirs, user_config_path

# O_NONBLOCK: opening a FIFO there must not wait for its other end.
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_OTHERS_WRITE = 0o022
VARIABLE = "TENSORTAP_CACHE"
_OFF = ("", "0", "off", "none")
USER_DIRS = PlatformDirs("tensortap", appauthor=False, opinion=False)
"""Where this platform keeps a program's files for a user. RuntimeError: there is no home directory."""


def cache_folder() -> Path | None:
    """The user's folder for saved indices; None if `TENSORTAP_CACHE` switches them off.

    `TENSORTAP_CACHE` names it; else it is `tensortap` in the platform's cache directory.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return None if chosen.strip().lower() in _OFF else Path(chosen).expanduser()
    with contextlib.suppress(RuntimeError):  # there is no home directory
        return USER_DIRS.user_cache_path
    return None


def config_folder() -> Path:
    """`TENSORTAP_CONFIG_DIR`, or `tensortap` in the place where this system keeps users' configuration."""
    chosen = os.environ.get("TENSORTAP_CONFIG_DIR")
    if chosen:
        return Path(chosen)
    return user_config_path("tensortap", appauthor=False, roaming=True)


def make_private_folder(root: Path, folder: Path) -> None:
    """Makes a folder at or below `root`, in which each level below `root` is this user's alone.

    A level that is there, and which a group or everybody may write to, is closed to them: a user who can
    write to the folder can replace the file.

    Raises:
        PermissionError: a level is another user's, or a link. OSError: it cannot be made.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    level = root
    for name in folder.relative_to(root).parts:
        level = level / name
        with contextlib.suppress(FileExistsError):
            level.mkdir(mode=0o700)
        if not is_own_folder(level):
            raise PermissionError(
                errno.EACCES, "one of its folders belongs to another user or is a link", str(level)
            )
        if os.name == "posix" and level.lstat().st_mode & _OTHERS_WRITE:
            with contextlib.suppress(OSError):  # a file system with other modes
                level.chmod(0o700)


def is_own_folder(folder: Path, *, or_of_root: bool = False) -> bool:
    """Whether a folder exists and is this user's own, and no link.

    `or_of_root`: root, who may do everything, counts as well.
    """
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return mine or (or_of_root and status.st_uid == 0)


def open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file; follows no link, and does not wait for a FIFO.

    Raises:
        OSError: it is not a regular file, or cannot be opened with these flags.
    """
    fd = os.open(path, flags | _CAREFUL, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd
