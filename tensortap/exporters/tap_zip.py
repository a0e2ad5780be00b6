"""`.tap.zip`: a run in one file. Its members are stored as they are, so that it is read in place."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError
from tensortap.dump.format.run_files import RUN_FILE
from tensortap.index.run_index import RunIndex
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import exists, scan, stat_path

from .base import Advance, Exported, all_rows, new_file
from .run_subset import copy_part

_PIECE = 4 << 20  # bytes copied at a time
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip; equal runs give equal files
_MAX_DEPTH = 8  # folders of a run; the format has two


def export_tap_zip(run: RunIndex, rows: Array | None, out: Path, advance: Advance) -> Exported:
    """A run that is being written is exported up to what is there now."""
    if rows is None:
        with new_file(out) as temporary:
            left_out = _write(temporary, run.path, run.path.name, advance)
        return Exported(out, run.catalog.rows, out.stat().st_size, left_out)
    with new_file(out) as temporary:
        folder = temporary.with_name(f"{out.name}.part")
        left_out = copy_part(run, all_rows(run, rows), folder, run.path.name, advance)
        left_out += _write(temporary, folder / run.path.name, run.path.name, lambda done, total: None)
    return Exported(out, len(rows), out.stat().st_size, left_out)


def _write(out: Path, run_dir: Path, name: str, advance: Advance) -> list[str]:
    # In the order of names: statistics come before values, so that every value they name is there.
    members = sorted(_members(run_dir))
    total, done, left_out = sum(size for _, size in members), 0, []
    with zipfile.ZipFile(out, "x", zipfile.ZIP_STORED, allowZip64=True, strict_timestamps=False) as archive:
        for relative, _ in members:
            try:
                source = FileReader(run_dir / relative)
            except (DamagedError, FileNotFoundError) as error:
                mark = relative.removesuffix(".safetensors") + ".pruned"
                if exists(run_dir / mark):  # since the list was made
                    archive.writestr(_member(f"{name}/{mark}"), b"")
                else:
                    left_out.append(f"{relative}: {error}")
                continue
            member = _member(f"{name}/{relative}")
            with source, archive.open(member, "w", force_zip64=True) as target:
                for at in range(0, source.size, _PIECE):
                    target.write(source.read(at, _PIECE))
                    done += min(_PIECE, source.size - at)
                    advance(done, total)
    return left_out


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    return info


def _members(run_dir: Path, below: str = "") -> Iterator[tuple[str, int]]:
    """(name in the run, size) of its regular files; links are left out, and so are hidden folders (such as
    the one in which the archive is made) and runs below it."""
    if below.count("/") > _MAX_DEPTH:
        return
    for entry in scan(run_dir / below):
        if entry.is_file and not entry.name.endswith(".tmp"):
            yield below + entry.name, entry.size if entry.size >= 0 else _size(run_dir / below / entry.name)
        elif entry.is_folder and not entry.name.startswith(".") and not _is_run(run_dir / below / entry.name):
            yield from _members(run_dir, f"{below}{entry.name}/")


def _is_run(folder: Path) -> bool:
    return exists(folder / RUN_FILE)


def _size(path: Path) -> int:
    try:
        return stat_path(path).size
    except OSError:  # it is gone
        return 0
