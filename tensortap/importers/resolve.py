"""Foreign formats in place of a log directory: imported into the user's cache, with a message."""

from __future__ import annotations

import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tensortap.core.errors import DeniedError, NotARunError, RemoteError
from tensortap.dump.read.runs import find_runs
from tensortap.storage.filesystem import (
    exists,
    is_folder,
    scan,
    stat_path,
)
from tensortap.storage.uri import (
    address_of,
    is_remote,
    path_of,
    shown_path,
)
from tensortap.system.progress_line import progress_line
from tensortap.system.temp_dirs import temp_folder_until_exit

if TYPE_CHECKING:
    from .import_cache import CachedImport

SILENT_SECONDS = 5.0  # after which it is said that a disk does not answer
_SHOWN_NOTES = 5
_PACKED = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")


def as_logdir(path: Path) -> Path:
    """`path`, or where it was imported to if it is in a foreign format. Raises TensortapError, OSError."""
    check_reachable(path)
    cached = import_to_cache(path)
    if cached is None:
        _check_no_other_file(path)
        return path
    return cached.logdir


def _check_no_other_file(path: Path) -> None:
    """Raises NotARunError if a path or address is a file of no known format."""
    if not _is_file(path) or is_folder(path):
        return
    from .registry import IMPORTERS

    if path.suffix == ".pbtxt":
        hint = "Text graphs are not supported: write the graph with tf.io.write_graph(…, as_text=False)."
    elif _is_packed(path):
        hint = "It is an archive: unpack it, and pass the folder or file."
    else:
        known = ", ".join(form.title for form in IMPORTERS)
        hint = f"Supported formats: a log directory, a run in it, a .tap.zip of runs, {known}."
    raise NotARunError(f"{shown_path(path)!r} has an unknown format.", hint)


def _is_packed(path: Path) -> bool:
    """Whether a file is a .tar or similar, independent of its name; at an address its name must do."""
    if path.name.lower().endswith(_PACKED):
        return True
    try:
        return not is_remote(path) and tarfile.is_tarfile(path)
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return stat_path(path).is_file if is_remote(path) else path.is_file()
    except OSError:
        return False


def check_reachable(path: Path) -> None:
    """Raises RemoteError if an address cannot be read, because it would look like a folder without runs."""
    try:
        if is_remote(path) and (stat_path(path).is_folder or path.suffix == ".zip"):
            scan(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and _is_remote_prefix(path):
            return
        raise RemoteError(
            f"{shown_path(path)}: {error.strerror}.",
            "Pass a folder that can be listed, a run, a .tap.zip, or a format that can be imported "
            "(docs/remote.md).",
        ) from None


def resolve_log_directories(paths: list[Path]) -> list[Path]:
    """The log directories of a server: foreign sources are served from the cache.

    A foreign folder stays among them: runs may still be written into it.
    """
    found = []
    for path in paths:
        check_reachable(path)
        with warn_if_silent(path):
            _check_allowed(path)
        cached = import_to_cache(path)
        if cached is None:
            _check_no_other_file(path)
        found += [path] if cached is None else [cached.logdir, *([path] if is_folder(path) else [])]
    return found


@contextmanager
def warn_if_silent(path: Path) -> Iterator[None]:
    """Warns on stderr if the body, which reads `path`, takes longer than `SILENT_SECONDS`.

    A process that hangs on a disk cannot print anything, and even Ctrl-C may not end it.
    """

    def warn() -> None:
        since = f"{shown_path(path)} has not responded for {SILENT_SECONDS:g} s"
        print(f"{since}: its disk or network is slow or hangs.", file=sys.stderr, flush=True)

    timer = threading.Timer(SILENT_SECONDS, warn)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _check_allowed(path: Path) -> None:
    """Raises DeniedError if a folder or one of its parents is not readable."""
    try:
        if is_folder(path) or not exists(path):
            scan(path)
    except PermissionError:
        raise DeniedError(shown_path(path)) from None
    except OSError:  # it may come later
        return


def import_to_cache(path: Path) -> CachedImport | None:
    """A foreign source as a log directory in the cache, with a message on stderr; None for anything else."""
    find = _import_remote if is_remote(path) else _import_local
    found = _in_cache(partial(find, path))
    if found is not None:
        _print_import(path, found)
    return found


def _in_cache(find: Callable[[Path], CachedImport | None]) -> CachedImport | None:
    """The result of `find` in the cache; a temporary folder replaces a cache that is not writable."""
    from .import_cache import CacheNotWritableError

    try:
        return find(_cache())
    except CacheNotWritableError as error:
        spare = _temporary_cache()
        print(f"{error.message} The import is not cached. {error.hint}", file=sys.stderr)
        return find(spare)


def _import_remote(path: Path, cache: Path) -> CachedImport | None:
    from .remote_detect import imported_copy

    return imported_copy(path, cache)


def _import_local(path: Path, cache: Path) -> CachedImport | None:
    if not (path.exists() or _is_prefix(path)) or (path.is_dir() and find_runs(path)):
        return None
    from .import_cache import cached_import
    from .registry import detect

    if detect(path) is None:
        return None
    with progress_line(f"importing {path.name}:") as advance:
        return cached_import(path, cache, advance)


def _is_remote_prefix(path: Path) -> bool:
    return exists(path_of(f"{address_of(path)}.index"))


def _is_prefix(path: Path) -> bool:
    """Whether `path` is the common prefix of a checkpoint's files, and not a file itself."""
    return path.with_name(f"{path.name}.index").exists() if path.name else False


def _print_import(path: Path, cached: CachedImport) -> None:
    from tensortap.core.text import counted, escaped

    from .registry import title_of

    found = cached.imported
    what = ", ".join(
        counted(count, noun)
        for count, noun in (
            (found.snapshots, "snapshot"),
            (found.graphs, "graph"),
            (found.recordings, "recording"),
        )
        if count
    )
    how = "imported into the cache" if cached.fresh else "unchanged; read from the cache"
    title = title_of(found.format)
    print(escaped(f"{shown_path(path)}: {title}, {how} ({what})."), file=sys.stderr)
    print_notes(found.notes)  # from the cache, too: what was skipped is missing in every answer


def print_notes(notes: list[str]) -> None:
    """Prints refused and partial files on stderr."""
    from tensortap.core.text import counted, escaped

    for note in notes[:_SHOWN_NOTES]:
        print(escaped(f"  {note}"), file=sys.stderr)
    if len(notes) > _SHOWN_NOTES:
        print(
            f"  … and {counted(len(notes) - _SHOWN_NOTES, 'more note')}: see 'tensortap info'.",
            file=sys.stderr,
        )


@cache
def _cache() -> Path:
    """The user's cache; where it is switched off, a folder that goes when the process does."""
    from tensortap.system.user_dirs import cache_folder

    return cache_folder() or _temporary_cache()


@cache
def _temporary_cache() -> Path:
    """A folder that goes when the process does."""
    return temp_folder_until_exit()
