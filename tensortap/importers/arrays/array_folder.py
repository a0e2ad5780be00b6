"""Array folders: `.npy` files by node and step; `.npz`, `.safetensors`, `.h5`, `.keras` files as steps."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from ..errors import RefusedError
from ..run_builder import RunBuilder, RunWriter
from ..safe_io import any_below, files_below
from . import hdf5, npy, safetensors
from .stored_array import STEP_WORDS, StoredArray, is_shard, stem_of, step_in, without_step, write_arrays


class ArrayFormat(NamedTuple):
    """A format of array files: as in `registry.Importer`, with its reader and file name suffixes."""

    name: str
    title: str
    matches: Callable[[Path], bool]
    stored_arrays: Callable[[Path], Iterator[StoredArray]]
    endings: tuple[str, ...]


ARRAY_FORMATS = (
    ArrayFormat(
        "safetensors",
        "safetensors",
        safetensors.is_safetensors,
        safetensors.stored_arrays,
        (".safetensors",),
    ),
    ArrayFormat("npy", "a NumPy array", npy.is_npy, npy.npy_arrays, (".npy",)),
    ArrayFormat(
        "hdf5", "Keras weights (HDF5)", hdf5.is_hdf5, hdf5.stored_arrays, (".h5", ".hdf5", hdf5.INDEX)
    ),
    ArrayFormat("keras", "a Keras model", hdf5.is_keras, hdf5.stored_arrays, (".keras",)),
    ArrayFormat("npz", "NumPy arrays", npy.is_npz, npy.npz_arrays, (".npz",)),
)
"""One row each. Files are read one by one; a folder of them is read as steps."""
_STEP_FOLDER = re.compile(rf"(?:{STEP_WORDS})?[-_ ]?(\d{{1,18}})\Z")
_STEP_MARK = re.compile(r"(?:@|[-_.](?:step|epoch)[-_]?)(\d{1,18})\Z")


def matches(path: Path) -> bool:
    """Whether it is a folder with such files."""
    return path.is_dir() and any_below(path, _is_array_file)


def _is_array_file(path: Path) -> bool:
    return _format_of(path) is not None


def _format_of(path: PurePath) -> ArrayFormat | None:
    """By the name alone."""
    return next((row for row in ARRAY_FORMATS if path.name.endswith(row.endings)), None)


def is_array_file(path: PurePath) -> bool:
    """Whether a file itself has arrays, by its name; false for an index of shards."""
    return path.suffix != ".json" and _format_of(path) is not None


def read(path: Path, builder: RunBuilder) -> None:
    """The `.npy` files are one run; so are other files whose names differ only in the step.

    Where one step is there in several formats (`net-3.keras`, `net-3.weights.h5`), each format is a run.
    """
    others: dict[str, list[Path]] = defaultdict(list)
    arrays = []
    files = [found for found in files_below(path) if _is_array_file(found)]
    shards = _shards(files)
    for found in files:
        if found.suffix == ".npy":
            arrays.append(found)
        elif found not in shards:
            others[_series(found.relative_to(path))].append(found)
    series = _by_kind(others)
    if arrays:
        with builder.writer() as out:
            for file in arrays:
                name, step = name_and_step(file.relative_to(path))
                out.progress(name)
                write_arrays(out, (StoredArray(name, a.load, a.note) for a in npy.npy_arrays(file)), step)
    alone = len(series) == 1 and not arrays
    for name, files in series.items():
        with builder.writer("" if alone else name) as out:
            _read_steps(files, out)


def name_and_step(below: Path) -> tuple[str, int]:
    """Tensor name and step of a `.npy` file, from its path below the folder.

    `step_12/dense/kernel.npy`, `12/dense/kernel.npy` and `dense/kernel@12.npy` are `dense/kernel` at step 12;
    without a step it is 0.
    """
    *folders, stem = below.with_suffix("").parts
    for number, folder in enumerate(folders):
        match = _STEP_FOLDER.fullmatch(folder)
        if match and (number == 0 or not folder.isdigit()):  # deeper down, numbers are those of layers
            return "/".join([*folders[:number], *folders[number + 1 :], stem]), int(match[1])
    mark = _STEP_MARK.search(stem)
    if mark and mark.start():
        return "/".join([*folders, stem[: mark.start()]]), int(mark[1])
    return "/".join([*folders, stem]), 0


def _shards(files: list[Path]) -> set[Path]:
    """The files that are read with the index that names them."""
    found: set[Path] = set()
    for index in files:
        if index.suffix == ".json":
            with contextlib.suppress(RefusedError, OSError):  # said when it is read
                found.update(hdf5.shards(index))
    return found


def _series(below: Path) -> str:
    name = without_step(stem_of(below.name)) or "steps"
    folders = [part for part in below.parts[:-1] if not _STEP_FOLDER.fullmatch(part)]
    return "/".join([*folders, name])


def _by_kind(series: dict[str, list[Path]]) -> dict[str, list[Path]]:
    """The series, those with files that differ in the format only divided by it."""
    divided: dict[str, list[Path]] = defaultdict(list)
    for name, files in series.items():
        stems = {(file.parent, stem_of(file.name), _kind(file)) for file in files}
        alike = len({stem[:2] for stem in stems}) < len(stems)
        for file in files:
            divided[f"{name}{_kind(file)}" if alike else name].append(file)
    return divided


def _kind(file: Path) -> str:
    """`.keras`, `.weights.h5`: how the names of files of a format end."""
    return "".join(suffix for suffix in file.suffixes[-2:] if suffix in (".weights", file.suffix))


def _read_steps(files: list[Path], out: RunWriter) -> None:
    for number, file in enumerate(files):
        folder = _STEP_FOLDER.fullmatch(file.parent.name)
        step = step_in(stem_of(file.name))
        if step is None:
            step = int(folder[1]) if folder else 0 if is_shard(file.name) else number
        out.progress(file.name)
        found = _format_of(file)
        assert found is not None
        try:
            write_arrays(out, found.stored_arrays(file), step)
        except RefusedError as error:
            out.note(f"Skipped: {file.name}: {error}", "files skipped")
