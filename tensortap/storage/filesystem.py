"""Files and folders of dumps by their path: on the disk, at an address (`uri.py`), in an archive."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from tensortap.core.errors import DamagedError, DeniedError, RemoteReadError

from .entry import Entry
from .fsspec_folder import RemoteFolder
from .single_files import open_plain, scan_plain, stat_plain
from .uri import remote_of
from .zip_archive import archive_of


def stat_path(path: Path) -> Entry:
    """The entry at a path; the last link is not followed.

    Raises:
        OSError: nothing is there, or it cannot be seen.
    """
    try:
        return stat_plain(path)
    except NotADirectoryError:
        found = _within(path)
        if found is None:
            raise
        return found


def scan(folder: Path) -> list[Entry]:
    """The entries of a folder, in any order; entries that vanish meanwhile are skipped.

    Raises:
        OSError: it is not a folder, or is unreadable.
    """
    try:
        return scan_plain(folder)
    except NotADirectoryError:
        names = _names(folder)
        if names is None:
            raise
        inside = [_within(folder / name) for name in names]
        return [entry for entry in inside if entry is not None]


def prefetch(folders: Iterable[Path], files: Iterable[Path] = ()) -> None:
    """Requests folders and small files at an address all at once, for those who need them next: each request
    alone waits for an answer. Does nothing for other paths; errors are left to those who need them."""
    asked: dict[RemoteFolder, tuple[list[str], list[str]]] = {}
    for place, paths in enumerate((folders, files)):
        for path in paths:
            found = remote_of(path)
            if found is not None:
                asked.setdefault(found[0], ([], []))[place].append(found[1])
    for remote, names in asked.items():
        if sum(map(len, names)) > 1:
            remote.prefetch(*names)


def directory_size(path: Path) -> int:
    """Bytes of the regular files below `path`; links are not followed."""
    try:
        found = scan(path)
    except OSError:  # it is just being removed
        return 0
    sizes = (
        stat_path(path / entry.name).size if entry.size < 0 else entry.size
        for entry in found
        if entry.is_file
    )
    files = sum(sizes)
    return files + sum(directory_size(path / entry.name) for entry in found if entry.is_folder)


def exists(path: Path) -> bool:
    """Whether there is a file or folder."""
    try:
        stat_path(path)
    except OSError:
        return False
    return True


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, or an archive that can be read as one, or a folder in one; links count."""
    try:
        if stat_plain(path, follow=True).is_folder:
            return True
    except OSError:
        pass
    try:
        return _names(path) is not None
    except OSError:
        return False


def open_file(path: Path) -> tuple[BinaryIO, int, int]:
    """Opens a file for reading: the file, without a buffer; its first byte in it; its size.

    Raises:
        FileNotFoundError: there is none. DamagedError: it is a link, a folder or a device; DeniedError: it
            may not be read. RemoteReadError: its address fails.
    """
    try:
        file, size = open_plain(path)
    except (FileNotFoundError, RemoteReadError):
        raise
    except NotADirectoryError as error:
        return _open_within(path, error)
    except PermissionError as error:
        raise DeniedError(path.name) from error
    except OSError as error:
        hint = "Links are not followed." if error.errno == errno.ELOOP else ""
        raise DamagedError(f"{path.name} cannot be read: {error.strerror}.", hint) from error
    return file, 0, size


def _within(path: Path) -> Entry | None:
    """The entry at a path in an archive; None for other paths.

    Raises:
        FileNotFoundError: it is not in the archive. DamagedError: the archive cannot be used.
    """
    found = archive_of(path)
    if found is None:
        return None
    archive, name = found
    status = stat_plain(archive.path, follow=True)
    member = archive.files.get(name)
    if member is None and name not in archive.folders:
        raise FileNotFoundError(2, "not in the archive", str(path))
    size = 0 if member is None else member.size
    return Entry(path.name, member is not None, member is None, size, status.mtime_ns, status.inode)


def _names(folder: Path) -> set[str] | None:
    found = archive_of(folder)
    if found is None:
        return None
    archive, name = found
    return archive.folders.get(name)


def _open_within(path: Path, error: NotADirectoryError) -> tuple[BinaryIO, int, int]:
    found = archive_of(path)
    if found is None:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror}.") from error
    archive, name = found
    member = archive.files.get(name)
    if member is None:
        raise FileNotFoundError(2, "not in the archive", str(path))
    file, size = open_plain(archive.path, follow=True)  # it was named, not found: it may be a link
    try:
        return file, archive.start(file, member, size), member.size
    except BaseException:
        file.close()
        raise
