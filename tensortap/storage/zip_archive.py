"""Runs in one file: a zip with uncompressed members, read in place by ranges (FORMAT.md).

The path of a member is that of the archive with the member's name behind it: `mail/run.tap.zip/run/run.json`.
"""

from __future__ import annotations

import stat
import struct
import threading
import zipfile
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, BinaryIO, cast

from tensortap.core.errors import DamagedError

from .entry import Entry
from .single_files import open_plain, stat_plain

MAX_MEMBERS = 200_000
MAX_DIRECTORY = 64 << 20  # bytes of the list of members
_MAX_NAME = 1024
_MAX_DEPTH = 16  # folders
_LOCAL = struct.Struct("<4s22sHH")  # a member's own header: magic, …, lengths of name and extra field
_END = 22 + 65_535 + 20 + 56  # bytes at the end that hold where the list of members is
_READ_BYTES = 64 << 10  # bytes of the archive read at once where its list is read
_HINT = "Create it with 'tensortap export RUN --out run.tap.zip', or unpack it."


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: `size` bytes, after its own header at `header`."""

    header: int
    size: int


class Archive:
    """The members of a zip file, checked: none is compressed, leaves its folder or overlaps.

    Attributes:
        files: name -> member. folders: name (empty for the archive itself) -> names of its content.

    Raises:
        DamagedError: it is not a zip, exceeds a limit, or has members that cannot be read in place.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starts: dict[int, int] = {}  # of members that were opened before
        self._ends: dict[int, int] = {}  # by a member's header: the next one's, where the member ends
        self.files: dict[str, Member] = {}
        self.folders: dict[str, set[str]] = {"": set()}
        try:
            raw, size = open_plain(path, follow=True)
            with raw, BufferedReader(cast(RawIOBase, raw), _READ_BYTES) as file:
                count = _check_directory(file, size)
                with zipfile.ZipFile(file) as archive:
                    check_member_count(archive, count)
                    for info in archive.infolist():
                        self._add(info, size)
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError) as error:
            raise DamagedError(f"{path.name} is not a readable zip file: {error}.", _HINT) from error
        if self.files.keys() & self.folders.keys():
            raise DamagedError(f"{path.name} has a file and a folder of the same name.", _HINT)
        self._check_no_overlap()

    def _check_no_overlap(self) -> None:
        """Raises DamagedError: a member begins before the end of the previous one. A member's own header has
        at least this length; the actual one is read when the member is opened."""
        end, last = 0, ""
        for name, member in sorted(self.files.items(), key=lambda item: item[1].header):
            if member.header < end:
                raise DamagedError(
                    f"The members {last[:80]!r} and {name[:80]!r} of {self.path.name} overlap.", _HINT
                )
            self._ends[self.files[last].header if last else -1] = member.header
            end, last = member.header + _LOCAL.size + len(name.encode()) + member.size, name

    def _add(self, info: zipfile.ZipInfo, size: int) -> None:
        name = info.filename.removesuffix("/")
        parts = name.split("/")
        if len(name) > _MAX_NAME or len(parts) > _MAX_DEPTH or not all(map(_is_plain, parts)):
            raise ValueError(f"the name {name[:80]!r} is not valid")
        for depth, part in enumerate(parts[:-1] if not info.is_dir() else parts):
            folder = "/".join(parts[:depth])
            self.folders.setdefault(folder, set()).add(part)
            self.folders.setdefault("/".join(parts[: depth + 1]), set())
        if info.is_dir():
            return
        if (
            info.compress_type != zipfile.ZIP_STORED
            or info.flag_bits & 1
            or stat.S_ISLNK(info.external_attr >> 16)
        ):
            raise ValueError(f"{name[:80]!r} is compressed, encrypted or a link")
        if info.header_offset < 0:
            raise ValueError(f"{name[:80]!r} starts before the archive")
        if info.file_size != info.compress_size or info.header_offset + _LOCAL.size + info.file_size > size:
            raise ValueError(f"{name[:80]!r} is longer than the archive")
        if name in self.files:
            raise ValueError(f"{name[:80]!r} occurs twice")
        self.files[name] = Member(info.header_offset, info.file_size)
        self.folders["/".join(parts[:-1])].add(parts[-1])

    def start(self, file: BinaryIO, member: Member, size: int) -> int:
        """The position of a member's bytes in the archive, which has `size` bytes.

        Raises:
            DamagedError: the member's own header does not fit.
        """
        known = self._starts.get(member.header)
        if known is not None and known + member.size <= size:
            return known
        file.seek(member.header)
        head = file.read(_LOCAL.size)
        if len(head) == _LOCAL.size:
            magic, _, name, extra = _LOCAL.unpack(head)
            start = member.header + _LOCAL.size + int(name) + int(extra)
            end = min(size, self._ends.get(member.header, size))
            if magic == b"PK\x03\x04" and start + member.size <= end:
                self._starts[member.header] = start
                return start
        raise DamagedError(f"{self.path.name} was truncated or changed.", "Copy it again.")


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and not any(c in part for c in "\\:\0")


def _check_directory(file: BinaryIO, size: int) -> int:
    """Limits what `zipfile` will read and store, based on the sizes that the end of the file claims; returns
    the number of members."""
    count, length = claimed_directory(file, size)
    if count > MAX_MEMBERS or length > MAX_DIRECTORY:
        raise ValueError(f"it claims {count} members")
    return count


def claimed_directory(file: IO[bytes], size: int) -> tuple[int, int]:
    """(members, bytes) of the central directory, as the end of a zip file of `size` bytes claims.

    Raises:
        ValueError: there is no such end.
    """
    file.seek(max(0, size - _END))
    tail = file.read(_END)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + 22 > len(tail):
        raise ValueError("it has no central directory; if it was truncated, copy it again")
    count, length = struct.unpack_from("<HI", tail, at + 10)
    wide = tail.rfind(b"PK\x06\x06", 0, at)
    if wide >= 0 and tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        count, length = struct.unpack_from("<QQ", tail, wide + 32)
    return count, length


def check_member_count(archive: zipfile.ZipFile, claimed: int) -> None:
    """Raises ValueError: the central directory lists more or fewer members than the end of the file claims,
    which `zipfile` does not notice."""
    found = len(archive.infolist())
    if claimed not in (found, found & 0xFFFF):  # large archives of old programs have the lower 16 bits
        raise ValueError(f"its central directory lists {found} members, and claims {claimed}")


_Key = tuple[str, int, int, int]
_OPENED: dict[_Key, Archive | DamagedError] = {}
_LOCK = threading.Lock()
_KEPT = 32  # archives with cached members


def archive_of(path: Path) -> tuple[Archive, str] | None:
    """The archive in a path, and the member's name; None for other paths.

    Raises:
        DamagedError: it is an archive that cannot be used.
    """
    for outer in (path, *path.parents):
        try:
            status = stat_plain(outer, follow=True)
        except NotADirectoryError:
            continue
        except OSError:
            return None
        if not status.is_file or outer.suffix != ".zip":
            return None
        return _opened(outer, status), "" if outer == path else path.relative_to(outer).as_posix()
    return None


def _opened(path: Path, status: Entry) -> Archive:
    key = (str(path), status.inode, status.size, status.mtime_ns)
    with _LOCK:
        found = _OPENED.get(key)
        if found is None:
            try:
                found = Archive(path)
            except DamagedError as error:
                found = error
            while len(_OPENED) >= _KEPT:
                del _OPENED[next(iter(_OPENED))]
            _OPENED[key] = found
    if isinstance(found, DamagedError):
        raise found
    return found
