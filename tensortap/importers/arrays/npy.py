"""NumPy's `.npy`, one array, and `.npz`, a zip of them.

Object arrays are refused, because reading them would run code from the file.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipInfo

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.text import bytes_text

from ..errors import RefusedError
from ..run_builder import check_array_size
from ..safe_io import ZIP_ERRORS, ZIP_MAGIC, UnpackBudget, begins_with, file_size, open_file, open_zip
from .stored_array import StoredArray

MAGIC = b"\x93NUMPY"
_READ_BYTES = 16 << 20  # bytes read at a time
_TEXT_BYTES = 64  # that a text takes in memory beside its characters
_MAX_EMPTY_TEXTS = 1_000_000


def is_npy(path: Path) -> bool:
    """Whether it is a `.npy` file, by its first bytes."""
    return begins_with(path, MAGIC)


def is_npz(path: Path) -> bool:
    """Whether it is a zip archive called `.npz`."""
    return path.suffix == ".npz" and begins_with(path, ZIP_MAGIC)


def npy_arrays(path: Path) -> Iterator[StoredArray]:
    """The only array of a `.npy` file, named after the file."""
    with open_file(path) as file:
        note = _note_on_rest(file, file_size(file), path.name)
    yield StoredArray(path.name.removesuffix(".npy"), lambda: _read_file(path), note)


def npz_arrays(path: Path) -> Iterator[StoredArray]:
    """The arrays of a `.npz` file under their names.

    Raises:
        RefusedError: it is not an archive of arrays, or exceeds a limit.
    """
    with open_zip(path) as archive:
        budget = UnpackBudget()
        names = Counter(_array_name(member) for member in archive.infolist())
        for member in archive.infolist():

            def load(member: ZipInfo = member) -> Array:  # not its name: several may have the same
                try:
                    with archive.open(member) as file:
                        return read_npy(file, member.file_size, member.filename, member.compress_size, budget)
                except ZIP_ERRORS as error:
                    raise RefusedError(f"It cannot be unpacked: {str(error)[:200]}") from error

            notes = []
            if count := names.pop(_array_name(member), 1) - 1:
                notes.append(f"{path.name} has {count + 1} arrays named {_array_name(member)[:200]!r}.")
            with suppress(*ZIP_ERRORS), archive.open(member) as file:
                notes.append(_note_on_rest(file, member.file_size, member.filename))
            yield StoredArray(_array_name(member), load, " ".join(filter(None, notes)))


def _array_name(member: ZipInfo) -> str:
    return member.filename.removesuffix(".npy")


def _note_on_rest(file: Any, available: int, what: str) -> str:
    """A sentence about bytes after the array, of which NumPy reads none; empty if there are none, or if the
    array is refused."""
    try:
        shape, _, dtype = _header(file, what)
        rest = available - file.tell() - check_array_size(shape, dtype.itemsize, what)
    except RefusedError:
        return ""
    return f"{what} has {bytes_text(rest)} after its array." if rest > 0 else ""


def _read_file(path: Path) -> Array:
    with open_file(path) as file:
        return read_npy(file, file_size(file), path.name)


def read_npy(
    file: Any, available: int, what: str, stored: int | None = None, budget: UnpackBudget | None = None
) -> Array:
    """Reads an array from a stream that has `available` bytes.

    Args:
        stored, budget: the bytes of a compressed stream, and the limit of its unpacked size.

    Raises:
        RefusedError: it is damaged, holds objects or structs, or takes too much memory.
    """
    shape, column_major, dtype = _header(file, what)
    if dtype.hasobject:
        raise RefusedError(
            f"{what} contains Python objects (pickle), which could run any code.",
            "Save it as numbers or text, e.g. with array.astype(float).",
        )
    if dtype.names is not None or dtype.subdtype is not None or dtype.kind == "V":
        raise RefusedError(f"{what} contains structs ({str(dtype)[:80]}).", "Save their fields separately.")
    length = check_array_size(shape, dtype.itemsize, what)
    if length > available:
        raise RefusedError(f"{what} is truncated: some of its {length:,} bytes are missing.")
    if stored is not None and budget is not None:
        texts = math.prod(shape) * _TEXT_BYTES if dtype.kind in "SU" else 0
        budget.take(length + texts, stored)
    if not dtype.itemsize:
        return _empty_texts(shape, dtype, what)
    data = np.empty(length, np.uint8)
    there = _read_into(file, data.data)
    if there != length:
        raise RefusedError(f"{what} is truncated: {there:,} of {length:,} bytes are present.")
    flat = data.view(dtype)
    return flat.reshape(shape[::-1]).T if column_major else flat.reshape(shape)


def _empty_texts(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> Array:
    """An array of `S0` or `U0`: its texts are all empty, so the file has no bytes for them."""
    if math.prod(shape) > _MAX_EMPTY_TEXTS:
        raise RefusedError(f"{what} has more than {_MAX_EMPTY_TEXTS:,} texts that are all empty.")
    return np.zeros(shape, dtype)


def _header(file: BinaryIO, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of Python 2, which NumPy parses more slowly
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                return np.lib.format.read_array_header_1_0(file)
            if version == (2, 0):
                return np.lib.format.read_array_header_2_0(file)
    except RefusedError:
        raise
    except Exception as error:  # NumPy evaluates literals here, which fail in many ways
        raise RefusedError(f"{what} is not an .npy file, or is damaged: {str(error)[:200]}") from error
    raise RefusedError(f"{what} is a .npy file of version {version}, which only contains structs.")


def _read_into(file: BinaryIO, room: memoryview) -> int:
    """Fills `room`, in pieces; returns how many bytes there were."""
    done = 0
    while done < len(room) and (piece := file.read(min(len(room) - done, _READ_BYTES))):
        room[done : done + len(piece)] = piece
        done += len(piece)
    return done
