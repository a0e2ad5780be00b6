"""Importing: into a log directory, or into a cache for those who point a reader straight at a source."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from .formats import BY_NAME, Format, detect
from .refused import RefusedError, UnknownFormatError
from .source_files import files_below
from .target import Imported, Progress, Target, run_name_of

VERSION = 1  # of what importers make: a new one makes cached imports again
_DONE = "imported.json"


@dataclass(frozen=True)
class CachedImport:
    """A source as a log directory in the cache. `fresh`: it was made just now, not found there."""

    logdir: Path
    imported: Imported
    fresh: bool


def import_source(
    source: Path, logdir: Path, run: str = "", format: str = "", progress: Progress = lambda text: None
) -> Imported:
    """Imports a source as the run `run` (the source's name if it is empty) of a log directory.

    The run appears when it is whole; after a failure nothing is left.

    Raises:
        UnknownFormatError: no importer knows it, or `format`.
        RefusedError: it is damaged, beyond a limit, or holds nothing that can be shown.
        MissingReaderError: it needs a library that is not installed.
        InvalidNameError: there is a run of that name already, or it can be no name.
        OSError: it cannot be read, or the run cannot be written.
    """
    row = _row(source, format)
    target = Target(logdir, run or run_name_of(source.resolve().name), row.name, source.name, progress)
    try:
        row.read(source, target)
        return target.finish()
    finally:
        target.abandon()


def _row(source: Path, format: str) -> Format:
    if format and format not in BY_NAME:
        raise UnknownFormatError(f"{format!r} is no format.", f"Use one of: {', '.join(BY_NAME)}.")
    if not source.exists() and not detect(source):
        raise UnknownFormatError(f"There is no {str(source)!r}.", "Name a file or folder to import.")
    row = BY_NAME[format] if format else detect(source)
    if row is None:
        raise UnknownFormatError(
            f"{str(source)!r} is in no format that can be imported.",
            "docs/import.md lists those that can; --format says which one it is.",
        )
    return row


def cached_import(source: Path, cache: Path, progress: Progress = lambda text: None) -> CachedImport:
    """Imports a source into a cache folder, unless that was done and it has not changed since.

    Raises as `import_source` does.
    """
    place = source.resolve()
    return cached_copy(
        str(place), _state(_files_of(source)), place.name, cache, lambda: nullcontext(source), progress
    )


def cached_copy(
    key: str,
    state: str,
    name: str,
    cache: Path,
    source: Callable[[], AbstractContextManager[Path]],
    progress: Progress = lambda text: None,
) -> CachedImport:
    """`cached_import` of what is copied to the disk only if it must be read.

    Args:
        key: what the source is known by. state: another text when it has changed. name: its name.
        source: gives the copy, which may be gone afterwards.

    Raises as `import_source` and `source` do.
    """
    folder = cache / "imports" / _digest(key)
    logdir = folder / _digest(f"{VERSION}\n{state}") / run_name_of(name)
    with contextlib.suppress(OSError, ValueError, TypeError):
        return CachedImport(logdir, Imported(**json.loads((logdir / _DONE).read_text())), fresh=False)
    with source() as copy:
        shutil.rmtree(folder, ignore_errors=True)  # of a former state of the source, or half done
        logdir.mkdir(parents=True, mode=0o700)
        imported = import_source(copy, logdir, progress=progress)
    (logdir / _DONE).write_text(json.dumps(asdict(imported)))
    return CachedImport(logdir, imported, fresh=True)


def _state(files: list[Path]) -> str:
    """Another text when a file is added, removed, or has another size or time."""
    facts = []
    for path in files:
        status = path.stat()
        facts.append(f"{path.name}|{path}|{status.st_size}|{status.st_mtime_ns}")
    return "\n".join(facts)


def _files_of(source: Path) -> list[Path]:
    """The files of a source; those next to it that begin with its name belong to it (shards, `.data-…`)."""
    if source.is_dir():
        return list(files_below(source))
    stem = source.name.split(".")[0]
    try:
        return sorted(
            path for path in source.parent.iterdir() if path.name.startswith(stem) and path.is_file()
        )
    except OSError as error:
        raise RefusedError(f"{source.parent} cannot be listed: {error.strerror}.") from error


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
