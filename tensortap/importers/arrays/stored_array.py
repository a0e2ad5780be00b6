"""Named arrays of files, read one by one, and the step that a file's name ends in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array

from ..errors import RefusedError
from ..run_builder import RunBuilder, RunWriter, check_array_size

# Words for a step, possibly directly before its number: `epoch3`, `checkpoint-500`.
STEP_WORDS = "step|epoch|ep|iter|iteration|ckpt|checkpoint"
_STEP = re.compile(rf"(?:^|[-_@ ]|(?<!\d)\.|step|epoch|(?<![A-Za-z])(?:{STEP_WORDS}))(\d{{1,18}})\Z")
# What Keras' ModelCheckpoint appends to the epoch if asked to: `weights.03-0.98`, `-val_loss=0.98`.
_MEASURE = re.compile(r"[-_ ](?:[A-Za-z][A-Za-z_]*[=-]?)?-?\d+\.\d+\Z")
# Names in tensortap's exports: `dense/MatMul:0@12`, `…#1` for another visit, `…#1 w-7` for a worker.
_EXPORTED = re.compile(r"(.+:\d{1,9})@(\d{1,18})(?:#\d{1,18}(?: .+)?)?", re.DOTALL)
_INDEX = re.compile(r"\.index\.json\Z")
_SUFFIXES = re.compile(r"(\.weights)?\.[A-Za-z0-9]+\Z")
_SHARD = re.compile(r"-\d+-of-\d+\Z")


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array of a file; `load` reads it, and raises RefusedError if it is damaged or not an array. `note`:
    a sentence about it, or about the file on its first array."""

    name: str
    load: Callable[[], Array]
    note: str = ""


def read_arrays(
    stored_arrays: Callable[[Path], Iterable[StoredArray]], path: Path, builder: RunBuilder
) -> None:
    """Imports a file of arrays as one step: the number at the end of its name, or 0."""
    with builder.writer() as out:
        step = step_in(stem_of(path.name)) if path.suffix != ".npy" else 0
        write_arrays(out, stored_arrays(path), step or 0)


def write_arrays(out: RunWriter, arrays: Iterable[StoredArray], step: int) -> None:
    """Dumps the arrays as the values of one step, or of the step in the name from an export.

    One that is refused is skipped, with a note. Several visits are numbered again.
    """
    for array in arrays:
        if array.note:
            out.note(array.note)
        exported = _EXPORTED.fullmatch(array.name)
        name, at = (exported[1], int(exported[2])) if exported else (array.name, step)
        try:
            out.log(name, array.load(), step=at)
        except RefusedError as error:
            out.note(f"Skipped: {array.name[:200]}: {error}", "tensors skipped")


def from_bytes(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], what: str) -> Array:
    """Little-endian bytes as an array.

    Raises:
        RefusedError: shape and bytes do not fit together.
    """
    if check_array_size(shape, dtype.itemsize, what) != len(data):
        raise RefusedError(
            f"{what} has {len(data):,} bytes, which does not match its shape {str(shape)[:100]}."
        )
    return np.frombuffer(data, dtype).reshape(shape)


def stem_of(name: str) -> str:
    """`m-00001-of-00002.safetensors` -> `m`: the name without suffixes, and without which shard it is."""
    return _SHARD.sub("", _SUFFIXES.sub("", _INDEX.sub("", name)))


def is_shard(name: str) -> bool:
    """Whether a file is one of several shards, by its name."""
    return bool(_SHARD.search(_SUFFIXES.sub("", name)))


def step_in(stem: str) -> int | None:
    """The step at the end of a name: `ckpt-12`, `model.ckpt-100`, `step_7`, `epoch3`, `12`; None without one.

    A measurement after it is not a step: `weights.03-0.98` is of step 3.
    """
    match = _step(stem)
    return int(match[1]) if match else None


def without_step(stem: str) -> str:
    """The name without the step that it ends in: `weights-12` -> `weights`."""
    match = _step(stem)
    return stem[: match.start()].rstrip("-_.@ ") if match else stem


def _step(stem: str) -> re.Match[str] | None:
    return _STEP.search(_MEASURE.sub("", stem)) or _STEP.search(stem)
