"""Keras' `.weights.h5`, `.h5` and `.keras`: every dataset is a tensor, named by its path in the file."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, numpy_dtype
from tensortap.core.errors import TensortapError
from tensortap.system.subprocess_worker import ChildEndedError, ChildProcess
from tensortap.system.temp_dirs import temp_folder

from ..errors import MissingReaderError, RefusedError
from ..safe_io import (
    USUAL_RATIO,
    ZIP_ERRORS,
    ZIP_MAGIC,
    UnpackBudget,
    begins_with,
    files_beside,
    max_unpacked,
    open_file,
    open_zip,
    parse_json,
    read_whole,
    refused_unpacking,
)
from .stored_array import StoredArray, from_bytes

SIGNATURE = b"\x89HDF\r\n\x1a\n"
WEIGHTS = "model.weights.h5"
INDEX = ".weights.json"
_MAX_INDEX = 100_000_000  # bytes
_CHILD = Path(__file__).with_name("hdf5_child.py")
_STARTING, _SECONDS_PER_GB = 120, 200  # seconds that the child may take; reading takes about 2 a gigabyte


def is_hdf5(path: Path) -> bool:
    """Whether it is an HDF5 file, by its first bytes, or the index of shards of weights."""
    return (path.name.endswith(INDEX) and path.is_file()) or begins_with(path, SIGNATURE)


def is_keras(path: Path) -> bool:
    """Whether it is a zip archive called `.keras`."""
    return path.suffix == ".keras" and begins_with(path, ZIP_MAGIC)


def stored_arrays(path: Path) -> Iterator[StoredArray]:
    """The datasets of a file, of the weights in a `.keras` archive, or of all shards that an index names.

    Raises:
        RefusedError: HDF5 cannot read it.
        MissingReaderError: h5py is not installed.
    """
    if path.suffix == ".keras":
        with _unpacked(path) as weights:
            yield from _datasets(weights, path.name)
    elif path.name.endswith(INDEX):
        for shard in shards(path):
            yield from _datasets(shard, shard.name)
    else:
        yield from _datasets(path, path.name)


def shards(index: Path) -> list[Path]:
    """The shards of `save_weights(max_shard_size=…)`. Raises RefusedError: they are not next to it."""
    names = parse_json(read_whole(index, _MAX_INDEX), index.name).get("weight_map")
    lists = list(names.values()) if isinstance(names, dict) else [None]
    named = [name for each in lists if isinstance(each, list) for name in each]
    if not all(isinstance(each, list) for each in lists) or not all(isinstance(n, str) for n in named):
        raise RefusedError(f"{index.name} has no weight_map.")
    return files_beside(index, set(named), ".weights.h5")


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """The weights of a `.keras` archive as a separate file."""
    with open_zip(path) as archive, temp_folder() as folder:
        weights = folder / WEIGHTS
        try:
            _check_weights(archive, path.name, shutil.disk_usage(folder).free)
            with archive.open(WEIGHTS) as packed, weights.open("wb") as file:
                shutil.copyfileobj(packed, file, 16 << 20)
        except ZIP_ERRORS as error:
            raise RefusedError(f"{path.name} has no readable {WEIGHTS}: {error}") from error
        yield weights


def _check_weights(archive: zipfile.ZipFile, what: str, free: int) -> None:
    """Raises RefusedError: the weights are not HDF5, or would take too much disk space."""
    about = archive.getinfo(WEIGHTS)
    with archive.open(about) as packed:
        if packed.read(len(SIGNATURE)) != SIGNATURE:
            raise RefusedError(f"{WEIGHTS} in {what} is not an HDF5 file.")
    UnpackBudget().take(about.file_size, about.compress_size, f"{WEIGHTS} in {what}")
    if about.file_size > free // 2:
        raise RefusedError(
            f"{WEIGHTS} in {what} unpacks to {about.file_size:,} bytes, more than half of the free "
            f"space for temporary files ({free:,}).",
            "Set TMPDIR to a larger folder, or unpack the file and import its .weights.h5.",
        )


def _datasets(path: Path, what: str) -> Iterator[StoredArray]:
    if importlib.util.find_spec("h5py") is None:
        raise MissingReaderError(f"{what} needs h5py.", "pip install 'tensortap[hdf5]'")
    with open_file(path) as file:
        seconds = _STARTING + _SECONDS_PER_GB * (file.seek(0, 2) >> 30)
    # h5py comes from where this process has its modules (PYTHONPATH, too), not from the folder that it is in.
    limits = str(max_unpacked.get()), str(USUAL_RATIO)
    with (
        ChildProcess(_CHILD, str(path.resolve()), *limits, capture_errors=True) as child,
        child.limited(seconds),
    ):
        try:
            while "end" not in (message := child.receive())[0]:
                yield _stored(*message)
        except ChildEndedError as ended:
            why = ended.last_line or "the HDF5 library crashed."
            raise RefusedError(f"{what} cannot be read by HDF5: {why}") from ended


def _stored(record: dict[str, Any], data: bytes) -> StoredArray:
    if "too_large" in record:
        return StoredArray(record["name"], _refusal(refused_unpacking(*record["too_large"])))
    if "refused" in record:
        return StoredArray(record["name"], _refusal(RefusedError(record["refused"])))
    return StoredArray(record["name"], partial(_array, record, data))


def _refusal(error: RefusedError) -> Callable[[], Array]:
    def load() -> Array:
        raise error

    return load


def _array(record: dict[str, Any], data: bytes) -> Array:
    shape = tuple(record["shape"])
    if "lengths" in record:
        texts = np.empty(len(record["lengths"]), object)
        at = 0
        for i, length in enumerate(record["lengths"]):
            texts[i] = data[at : at + length]
            at += length
        return texts.reshape(shape)
    return from_bytes(data, _dtype(record), shape, record["name"])


def _dtype(record: dict[str, Any]) -> np.dtype[Any]:
    """HDF5's own dtype; for bytes, the dtype in the file's attributes, where Keras stores bfloat16."""
    name = record["dtype"]
    try:
        dtype = np.dtype(name) if record["native"] else numpy_dtype(name)
    except (TensortapError, TypeError, ValueError) as error:
        raise RefusedError(f"Its dtype {name[:40]!r} is unknown.") from error
    if dtype.hasobject:  # text is not a dtype of bytes
        raise RefusedError(f"Its bytes are not valid {name[:40]!r}.")
    return dtype
