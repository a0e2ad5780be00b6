"""Imports in a cache, for commands that get a source instead of a run.

`imports/<source>/<state>/<name>/` is a log directory. It is written beside, and renamed when it is whole, so
that several processes may make one at a time. It stays as long as a process uses it, even if the source
changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tensortap.core.errors import TensortapError
from tensortap.core.progress import Notice, ignore_notice
from tensortap.system.user_dirs import is_own_folder, make_private_folder

from .arrays import hdf5, safetensors
from .cache_lock import READ_ONLY, FolderLease, remove_unused
from .errors import RefusedError
from .importing import import_source, resolved_source
from .run_builder import Imported, run_name_of
from .safe_io import files_below

VERSION = 5  # of what importers make: a new one makes cached imports again
_DONE = "imported.json"
_UNUSED = 30 * 86_400.0  # s after which an unused import is removed: it may be large
_HALF_DONE = 60.0  # s between making one and putting it in place, at most
_uses: dict[Path, FolderLease] = {}  # imports that this process was given: they stay until it ends


class CacheNotWritableError(TensortapError):
    """The cache is in a folder that cannot be written to."""


@dataclass(frozen=True)
class CachedImport:
    """A source as a log directory in the cache. `fresh`: whether it was imported just now."""

    logdir: Path
    imported: Imported
    fresh: bool


def cached_import(source: Path, cache: Path, progress: Notice = ignore_notice) -> CachedImport:
    """Imports a source into a cache folder, unless that was done and it has not changed since.

    Raises:
        CacheNotWritableError: it is not there, and cannot be written there. Also as `import_source` does.
    """
    place = resolved_source(source)
    return cached_copy(
        str(place), _state(_files_of(source)), place.name, cache, lambda: nullcontext(source), progress
    )


def cached_copy(
    key: str,
    state: str,
    name: str,
    cache: Path,
    source: Callable[[], AbstractContextManager[Path]],
    progress: Notice = ignore_notice,
) -> CachedImport:
    """`cached_import` of a remote source, which is copied to disk only if it must be read.

    Args:
        key: identifies the source. state: a text that changes with it. name: its name.
        source: returns the copy, which may be removed afterwards.

    Raises CacheNotWritableError, before the source is requested; and as `import_source` and `source` do.
    """
    folder = cache / "imports" / _digest(key) / _digest(f"{VERSION}\n{state}")
    run = run_name_of(name)
    found = _cached(folder, run)
    if found is None:
        found = _publish(_import(source, cache, folder, run, progress), folder, run)
        _tidy(cache, folder)
    return found


def _cached(folder: Path, run: str) -> CachedImport | None:
    """A complete import, now in use by this process. Imports by other users are ignored."""
    if not all(is_own_folder(place, or_of_root=True) for place in (folder, folder / run)):
        return None
    try:
        use = FolderLease(folder)
    except OSError:
        return None
    try:
        imported = Imported(**json.loads((folder / run / _DONE).read_text()))
    except (OSError, ValueError, TypeError):
        use.end()
        return None
    former = _uses.pop(folder, None)
    _uses[folder] = use
    if former is not None:
        former.end()
    return CachedImport(folder / run, imported, fresh=False)


def _import(
    source: Callable[[], AbstractContextManager[Path]],
    cache: Path,
    folder: Path,
    run: str,
    progress: Notice,
) -> Path:
    """Imports into a staging folder, which is created first, so that nothing is copied that cannot be stored.

    Raises CacheNotWritableError, and as `import_source` and `source` do.
    """
    staged = folder.with_name(f".making-{uuid.uuid4().hex[:12]}")
    try:
        make_private_folder(cache, staged / run)
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        raise CacheNotWritableError(
            f"Imports cannot be written to {folder.parent}: {error.strerror}.",
            "Set TENSORTAP_CACHE to a writable folder.",
        ) from error
    use = FolderLease(staged)
    try:
        # The command is that of whoever looked first, at other sources too, maybe with a token.
        with source() as copy:
            imported = import_source(copy, staged / run, progress=progress, record_command=False)
        (staged / run / _DONE).write_text(json.dumps(asdict(imported)))
    except BaseException:
        use.end()
        remove_unused(staged)
        raise
    use.end()
    return staged


def _publish(staged: Path, folder: Path, run: str) -> CachedImport:
    """Move a staged import to its place; if another process was faster, its import is used.

    Raises:
        RefusedError: it cannot be put there.
    """
    for _ in range(3):
        with contextlib.suppress(OSError):  # there is one already
            staged.rename(folder)
        found = _cached(folder, run)
        if found is not None:
            remove_unused(staged)
            return replace(found, fresh=True)
        remove_unused(folder)  # a damaged one, without its record
    remove_unused(staged)
    raise RefusedError(
        f"The import cannot be written to {folder}.", "Remove that folder, or set TENSORTAP_CACHE."
    )


def _tidy(cache: Path, folder: Path) -> None:
    """Removes earlier states of the source, long unused imports, and leftovers of killed processes."""
    with contextlib.suppress(OSError):
        for source in (cache / "imports").iterdir():
            states = [state for state in source.iterdir() if state != folder]
            if any([remove_unused(state, _idle_limit(state, folder)) for state in states]):
                with contextlib.suppress(OSError):
                    source.rmdir()  # if it is empty


def _idle_limit(state: Path, folder: Path) -> float:
    """Seconds without use after which a folder may go, when `folder` has just been imported."""
    if "." in state.name:  # being written or removed
        return _HALF_DONE
    return 0.0 if state.parent == folder.parent else _UNUSED


def _state(files: list[Path]) -> str:
    """Another text when a file is added, removed, or has another size or time."""
    facts = []
    for path in files:
        status = path.stat()
        facts.append(f"{path.name}|{path}|{status.st_size}|{status.st_mtime_ns}")
    return "\n".join(facts)


def _files_of(source: Path) -> list[Path]:
    """The files of a source: it, those next to it that begin with its name (`.data-…`), and its shards."""
    if source.is_dir():
        return list(files_below(source))
    stem = source.name.split(".")[0]
    try:
        beside = {p for p in source.parent.iterdir() if p.name.startswith(stem) and p.is_file()}
    except OSError as error:
        raise RefusedError(f"{source.parent} cannot be listed: {error.strerror}.") from error
    return sorted(beside.union(_shards(source)))


def _shards(source: Path) -> list[Path]:
    if source.name.endswith(safetensors.INDEX):
        return safetensors.shards(source)
    return hdf5.shards(source) if source.name.endswith(hdf5.INDEX) else []


def _digest(text: str) -> str:
    return hashlib.blake2b(os.fsencode(text), digest_size=10).hexdigest()
