"""What the formats that hold named arrays have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .refused import RefusedError
from .target import RunWriter, check_array_size

Array = npt.NDArray[Any]

_STEP = re.compile(r"(?:^|[-_.@ ]|step|epoch)(\d{1,18})\Z")


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array of a file; `load` reads it, and raises RefusedError where it is damaged or no array."""

    name: str
    load: Callable[[], Array]


def write_arrays(out: RunWriter, arrays: Iterable[StoredArray], step: int) -> None:
    """Dumps the arrays as the values of one step; one that is refused is left out, with a note."""
    for array in arrays:
        try:
            out.log(array.name, array.load(), step=step)
        except RefusedError as error:
            out.note(f"Left out: {array.name[:200]}: {error}", "tensors left out")


def from_bytes(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], what: str) -> Array:
    """Little-endian bytes as an array.

    Raises:
        RefusedError: shape and bytes do not fit together.
    """
    if check_array_size(shape, dtype.itemsize, what) != len(data):
        raise RefusedError(f"{what} has {len(data):,} bytes, which do not fit its shape {str(shape)[:100]}.")
    return np.frombuffer(data, dtype).reshape(shape)


def step_in(stem: str) -> int | None:
    """The step that a name ends in: `ckpt-12`, `model.ckpt-100`, `step_7`, `epoch3`, `12`; None without."""
    match = _STEP.search(stem)
    return int(match[1]) if match else None


def without_step(stem: str) -> str:
    """The name without the step that it ends in: `weights-12` -> `weights`."""
    match = _STEP.search(stem)
    return stem[: match.start()] if match else stem
