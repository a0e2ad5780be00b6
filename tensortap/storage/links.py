"""Symbolic links in a log directory: only followed with `--follow-links`.

A folder that the user named (`trust`) may be a link, or be reached through one. Below it every folder on the
way to a file is opened without following links, so that none can be put in its place between a look and the
read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

FOLLOW_LINKS = "TENSORTAP_FOLLOW_LINKS"  # an environment variable, so that worker processes have it, too
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_BY_FOLDER = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
_MAX_TRUSTED_FOLDERS = 10_000  # trusted folders

_trusted: dict[str, None] = {}


def follow_links() -> None:
    """From here on, links are followed, in this process and those that it starts."""
    os.environ[FOLLOW_LINKS] = "1"


def links_are_followed() -> bool:
    """Whether links are followed."""
    return os.environ.get(FOLLOW_LINKS, "") not in ("", "0")


def trust(folder: Path, *, unless_within: bool = False) -> None:
    """Takes a folder as one that the user named: links below it are not followed, those above it are.

    Args:
        unless_within: a folder below one that is trusted already is not.
    """
    path = str(folder.absolute())
    if path in _trusted or (unless_within and _root_of(path) is not None):
        return
    if len(_trusted) >= _MAX_TRUSTED_FOLDERS:
        del _trusted[next(iter(_trusted))]
    _trusted[path] = None


@contextlib.contextmanager
def opened_parent(path: Path) -> Iterator[tuple[int | None, str]]:
    """(descriptor of the folder of a path, its name there); (None, path) if links are followed or the user
    named no folder above it.

    Raises:
        OSError: a folder on the way is not there; NotADirectoryError: it is a link or a file.
    """
    place = str(path.absolute())
    root = None if links_are_followed() or not _BY_FOLDER or ".." in path.parts else _root_of(place)
    if root is None or root == place:
        yield None, str(path)
        return
    names = Path(place[len(root) :].strip(os.sep)).parts
    folder = os.open(root, _FOLDER & ~_NOFOLLOW)
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, names[-1]
    finally:
        os.close(folder)


def _root_of(place: str) -> str | None:
    """The innermost trusted folder around an absolute path, or the path itself."""
    while place not in _trusted:
        above, _, name = place.rpartition(os.sep)
        if not name:
            return None
        place = above or os.sep
    return place
