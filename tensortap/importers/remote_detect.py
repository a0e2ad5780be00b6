"""Foreign formats at addresses: recognized by their names, copied, and imported into the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tensortap.core.errors import DamagedError, LimitError, RemoteError
from tensortap.dump.read.runs import find_runs
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import is_folder
from tensortap.storage.uri import address_of, shown_path
from tensortap.system.progress_line import progress_line
from tensortap.system.temp_dirs import temp_folder

from .import_cache import CachedImport, cached_copy
from .registry import detect
from .remote_copy import RemoteCopier, RemoteFile, list_files

_ARCHIVE = ".zip"  # of a dump, which is read where it is
_LISTED, _FOLDERS = 20_000, 1_000  # looked at: detecting a format must not take long
_MARK = 8  # bytes that identify a format: at a file's start, or at the end of a checkpoint's index
_MARKS = 100  # of them that are read; of checkpoints' indexes in a folder, detection looks at no more


def imported_copy(place: Path, cache: Path) -> CachedImport | None:
    """A foreign source at an address as a log directory in the cache; None for anything else.

    It is copied unless it was, and names, sizes, times and tags are the same.

    Raises TensortapError, OSError.
    """
    files = _foreign_files(place)
    if not _is_known(files, place.name):
        return None
    facts = (f"{f.name}|{f.entry.size}|{f.entry.mtime_ns}|{f.entry.inode}" for f in files)
    with progress_line(f"importing {place.name}:") as advance:
        return cached_copy(
            address_of(place),
            "\n".join(sorted(facts)),
            place.name,
            cache,
            lambda: _copy(place, advance),
            advance,
        )


@contextmanager
def _copy(place: Path, advance: Callable[[str], None]) -> Iterator[Path]:
    with temp_folder() as folder:
        yield RemoteCopier(folder, progress=advance).fetch(address_of(place))


def _foreign_files(place: Path) -> list[RemoteFile]:
    """The files at an address; none for dumps, and if there are too many."""
    if place.name.endswith(_ARCHIVE) or (is_folder(place) and find_runs(place)):
        return []
    try:
        return list_files(address_of(place), _LISTED, _FOLDERS)
    except (LimitError, RemoteError):  # a log directory may hold other things, or be still to come
        return []


def _is_known(files: list[RemoteFile], name: str) -> bool:
    """Whether files with such names have a known format, checked before they are copied."""
    if not files:
        return False
    marks = _marks(files, name)
    with temp_folder() as folder, suppress(OSError):  # odd names
        for file in files:
            stand_in = Path(folder, file.name)
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            stand_in.write_bytes(marks.get(file.name, b""))
        return detect(Path(folder, name)) is not None
    return False


def _marks(files: list[RemoteFile], name: str) -> dict[str, bytes]:
    """Bytes that show a format, besides names: of a folder's files, only of the indexes of checkpoints.

    Of the most important ones: the file that was named, then indexes. In a folder, an unreadable one is
    ignored.

    Raises RemoteError, DamagedError: the named file, or one that belongs to it, cannot be read.
    """
    telling = [file for file in files if _is_alone(file) or (_is_index(file) and file.name.count("/") == 1)]
    telling.sort(key=lambda file: (file.name != name, not _is_index(file), file.name))
    return {file.name: _mark(file) for file in telling[:_MARKS]}


def _is_alone(file: RemoteFile) -> bool:
    return "/" not in file.name


def _is_index(file: RemoteFile) -> bool:
    return file.name.endswith(".index")


def _mark(file: RemoteFile) -> bytes:
    try:
        with FileReader(file.place) as source:
            length = min(_MARK, source.size)
            return source.read_exactly(source.size - length if _is_index(file) else 0, length)
    except (OSError, DamagedError, RemoteError) as error:
        if not _is_alone(file):
            return b""
        if isinstance(error, OSError):
            raise RemoteError(f"{shown_path(file.place)} cannot be read: {error.strerror}.") from None
        raise
