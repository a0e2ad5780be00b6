"""Exports stored values as `.npz` or `.safetensors`.

Names are `<node>:<slot>@<step>`, with `#<visit>` where several snapshots would have one name, and with
`#<visit> <worker>` if the run has several workers: then a lost snapshot never gives its name to another's.
"""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, to_npy_dtype
from tensortap.core.errors import DamagedError, InvalidValueError, NotFoundError, ValueNotKeptError
from tensortap.core.progress import AdvanceCount
from tensortap.dump.format.layout import SAFETENSORS
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import read_slice

from .base import Exported, all_rows, new_file

_LONGEST_NAME = 65_000  # bytes; a member of a zip file has 65,535 at most, with its suffix
_BATCH_SNAPSHOTS = 1000  # snapshots
_SAFETENSORS = SAFETENSORS | {"complex64": "C64"}  # a dump's own files are read by old releases, too


def export_npz(run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount) -> Exported:
    """bfloat16, float8 and narrow integers, which NumPy has no names for, become float32 or int8 without
    loss."""
    count, skipped = 0, list[str]()
    with (
        new_file(out) as temporary,
        zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED, allowZip64=True) as file,
    ):
        for name, _, value in _values(run, all_rows(run, rows), skipped, advance):
            if len(name.encode()) > _LONGEST_NAME:
                skipped.append(
                    f"{name[:80]}…: a name of {len(name.encode()):,} bytes is too long for a zip file."
                )
                continue
            try:
                array = to_npy_dtype(value)
            except InvalidValueError as error:
                skipped.append(f"{name}: {error.message}")
                continue
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            count += 1
        _at_least_one(count)
    return Exported(out, count, out.stat().st_size, skipped)


def export_safetensors(run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount) -> Exported:
    """Skips text and dtypes that safetensors lacks (complex128), and reports them.

    Of complex64, releases of safetensors before 0.7 refuse the whole file.
    """
    header: dict[str, Any] = {"__metadata__": {"run": run.name, "written_by": "tensortap"}}
    skipped, at = list[str](), 0
    with new_file(out) as temporary, tempfile.TemporaryFile(dir=out.parent) as data:
        for name, snapshot, value in _values(run, all_rows(run, rows), skipped, advance):
            dtype = _SAFETENSORS.get(snapshot.dtype)
            if dtype is None:
                skipped.append(f"{name}: safetensors has no dtype for {snapshot.dtype}.")
                continue
            data.write(value.tobytes())
            header[name] = {
                "dtype": dtype,
                "shape": list(value.shape),
                "data_offsets": [at, at + value.nbytes],
            }
            at += value.nbytes
        _at_least_one(len(header) - 1)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        data.seek(0)
        with temporary.open("xb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            shutil.copyfileobj(data, file, 4 << 20)
    return Exported(out, len(header) - 1, out.stat().st_size, skipped)


def _values(
    run: RunIndex, rows: Array, skipped: list[str], advance: AdvanceCount
) -> Iterator[tuple[str, Snapshot, Array]]:
    """(name, snapshot, value) of the rows with a readable value."""
    rows = rows[run.catalog.column("kept", rows)]
    several = len(run.workers) > 1
    taken: Counter[str] = Counter()
    for start in range(0, len(rows), _BATCH_SNAPSHOTS):
        for number, snapshot in enumerate(snapshots_at(run.catalog, rows[start : start + _BATCH_SNAPSHOTS])):
            try:
                value = read_slice(run, snapshot)
            except (DamagedError, ValueNotKeptError) as error:
                skipped.insert(0, f"{snapshot.tensor} at step {snapshot.step}: {error.message}")
            else:
                yield _name(snapshot, several, taken), snapshot, value
            advance(start + number + 1, len(rows))


def _name(snapshot: Snapshot, with_worker: bool, taken: Counter[str]) -> str:
    plain = f"{snapshot.tensor}@{snapshot.step}"
    numbered = f"{plain}#{snapshot.visit}"
    for name in (f"{numbered} {snapshot.worker}",) if with_worker else (plain, numbered):
        if not taken[name]:
            taken[name] += 1
            return name
    taken[name] += 1
    return f"{name} ({taken[name]})"


def _at_least_one(count: int) -> None:
    if not count:
        raise NotFoundError(
            "None of these snapshots has a value that can be exported.",
            "'tensortap show RUN TENSOR' says why; the statistics can be exported as parquet or csv.",
        )
