"""Safe reading of files and zip archives: regular files only, sizes checked before anything is allocated."""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO

from tensortap.core.text import bytes_text
from tensortap.storage.links import links_are_followed
from tensortap.storage.zip_archive import check_member_count, claimed_directory

from .errors import RefusedError

MAX_FILES = 1_000_000  # of a folder, its sub-folders included
MAX_FOLDERS = 32  # levels
_LOOKED_AT = 20_000
MAX_MEMBERS = 1_000_000
MAX_UNPACKED = 64 << 30  # bytes of all members
MAX_RATIO = 1_100  # the limit of deflate is 1,032 to 1
ZIP_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError, EOFError,
    ValueError, struct.error, OverflowError, IndexError, KeyError,
)  # fmt: skip
ZIP_MAGIC = b"PK"
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip member: lengths of its name and extra field
USUAL_RATIO = 32  # unpacked to stored bytes; of arrays that shrink more, `max_unpacked` counts the rest
MAX_UNPACKED_ARRAYS = 256 << 20  # bytes
imported_folder: ContextVar[Path | None] = ContextVar("imported_folder", default=None)
"""The imported folder; files outside it are not opened."""
FOLLOW_HINT = "Add --follow-links if you trust it."
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_file(path: Path) -> BinaryIO:
    """A regular file to read; a FIFO or device is refused before anything waits for it.

    Raises:
        RefusedError: it is not a regular file, or its path has a link out of the imported folder.
        OSError: it cannot be opened.
    """
    fd = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise RefusedError(f"{path.name} is not a regular file.")
        root = imported_folder.get()
        if root is not None and not _is_within(path, root, os.fstat(fd)):
            raise RefusedError(f"{path.name} is a link that leads out of the folder.", FOLLOW_HINT)
    except BaseException:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def _is_within(path: Path, root: Path, opened: os.stat_result | None = None) -> bool:
    """Whether a path, with links followed, is in a folder, or among the blobs that a model hub stores next to
    it.

    Args:
        opened: the descriptor opened with that path, so that it cannot be exchanged in between.
    """
    if links_are_followed():
        return True
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a link in a circle
        return False
    hub = (root.parent / "blobs", root.parent.parent / "blobs")
    if not any(real.is_relative_to(folder) for folder in (root, *hub)):
        return False
    return opened is None or os.path.samestat(opened, real.lstat())


def links_leading_out(folder: Path) -> Iterator[Path]:
    """The links below a folder, among its first 20,000 files and folders, that are skipped: they lead out."""
    root = folder.resolve()
    for number, path in enumerate(folder.rglob("*")):
        if number >= _LOOKED_AT:
            return
        if path.is_symlink() and path.exists() and not _is_within(path, root):
            yield path


def begins_with(path: Path, magic: bytes) -> bool:
    """Whether it is a regular file with these first bytes; False, too, where it cannot be read."""
    try:
        with open_file(path) as file:
            return file.read(len(magic)) == magic
    except (OSError, RefusedError):
        return False


def file_size(file: BinaryIO) -> int:
    """Bytes of an open file."""
    return os.fstat(file.fileno()).st_size


max_unpacked: ContextVar[int] = ContextVar("max_unpacked", default=MAX_UNPACKED_ARRAYS)
"""Bytes that the arrays of one file may expand to, beyond 32 times their stored size."""


class UnpackBudget:
    """Limits the size of a file's decompressed arrays, before memory is allocated for them."""

    def __init__(self) -> None:
        self._left = max_unpacked.get()

    def take(self, unpacked: int, stored: int, what: str = "It") -> None:
        """Raises RefusedError: with an array of this size, the arrays would take more than `max_unpacked`."""
        beyond = max(0, unpacked - USUAL_RATIO * stored)
        if beyond > self._left:
            raise refused_unpacking(unpacked, stored, what)
        self._left -= beyond


def refused_unpacking(unpacked: int, stored: int, what: str = "It") -> RefusedError:
    """The error of an `UnpackBudget` that an array does not fit into."""
    enough = max_unpacked.get() + max(0, unpacked - USUAL_RATIO * stored)
    return RefusedError(
        f"{what} would expand from {bytes_text(stored)} to {bytes_text(unpacked)}, above the limit.",
        f"Raise the limit if you trust the file: tensortap import --max-unpacked {-(-enough // 2**30)}G.",
    )


class ByteBudget:
    """Bytes of a file that its arrays take together: in no format two share some.

    A few words that name the same bytes repeatedly would fill the disk otherwise.
    """

    def __init__(self, length: int) -> None:
        self._left = length

    def take(self, length: int) -> None:
        """Raises RefusedError: the arrays would take more than the file has."""
        if length > self._left:
            raise RefusedError("Tensors overlap: together they have more bytes than the file.")
        self._left -= length


def read_whole(path: Path, limit: int) -> bytes:
    """All bytes of a file.

    Raises:
        RefusedError: it has more than `limit`.
    """
    with open_file(path) as file:
        size = file_size(file)
        if size > limit:
            raise RefusedError(f"{path.name} is {size:,} bytes; the limit is {limit:,}.")
        return file.read(size)


def read_range(file: BinaryIO, offset: int, length: int, what: str) -> bytes:
    """`length` bytes at `offset`.

    Raises:
        RefusedError: the file does not have them; the sentence calls them `what`.
    """
    size = file_size(file)
    if offset < 0 or length < 0 or offset + length > size:
        raise RefusedError(f"{what} should be at {offset:,}+{length:,}; the file is {size:,} bytes.")
    file.seek(offset)
    data = file.read(length)
    if len(data) != length:
        raise RefusedError(f"{what} could not be read completely: the file is changing.")
    return data


