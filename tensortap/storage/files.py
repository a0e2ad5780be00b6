"""Files, carefully: short writes completed, links refused, sizes checked before anything is allocated."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import google_crc32c

from tensortap.core.errors import DamagedError

from .filesystem import open_file
from .fsspec_folder import SMALL

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_READ_BYTES = 4 << 20  # bytes that are checksummed at a time
_CACHED = 256 << 10
MAX_JSON = 4 << 20  # run.json and worker.json; real ones have a few KB
_FIRST, _LAST = "checksum", "crc32c"  # keys of a JSON object with a checksum: no single byte is in both
_BEGIN = re.compile(rb'\s*\{\s*"checksum":')
_END = re.compile(rb'"crc32c": "([0-9a-f]{8})"\s*\}\s*\Z')


def crc32c(data: Any, before: int = 0) -> int:
    """CRC-32C of a buffer, or of the bytes with checksum `before` followed by it."""
    checksum: int = google_crc32c.extend(before, bytes(data) if isinstance(data, memoryview) else data)
    return checksum


def crc32c_of_file(path: Path, length: int) -> int:
    """CRC-32C of the first `length` bytes of a file.

    Raises:
        FileNotFoundError, DamagedError: the file is missing or too short.
    """
    found = 0
    with FileReader(path) as file:
        for at in range(0, length, _READ_BYTES):
            found = crc32c(file.read_exactly(at, min(_READ_BYTES, length - at)), found)
    return found


def create(path: Path) -> int:
    """Opens a file that must not exist yet for writing; returns its descriptor."""
    return os.open(path, _CREATE, 0o666)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder survive a power loss, where the system can."""
    with contextlib.suppress(OSError):  # Windows opens no folders
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def write_all(fd: int, data: Any, offset: int) -> None:
    """Writes a buffer at `offset`, in as many calls as that takes. Raises OSError, maybe half-way."""
    view = memoryview(data).cast("B")
    os.lseek(fd, offset, os.SEEK_SET)
    while view.nbytes:
        view = view[os.write(fd, view) :]


def check_not_removed(fd: int, path: Path) -> None:
    """Raises FileNotFoundError if an open file was removed, so that writes to it would be lost.

    The number of its links tells at the price of a call; on systems without link counts, the name is checked.
    """
    if os.fstat(fd).st_nlink == 0 and not is_same_file(fd, path):
        raise FileNotFoundError(errno.ENOENT, "It was removed while it was being written", str(path))


def is_same_file(fd: int, path: Path) -> bool:
    """Whether an open file is still the one with that name: neither removed nor replaced."""
    with contextlib.suppress(OSError):  # the name was removed, or (NFS) the file
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


