"""The formats that can be imported, one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from . import tensortap_bundle
from .arrays import array_folder, hdf5, npy, npz, safetensors
from .arrays.stored_array import StoredArray, stem_of, step_in, write_arrays
from .errors import RefusedError
from .run_builder import Target
from .source_files import open_file
from .tf_formats import checkpoints, event_files, saved_model
from .tfdbg import v1, v2


class Format(NamedTuple):
    """A format: its name on the command line, what it is, whether a path is one, and how it is read."""

    name: str
    title: str
    matches: Callable[[Path], bool]
    read: Callable[[Path, Target], None]


def _arrays_of(read: Callable[[Path], Iterator[StoredArray]]) -> Callable[[Path, Target], None]:
    """Reads a file of arrays as one step: the one that its name ends in, or 0."""

    def read_file(path: Path, target: Target) -> None:
        with target.writer() as out:
            step = step_in(stem_of(path.name)) if path.suffix != ".npy" else 0
            write_arrays(out, read(path), step or 0)

    return read_file


def _begins(path: Path, *starts: bytes) -> bool:
    try:
        with open_file(path) as file:
            return file.read(8).startswith(starts)
    except (OSError, RefusedError):
        return False


def _is_safetensors(path: Path) -> bool:
    return path.is_file() and path.name.endswith((".safetensors", safetensors.INDEX))


def _read_safetensors_folder(path: Path, target: Target) -> None:
    _arrays_of(safetensors.stored_arrays)(_indexes(path)[0], target)


def _indexes(path: Path) -> list[Path]:
    return sorted(path.glob(f"*{safetensors.INDEX}")) if path.is_dir() else []


_ZIP = b"PK"

# The first that matches reads the source.
FORMATS = (
    Format("tfdbg2", "tfdbg2 event sets", v2.matches, v2.read),
    Format("tfdbg1", "a tfdbg v1 dump", v1.matches, v1.read),
    Format("saved_model", "a SavedModel", saved_model.is_saved_model, saved_model.read_saved_model),
    Format("checkpoint", "TensorFlow checkpoints", checkpoints.matches, checkpoints.read),
    Format("event_files", "TensorBoard event files", event_files.matches, event_files.read),
    Format("safetensors", "safetensors", _is_safetensors, _arrays_of(safetensors.stored_arrays)),
    Format(
        "safetensors_shards",
        "safetensors in shards",
        lambda path: bool(_indexes(path)),
        _read_safetensors_folder,
    ),
    Format("npy", "a NumPy array", lambda path: _begins(path, npy.MAGIC), _arrays_of(npy.stored_arrays)),
    Format(
        "hdf5",
        "Keras weights (HDF5)",
        lambda path: (path.name.endswith(hdf5.INDEX) and path.is_file()) or _begins(path, hdf5.SIGNATURE),
        _arrays_of(hdf5.stored_arrays),
    ),
    Format(
        "keras",
        "a Keras model",
        lambda path: path.suffix == ".keras" and _begins(path, _ZIP),
        _arrays_of(hdf5.stored_arrays),
    ),
    Format(
        "npz",
        "NumPy arrays",
        lambda path: path.suffix == ".npz" and _begins(path, _ZIP),
        _arrays_of(npz.stored_arrays),
    ),
    Format("bundle", "a recorded step (.tapbundle)", tensortap_bundle.is_bundle, tensortap_bundle.read),
    Format("graph_def", "a frozen GraphDef", saved_model.is_graph_def, saved_model.read_graph_def),
    Format("folder", "a folder of arrays", array_folder.matches, array_folder.read),
)
BY_NAME = {row.name: row for row in FORMATS}


def title_of(name: str) -> str:
    """What a format is, in words."""
    return BY_NAME[name].title


def detect(path: Path) -> Format | None:
    """The format of a path; None if it is none of these, or is not there."""
    try:
        return next((row for row in FORMATS if row.matches(path)), None)
    except OSError:
        return None
