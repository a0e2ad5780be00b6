"""Checkpoints of TF2 and TF1: one, or a directory of them as steps."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path, PurePath

from ..arrays.stored_array import step_in, without_step, write_arrays
from ..errors import RefusedError
from ..run_builder import RunBuilder
from ..safe_io import open_file
from . import tensor_bundle
from .leveldb_table import MAGIC


def matches(path: Path) -> bool:
    """Whether it is a checkpoint's file, prefix, or a directory that holds indexes."""
    if path.is_dir():
        return any(_is_index(found) for found in sorted(path.glob("*.index"))[:100])
    return _is_index(tensor_bundle.index_path(tensor_bundle.prefix_of(path)))


def _is_index(path: Path) -> bool:
    try:
        with open_file(path) as file:
            file.seek(-8, 2)
            return file.read(8) == MAGIC
    except (OSError, RefusedError):
        return False


def is_index_file(below: PurePath) -> bool:
    """Whether a file in a folder is a checkpoint's index, by its name."""
    return below.suffix == ".index"


def read(path: Path, builder: RunBuilder) -> None:
    """Each checkpoint is a step; where a directory holds several series, each is a run."""
    series: dict[str, list[Path]] = defaultdict(list)
    for prefix in _prefixes(path):
        series[without_step(prefix.name)].append(prefix)
    for name, prefixes in series.items():
        with builder.writer(name if len(series) > 1 else "") as out:
            for step, prefix in _steps(prefixes):
                out.progress(prefix.name)
                try:
                    write_arrays(out, tensor_bundle.stored_arrays(prefix), step)
                except RefusedError as error:
                    if not path.is_dir():
                        raise
                    out.note(f"Left out: {prefix.name}: {error}")


def _prefixes(path: Path) -> list[Path]:
    if not path.is_dir():
        return [tensor_bundle.prefix_of(path)]
    return [tensor_bundle.prefix_of(found) for found in sorted(path.glob("*.index")) if _is_index(found)]


def _steps(prefixes: list[Path]) -> list[tuple[int, Path]]:
    """By the number that a name ends in; where names have none, in the order of their names."""
    numbered = [(step_in(prefix.name), prefix) for prefix in prefixes]
    if all(step is not None for step, _ in numbered):
        return sorted((step or 0, prefix) for step, prefix in numbered)
    return list(enumerate(prefixes))