def truncate(fd: int, size: int) -> None:
    """Truncates a file after a failed write, if the file system allows it."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, size)


class FileReader:
    """A regular file being read at offsets. A context manager.

    Args:
        ahead: minimum size of a read; later reads use the rest.

    Raises:
        FileNotFoundError: there is none.
        DamagedError: it is a link, a folder or a device.
    """

    def __init__(self, path: Path, ahead: int = 0) -> None:
        self._file, self._start, self.size = open_file(path)
        self.path = path
        is_small = self.size <= SMALL and not isinstance(self._file, io.FileIO)
        self._ahead = max(ahead, self.size) if is_small else ahead
        self._window, self._window_at = b"", 0

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`: fewer where the file ends."""
        length = max(0, min(length, self.size - offset))
        if not 0 < length <= self._ahead:
            return self._read(offset, length)
        if not self._window_at <= offset <= offset + length <= self._window_at + len(self._window):
            self._window = self._read(offset, min(self._ahead, self.size - offset))
            self._window_at = offset
        start = offset - self._window_at
        return self._window[start : start + length]

    def _read(self, offset: int, length: int) -> bytes:
        self._file.seek(self._start + offset)
        parts = []
        while length:
            part = self._file.read(length)
            if not part:  # truncated since it was opened
                break
            parts.append(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def piece(self) -> int:
        """Bytes to read at a time before checksumming: for a disk, the cache size of a core."""
        return _CACHED if isinstance(self._file, io.FileIO) else _READ_BYTES

    def read_into(self, offset: int, target: memoryview) -> None:
        """Fills `target` with the bytes from `offset` on.

        Raises:
            DamagedError: as `read_exactly`.
        """
        self.check_there(offset, target.nbytes)
        self._file.seek(self._start + offset)
        while target.nbytes:
            count = self._file.readinto(target)  # type: ignore[attr-defined]
            if not count:
                raise DamagedError(f"{self.path.name} was truncated while it was read.")
            target = target[count:]

    def check_there(self, offset: int, length: int) -> None:
        """Raises DamagedError where the file is too short for `length` bytes from `offset`."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise DamagedError(
                f"{self.path.name} ends at byte {self.size}, before byte {offset + length}.",
                "It was truncated or copied too early: copy it again.",
            )

    def read_exactly(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`.

        Raises:
            DamagedError: the file is too short; nothing was allocated.
        """
        self.check_there(offset, length)
        data = self.read(offset, length)
        if len(data) != length:
            raise DamagedError(f"{self.path.name} was truncated while it was read.")
        return data


def read_json(path: Path, limit: int = MAX_JSON) -> dict[str, Any]:
    """The JSON object in a small file.

    Raises:
        FileNotFoundError: there is none.
        DamagedError: it holds something else, or does not match its checksum.
    """
    with FileReader(path) as file:
        if file.size > limit:
            raise DamagedError(f"{path.name} is {file.size} bytes; the limit is {limit}.")
        if file.size == 0:
            raise DamagedError(f"{path.name} is empty.")
        data = file.read(0, file.size)
    return parse_json(data, path.name)


def json_bytes(record: dict[str, Any], indent: int | None = None) -> bytes:
    """A JSON object with the checksum of its text (FORMAT.md, "Checksums of JSON files")."""
    whole = {_FIRST: "crc32c", **record, _LAST: "0" * 8}
    text = json.dumps(whole, indent=indent, ensure_ascii=False, default=str) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    at = data.rindex(b"0" * 8)
    return data[:at] + b"%08x" % crc32c(data) + data[at + 8 :]


def parse_json(data: bytes, name: str) -> dict[str, Any]:
    """The inverse of `json_bytes`. An object without a checksum is accepted: format 1.0 has none.

    Args:
        name: what errors call it.

    Raises:
        DamagedError: it does not match its checksum, or has one in another place, or is not a JSON object.
    """
    end = _END.search(data)
    if end is not None or _BEGIN.match(data) is not None:
        plain = data if end is None else data[: end.start(1)] + b"0" * 8 + data[end.end(1) :]
        if end is None or b"%08x" % crc32c(plain) != end[1]:
            raise DamagedError(f"{name} does not match its checksum.", "It was changed: copy it again.")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{name} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise DamagedError(f"{name} is not a JSON object.")
    if end is None and (_FIRST in found or _LAST in found):
        raise DamagedError(f"{name} has a checksum in the wrong place.", "It was changed: copy it again.")
    if end is not None:
        del found[_LAST]
        found.pop(_FIRST, None)
    return found


def publish(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Writes a whole file under a temporary name and renames it, so that readers never see half of it.

    With `replace=False` an existing file stays.
    """
    with published(path, replace=replace) as temporary:
        fd = create(temporary)
        try:
            write_all(fd, data, 0)
        finally:
            os.close(fd)


@contextlib.contextmanager
def published(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """A temporary name, for a file that gets the name `path` at the end of the body; see `publish`."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        yield temporary
        if replace:
            temporary.replace(path)
        else:
            _keep_first(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _keep_first(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)  # fails if another process was first; a rename would replace its file
    except FileExistsError:
        return
    except OSError:  # no hard links on this file system
        if not path.exists():
            temporary.replace(path)


def publish_json(path: Path, record: dict[str, Any], *, replace: bool = True) -> None:
    """`publish` for a JSON object, with a checksum."""
    publish(path, json_bytes(record, indent=1), replace=replace)
