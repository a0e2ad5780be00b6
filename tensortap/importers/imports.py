"""Importing a source into a log directory."""

from __future__ import annotations

from pathlib import Path

from .errors import UnknownFormatError
from .left_out import left_out
from .registry import BY_NAME, Format, detect
from .run_builder import Imported, Progress, Target, run_name_of


def import_source(
    source: Path,
    logdir: Path,
    run: str = "",
    format: str = "",
    progress: Progress = lambda text: None,
    *,
    tell_command: bool = True,
) -> Imported:
    """Imports a source as the run `run` (the source's name if it is empty) of a log directory.

    The run appears when it is whole; after a failure nothing is left. `tell_command`: it says by which
    command it was made.

    Raises:
        UnknownFormatError: no importer knows it, or `format`.
        RefusedError: it is damaged, beyond a limit, or holds nothing that can be shown.
        MissingReaderError: it needs a library that is not installed.
        InvalidNameError: there is a run of that name already, or it can be no name.
        OSError: it cannot be read, or the run cannot be written.
    """
    row = _row(source, format)
    name = run or run_name_of(place_of(source).name)
    target = Target(logdir, name, row.name, source.name, progress, tell_command=tell_command)
    try:
        row.read(source, target)
        if source.is_dir():
            for sentence in left_out(source, row.name):
                target.note(sentence)
        return target.finish()
    finally:
        target.abandon()


def place_of(source: Path) -> Path:
    """Where a source is. A link to a file has its own name: what it leads to may be called by a hash."""
    return source.resolve() if source.is_dir() else source.parent.resolve() / source.name


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
