"""Remote folders through fsspec: listed by names and sizes, read by ranges.

Listings are cached for a second, so that a round of polling requests each folder once. Small files of buckets
are cached until a listing shows that they changed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import RawIOBase
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from tensortap.core.errors import DamagedError, RemoteReadError, UnexpectedResponseError

from .entry import Entry

LISTING_TTL = 1.0  # s for which a list of names and sizes is used again
MAX_ENTRIES = 200_000  # of one folder
_MAX_KNOWN = 4096  # folders and files with cached metadata
_TIMES = ("mtime", "LastModified", "last_modified", "modified", "created", "updated", "Last-Modified")
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5", "Content-MD5", "CRC")
_BUCKETS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "r2"}  # without folders
# Folders that are not listed on a web server: it would send the whole file.
_FILES = (
    ".zip",
    ".npy",
    ".npz",
    ".safetensors",
    ".json",
    ".h5",
    ".hdf5",
    ".keras",
    ".pb",
    ".index",
    ".tapbundle",
)
_NO_RANGES = "the web server does not support range requests; copy the run to a local disk, or use nginx"
SMALL = 256 << 10  # bytes of a file that is read as a whole: each read waits for an answer
_SMALL_FILES = 32 << 20  # bytes of all of them that are cached
_AT_ONCE = 16  # requests at the same time
_SETTLED = 3.0  # s after which a file that changes has another time, which stores report in seconds
_AWS_ERROR = re.compile(
    r"AWS Error (?:UNKNOWN .*ExceptionName: ([A-Za-z]{3,40})|([A-Z_]{3,40}))\b", re.DOTALL
)
_CAUSES = {
    "ACCESS_DENIED": "the keys are missing or may not do this",
    "INVALID_ACCESS_KEY_ID": "the keys are wrong",
    "SIGNATURE_DOES_NOT_MATCH": "the keys are wrong",
    "ExpiredToken": "the keys have expired",
    "PermanentRedirect": "the bucket is in another region: set AWS_REGION",
    "NETWORK_CONNECTION": "no connection, or no answer in time",
}
_T = TypeVar("_T")
Version = tuple[int, int, int]  # size, time of change in ns, number of the ETag
SmallFiles = dict[str, tuple[Version, bytes]]


@dataclass(frozen=True, slots=True)
class _Seen:
    at: float  # monotonic seconds
    entries: dict[str, Entry]
    since_ns: int  # wall clock: since when the folder holds these names


class RemoteFolder:
    """One address. All methods raise OSError with only the redacted address in the text: RemoteReadError,
    unless the file does not exist.

    Args:
        fs: an fsspec file system. root: where the address is in it. shown: the address without secrets.
        web: a web server: its lists of names are pages without sizes.
    """

    def __init__(self, fs: Any, root: str, shown: str, web: bool) -> None:
        self._fs, self._web = fs, web
        root, question, query = root.partition("?") if web else (root, "", "")
        self._root, self._query = root.rstrip("/"), question + query
        self._shown = shown if shown.endswith("://") else shown.rstrip("/")
        self._folders: dict[str, _Seen] = {}
        self._files: dict[str, tuple[float, Entry]] = {}
        # Of files without time: size, since when (wall, ns), and whether it was seen to change then.
        self._sizes: dict[str, tuple[int, int, bool]] = {}
        self._small: SmallFiles = {}

    @property
    def _is_bucket(self) -> bool:
        """Whether files are replaced as a whole, and folders are only parts of their names."""
        protocols = {self._fs.protocol} if isinstance(self._fs.protocol, str) else {*self._fs.protocol}
        return bool(protocols & _BUCKETS)

    def shown_name(self, name: str) -> str:
        """The address of a file in it, redacted."""
        if not name:
            return self._shown
        first, chained, rest = self._shown.partition("::")
        return f"{first}{'' if first.endswith('/') else '/'}{name}{chained}{rest}"

    def stat(self, name: str) -> Entry:
        """The entry at a name; an empty name is the address itself."""
        self._check_not_in_archive(name.split("/")[:-1] if name else None, name)
        parent, _, last = name.rpartition("/")
        if name and not self._web:
            found = self._seen(parent).entries.get(last)
            if found is None:
                raise FileNotFoundError(errno.ENOENT, "not there", self.shown_name(name))
            return self._folder(name, last) if found.is_folder else found
        if self._is_folder(name):
            return self._folder(name, last)
        return self._file(name)

    def scan(self, name: str) -> list[Entry]:
        """The entries of a folder."""
        self._check_not_in_archive(name.split("/"), name)
        return list(self._seen(name).entries.values())

    def open(self, name: str) -> tuple[RangeReader, int]:
        """A file to be read at offsets, and its size."""
        found = self.stat(name)
        if found.is_folder:
            raise DamagedError(f"{self.shown_name(name)} is not a regular file.")
        return RangeReader(self, name, found), found.size

    def read(self, name: str, entry: Entry, offset: int, length: int) -> bytes:
        """`length` bytes of the file of an entry; fewer where it ends, or was made shorter."""
        length = min(length, entry.size - offset)
        if length <= 0:
            return b""
        known = self._small.get(name)
        if known is not None and known[0] == _version(entry):
            return known[1][offset : offset + length]
        data = self._ask(lambda: self._read(self._place(name), entry.size, offset, length), name)
        if len(data) > length:
            reason = "the response is longer than the requested range"
            raise RemoteReadError(errno.EIO, reason, self.shown_name(name))
        if len(data) == entry.size <= SMALL and self._is_bucket and _is_settled(entry):
            if sum(len(each) for _, each in self._small.values()) + len(data) > _SMALL_FILES:
                self._small = {}
            self._small[name] = _version(entry), data
        return data

    def prefetch(self, folders: Iterable[str], files: Iterable[str] = ()) -> None:
        """Lists folders, and reads small files, all at the same time, for those who need them next. Errors
        are left to them."""
        if self._web:
            return

        def read(name: str) -> None:
            file, size = self.open(name)
            if 0 < size <= SMALL:
                file.read()

        asked = [(self._seen, name) for name in folders] + [(read, name) for name in files]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for done in [pool.submit(ask, name) for ask, name in asked]:
                with contextlib.suppress(OSError, DamagedError):
                    done.result()

    def known(self) -> tuple[list[str], SmallFiles]:
        """The folders that were listed, and the content of small files: what `restore` takes over."""
        return list(self._folders), dict(self._small)

    def restore(self, small: SmallFiles) -> None:
        """Takes over small files that an earlier process read: they are used while they are unchanged."""
        self._small = {**small, **self._small}

    def write(self, name: str, data: bytes) -> None:
        """Puts a whole file there, in place of one of that name."""
        self._put(lambda place: self._fs.pipe_file(place, data), name)

    def write_file(self, name: str, path: Path) -> None:
        """`write` for a file of the disk, of any size."""
        self._put(lambda place: self._fs.put_file(str(path), place), name)

    def _put(self, put: Callable[[str], object], name: str) -> None:
        place = self._place(name)
        if not self._is_bucket:
            folder = place.rpartition("/")[0]
            self._ask(lambda: self._fs.makedirs(folder, exist_ok=True), name, "written")
        self._ask(lambda: put(place), name, "written")

    def _read(self, place: str, size: int, offset: int, length: int) -> bytes:
        if not self._web:
            data: bytes = self._fs.cat_file(place, start=offset, end=offset + length)
            return data
        # fsspec's file refuses a server that sends the whole file instead of a range; cat_file takes it all.
        with self._fs.open(place, size=size, cache_type="none") as file:
            file.seek(offset)
            try:
                read: bytes = file.read(length)
            except ValueError:  # fsspec's for an answer with more than the range
                raise UnexpectedResponseError(_NO_RANGES) from None
            return read

    def _check_not_in_archive(self, folders: list[str] | None, name: str) -> None:
        """Rejects a path into an archive: at an address, a folder named `….zip` is not an archive.

        `folders`: those that the name leads through, in the address itself; None: it is the address."""
        if folders is not None and any(part.endswith(".zip") for part in (self._root, *folders)):
            raise NotADirectoryError(errno.ENOTDIR, "in an archive", self.shown_name(name))

    def _is_folder(self, name: str) -> bool:
        if (name or self._root).endswith(_FILES if self._web else ".zip"):
            return False
        parent, _, last = name.rpartition("/")
        if name and self._web:
            try:
                listed = self._seen(parent).entries.get(last)
            except OSError:
                return False
            return listed is not None and listed.is_folder
        try:
            return bool(self._seen(name).entries) or self._web
        except NotADirectoryError:
            return False

    def _folder(self, name: str, last: str) -> Entry:
        return Entry(last, False, True, 0, self._seen(name).since_ns, 0)

    def _file(self, name: str) -> Entry:
        known = self._files.get(name)
        if known is None or time.monotonic() - known[0] > LISTING_TTL:
            info = self._ask(lambda: self._fs.info(self._place(name)), name)
            if not isinstance(info.get("size"), int):
                raise RemoteReadError(errno.EIO, "the server reports no size", self.shown_name(name))
            _evict_some(self._files)
            entry = self._timed(name, _entry(name.rpartition("/")[2], info))
            known = self._files[name] = (time.monotonic(), entry)
        return known[1]

    def _seen(self, name: str) -> _Seen:
        known = self._folders.get(name)
        if known is not None and time.monotonic() - known.at <= LISTING_TTL:
            return known
        # The slash spares a redirection.
        infos = self._ask(lambda: self._list(self._place(f"{name}/" if self._web else name)), name)
        if len(infos) > MAX_ENTRIES:
            raise RemoteReadError(errno.EFBIG, f"more than {MAX_ENTRIES} names", self.shown_name(name))
        listed = [entry for entry in map(self._listed, infos) if _is_plain(entry.name)]
        entries = {entry.name: self._timed(f"{name}/{entry.name}".lstrip("/"), entry) for entry in listed}
        same = known is not None and known.entries.keys() == entries.keys()
        since = known.since_ns if known is not None and same else time.time_ns()
        _evict_some(self._folders)
        seen = self._folders[name] = _Seen(time.monotonic(), entries, since)
        return seen

    def _timed(self, name: str, entry: Entry) -> Entry:
        """Without metadata on changes, the time is when its size was first seen."""
        if not entry.is_file or entry.mtime_ns or entry.inode:
            return entry
        size, since, changed = self._sizes.get(name, (-1, 0, False))
        if not since or size != entry.size >= 0:
            if len(self._sizes) >= MAX_ENTRIES:
                self._sizes.clear()
            since, changed = time.time_ns(), size >= 0
            self._sizes[name] = entry.size, since, changed
        return replace(entry, mtime_ns=since, is_dated=changed)

    def _list(self, place: str) -> list[dict[str, Any]]:
        self._fs.invalidate_cache(place)
        found: list[dict[str, Any]] = self._fs.ls(place, detail=True)
        inside = [info for info in found if info["name"].strip("/") != place.strip("/")]  # a marker of itself
        if found and not inside and found[0].get("type") != "directory":
            raise NotADirectoryError(errno.ENOTDIR, "no folder")
        return inside

    def _listed(self, info: dict[str, Any]) -> Entry:
        name = str(info["name"]).rstrip("/").rpartition("/")[2]
        return _entry(unquote(name) if self._web else name, info)

    def _place(self, name: str) -> str:
        name = quote(name) if self._web else name
        joined = f"{self._root}/{name.lstrip('/')}" if name and self._root else name or self._root
        return joined + self._query

    def _ask(self, question: Callable[[], _T], name: str, done: str = "read") -> _T:
        shown = self.shown_name(name)
        try:
            return question()
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "not there", shown) from None
        except NotADirectoryError:
            raise NotADirectoryError(errno.ENOTDIR, "no folder", shown) from None
        except UnexpectedResponseError as error:
            raise RemoteReadError(errno.EIO, str(error), shown) from None
        except Exception as error:  # of any library; its text may hold keys and signatures
            raise RemoteReadError(errno.EIO, f"cannot be {done} ({_kind(error)})", shown) from None


class RangeReader(RawIOBase):
    """A remote file as `zipfile` and `Input` read files: one range request per read."""

    def __init__(self, folder: RemoteFolder, name: str, entry: Entry) -> None:
        self._folder, self._name, self._entry, self._size = folder, name, entry, entry.size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, length: int = -1) -> bytes:
        length = self._size - self._at if length < 0 else length
        data = self._folder.read(self._name, self._entry, self._at, length)
        self._at += len(data)
        return data


def _entry(name: str, info: dict[str, Any]) -> Entry:
    is_folder = info.get("type") == "directory"
    size = info.get("size")
    etag = next((str(info[key]) for key in _ETAGS if info.get(key)), "")
    mtime = next((_nanoseconds(info[key]) for key in _TIMES if info.get(key)), 0)
    inode = int.from_bytes(hashlib.blake2b(etag.encode(), digest_size=7).digest(), "big") if etag else 0
    known = size if isinstance(size, int) and size >= 0 else -1
    return Entry(name, not is_folder, is_folder, 0 if is_folder else known, mtime, inode)


def _nanoseconds(stamp: Any) -> int:
    """A time in the file systems' formats: seconds, a date, or a date's text; 0 for others."""
    try:
        if isinstance(stamp, str):
            stamp = datetime.fromisoformat(stamp) if stamp[:4].isdigit() else parsedate_to_datetime(stamp)
        if isinstance(stamp, datetime):
            stamp = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
        return int(float(stamp) * 1e9) if math.isfinite(float(stamp)) else 0
    except (TypeError, ValueError, OverflowError):
        return 0


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and not any(c in name for c in "/\\\0?#")


def _kind(error: Exception) -> str:
    """The kind of a failure, without its text; Arrow's S3 has kinds in it, such as NETWORK_CONNECTION."""
    reply = getattr(error, "response", None)
    code = reply.get("Error", {}).get("Code") if isinstance(reply, dict) else None
    status = getattr(error, "status", None)
    named = _AWS_ERROR.search(str(error))
    detail = code if isinstance(code, str) and code.isalnum() else status if isinstance(status, int) else None
    detail = named[1] or named[2] if detail is None and named is not None else detail
    cause = f": {_CAUSES[detail]}" if detail in _CAUSES else ""
    return type(error).__name__ + (f" {detail}{cause}" if detail is not None else "")


def _version(entry: Entry) -> Version:
    return entry.size, entry.mtime_ns, entry.inode


def _is_settled(entry: Entry) -> bool:
    """Whether the next change will be seen by another time or ETag."""
    return entry.is_dated and time.time() - entry.mtime_ns / 1e9 > _SETTLED


def _evict_some(known: dict[str, Any]) -> None:
    if len(known) >= _MAX_KNOWN:
        known.clear()
