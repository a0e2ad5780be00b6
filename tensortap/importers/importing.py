"""Imports a source into a log directory, with notes on files of other formats in the folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePath

from tensortap.core.progress import Notice, ignore_notice
from tensortap.core.text import counted

from .errors import RefusedError, UnknownFormatError
from .registry import BY_NAME, IMPORTERS, Importer, detect
from .run_builder import Imported, RunBuilder, run_name_of
from .safe_io import (
    FOLLOW_HINT,
    MAX_UNPACKED_ARRAYS,
    files_below,
    imported_folder,
    links_leading_out,
    max_unpacked,
)

_MOST_FILES = 20_000  # names in a folder to check


def import_source(
    source: Path,
    logdir: Path,
    run: str = "",
    format: str = "",
    progress: Notice = ignore_notice,
    *,
    record_command: bool = True,
    unpacked: int = MAX_UNPACKED_ARRAYS,
) -> Imported:
    """Imports a source as the run `run` (the source's name if it is empty) of a log directory.

    The run appears when it is whole; after a failure nothing is left.

    Args:
        record_command: whether `run.json` holds the command that imported it.
        unpacked: see `safe_io.max_unpacked`.

    Raises:
        UnknownFormatError: no importer knows it, or `format`.
        RefusedError: it is damaged, beyond a limit, or holds nothing that can be shown.
        MissingReaderError: it needs a library that is not installed.
        InvalidNameError: there is a run of that name already, or it can be no name.
        OSError: it cannot be read, or the run cannot be written.
    """
    row = _row(source, format)
    name = run or run_name_of(resolved_source(source).name)
    builder = RunBuilder(logdir, name, row.name, source.name, progress, record_command=record_command)
    token = max_unpacked.set(unpacked)
    folder = imported_folder.set(source.resolve() if source.is_dir() else None)
    try:
        row.read(source, builder)
        if source.is_dir():
            for sentence in (*_notes_on_links(source), *notes_on_other_formats(source, row)):
                builder.note(sentence)
        return builder.finish()
    finally:
        max_unpacked.reset(token)
        imported_folder.reset(folder)
        builder.abandon()


def resolved_source(source: Path) -> Path:
    """The path of a source. A link to a file keeps its own name, because its target may be named by a
    hash."""
    return source.resolve() if source.is_dir() else source.parent.resolve() / source.name


def _row(source: Path, format: str) -> Importer:
    if format and format not in BY_NAME:
        raise UnknownFormatError(f"{format!r} is not a format.", f"Use one of: {', '.join(BY_NAME)}.")
    if not source.exists() and not detect(source):
        raise UnknownFormatError(f"{str(source)!r} does not exist.", "Pass a file or folder to import.")
    row = BY_NAME[format] if format else detect(source)
    if row is None:
        raise UnknownFormatError(
            f"{str(source)!r} has no format that can be imported.",
            "See docs/import.md for the formats; select one with --format.",
        )
    return row


def _notes_on_links(folder: Path) -> Iterator[str]:
    skipped = list(links_leading_out(folder))
    if skipped:
        named = f"{skipped[0].relative_to(folder).as_posix()[:200]}{', …' if len(skipped) > 1 else ''}"
        yield f"Skipped: {counted(len(skipped), 'link')} leading out of the folder ({named}). {FOLLOW_HINT}"


def notes_on_other_formats(folder: Path, format: Importer) -> Iterator[str]:
    """A sentence per other format with files in an imported folder.

    Files are recognized by their names, the first 20,000 of them.
    """
    others: dict[str, list[PurePath]] = defaultdict(list)
    try:
        for found in islice(files_below(folder), _MOST_FILES):
            below = found.relative_to(folder)
            owner = next((row for row in IMPORTERS if row.is_file(below)), None)
            if owner is not None and not format.reads(below):
                others[owner.files].append(below)
    except (OSError, RefusedError):  # the imported run has this note already
        return
    for title, files in others.items():
        named = f"{files[0].as_posix()[:200]}{', …' if len(files) > 1 else ''}"
        yield (
            f"Skipped: {counted(len(files), 'file')} {title} ({named}). A folder is read in one "
            "format: import these files separately."
        )