def parse_json(data: bytes, what: str) -> dict[str, Any]:
    """A JSON object. Raises RefusedError: it is not one, or has a key twice; `what` names it in the
    message."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise RefusedError(f"{what} is damaged: it has {twice[:200]!r} twice.")
        return record

    try:
        found = json.loads(data, object_pairs_hook=distinct)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"{what} is damaged: its JSON cannot be read.") from error
    if not isinstance(found, dict):
        raise RefusedError(f"{what} is damaged: its JSON is not an object.")
    return found


def files_beside(index: Path, names: Iterable[str], suffix: str) -> list[Path]:
    """The files that an index names, next to it. Names with folders in them could lead anywhere.

    Raises:
        RefusedError: one has another suffix or is in a folder, or is not there.
    """
    ordered = sorted(names)
    for name in ordered:
        if Path(name).name != name or "\\" in name or not name.endswith(suffix):
            raise RefusedError(f"{index.name} names {name[:100]!r}, which is not a shard in the same folder.")
        if not (index.parent / name).is_file():
            raise RefusedError(f"{index.name} names {name[:100]!r}, which does not exist.")
    return [index.parent / name for name in ordered]


def files_below(folder: Path) -> Iterator[Path]:
    """Files in a folder, sorted by name, without hidden names and linked folders.

    Links to files are followed within the folder and to the blobs beside it, of which caches of model hubs
    consist; with `--follow-links` also elsewhere, but those of other users to a third's file: through them,
    an import would publish files that only its user may read.

    Raises:
        RefusedError: there are more than a million.
    """
    for number, path in enumerate(_walk(folder, MAX_FOLDERS, folder.resolve())):
        if number >= MAX_FILES:
            raise RefusedError(f"{folder} has more than {MAX_FILES:,} files.")
        yield path


def any_below(folder: Path, wanted: Callable[[Path], bool]) -> bool:
    """Whether one of the first 20,000 files below a folder is wanted: detecting must not take long."""
    return any(wanted(path) for path in islice(_walk(folder, MAX_FOLDERS, folder.resolve()), _LOOKED_AT))


def _may_follow(entry: os.DirEntry[str], root: Path) -> bool:
    """Whether a link leads to where it may: by the rule of Linux' `protected_symlinks`, too, on every system.

    Raises OSError: it leads nowhere.
    """
    if not entry.is_symlink():
        return True
    if not _is_within(Path(entry.path), root):
        return False
    if not hasattr(os, "geteuid"):
        return True
    return entry.stat(follow_symlinks=False).st_uid in (os.geteuid(), 0, entry.stat().st_uid)


def _walk(folder: Path, depth: int, root: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith("."):
            continue
        try:
            is_file = entry.is_file() and _may_follow(entry, root)
        except OSError:  # a circular link, or an unreadable target
            continue
        if is_file:
            yield Path(entry.path)
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth - 1, root)


@contextlib.contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive with stored or deflated members, not encrypted.

    Raises:
        RefusedError: it is damaged or beyond a limit.
    """
    with open_file(path) as file:
        try:
            count, _ = claimed_directory(file, file_size(file))
            archive = zipfile.ZipFile(file)
            check_member_count(archive, count)
        except (*ZIP_ERRORS, OSError) as error:
            raise RefusedError(f"{path.name} is not a zip archive, or is damaged: {error}") from error
        with archive:
            _check(archive, path.name)
            yield archive


def _check(archive: zipfile.ZipFile, what: str) -> None:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_UNPACKED:
        raise RefusedError(f"{what} would expand to more than 64 GiB or {MAX_MEMBERS:,} files.")
    for member in members:
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RefusedError(
                f"{what}: {member.filename[:100]!r} is encrypted, or neither stored nor deflated."
            )
        if member.header_offset < 0:
            raise RefusedError(f"{what}: {member.filename[:100]!r} starts before the archive.")
        if member.file_size > MAX_RATIO * member.compress_size + 1024:
            raise RefusedError(
                f"{what}: {member.filename[:100]!r} claims that {member.compress_size:,} bytes "
                f"expand to {member.file_size:,}, which is not valid."
            )
    _check_no_overlap(archive, what)


def _check_no_overlap(archive: zipfile.ZipFile, what: str) -> None:
    """Raises RefusedError: two members share bytes of the archive, as in a zip bomb."""
    file, before = archive.fp, None
    assert file is not None
    for member in sorted(archive.infolist(), key=lambda member: member.header_offset):
        if before is not None and _end(file, before, what) > member.header_offset:
            raise RefusedError(
                f"{what}: its members {before.filename[:100]!r} and {member.filename[:100]!r} overlap."
            )
        before = member
    if before is not None and _end(file, before, what) > archive.start_dir:
        raise RefusedError(f"{what}: {before.filename[:100]!r} overlaps the central directory.")


def _end(file: IO[bytes], member: zipfile.ZipInfo, what: str) -> int:
    """Where the bytes of a member end, by its own header."""
    file.seek(member.header_offset)
    head = file.read(_LOCAL_HEADER.size)
    if len(head) < _LOCAL_HEADER.size or not head.startswith(b"PK\3\4"):
        raise RefusedError(
            f"{what}: {member.filename[:100]!r} is not at the offset in the central directory."
        )
    name, extra = _LOCAL_HEADER.unpack(head)
    return member.header_offset + _LOCAL_HEADER.size + int(name) + int(extra) + member.compress_size
