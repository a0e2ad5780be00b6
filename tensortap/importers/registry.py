"""The formats that can be imported, one row each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

from . import tensortap_bundle
from .arrays import array_folder, safetensors
from .arrays.array_folder import ARRAY_FORMATS
from .arrays.stored_array import read_arrays
from .run_builder import RunBuilder
from .tf_formats import checkpoints, event_files, saved_model
from .tfdbg import v1, v2


class Importer(NamedTuple):
    """A format of sources, and the functions that recognize and read it.

    A folder is read in one format; files of others that are in it are reported. For that:

    Attributes:
        name: on the command line. title: a description.
        matches: whether a path is in this format. read: imports it.
        files: the name of such files in notes (`of TensorBoard's events`); empty: not reported.
        is_file: whether a file is in this format, by its path below the folder.
        is_part: whether `read` of a folder takes care of such a file, or reports it; None: as `is_file`.
    """

    name: str
    title: str
    matches: Callable[[Path], bool]
    read: Callable[[Path, RunBuilder], None]
    files: str = ""
    is_file: Callable[[PurePath], bool] = lambda below: False
    is_part: Callable[[PurePath], bool] | None = None

    def reads(self, below: PurePath) -> bool:
        """Whether the importer of a folder reads a file in it, or reports it itself."""
        return (self.is_part or self.is_file)(below)


# The first that matches reads the source; the first with a matching `is_file` names a file.
IMPORTERS = (
    Importer("tfdbg2", "tfdbg2 event sets", v2.matches, v2.read, "of tfdbg2", v2.is_metadata),
    Importer("tfdbg1", "a tfdbg v1 dump", v1.matches, v1.read),
    Importer(
        "saved_model",
        "a SavedModel",
        saved_model.is_saved_model,
        saved_model.read_saved_model,
        "with a SavedModel",
        saved_model.is_saved_model_file,
        saved_model.is_part_of_saved_model,
    ),
    Importer(
        "checkpoint",
        "TensorFlow checkpoints",
        checkpoints.matches,
        checkpoints.read,
        "of TensorFlow's checkpoints",
        checkpoints.is_index_file,
        lambda below: checkpoints.is_index_file(below) and len(below.parts) == 1,
    ),
    Importer(
        "event_files",
        "TensorBoard event files",
        event_files.matches,
        event_files.read,
        "of TensorBoard's events",
        event_files.is_event_file,
    ),
    *(
        Importer(row.name, row.title, row.matches, partial(read_arrays, row.stored_arrays))
        for row in ARRAY_FORMATS
    ),
    Importer(
        "safetensors_shards",
        "safetensors in shards",
        safetensors.is_shard_folder,
        safetensors.read_shard_folder,
        is_part=lambda below: below.suffix == ".safetensors" and len(below.parts) == 1,
    ),
    Importer("bundle", "a recorded step (.tapbundle)", tensortap_bundle.is_bundle, tensortap_bundle.read),
    Importer(
        "graph_def",
        "a frozen GraphDef",
        saved_model.is_graph_def,
        saved_model.read_graph_def,
        "with a GraphDef",
        saved_model.is_graph_def_file,
    ),
    Importer(
        "folder",
        "a folder of arrays",
        array_folder.matches,
        array_folder.read,
        "with arrays",
        array_folder.is_array_file,
    ),
)
BY_NAME = {row.name: row for row in IMPORTERS}


def title_of(name: str) -> str:
    """Title of a format, in words."""
    return BY_NAME[name].title


def detect(path: Path) -> Importer | None:
    """The format of a path; None if it is unknown or the path does not exist."""
    try:
        return next((row for row in IMPORTERS if row.matches(path)), None)
    except OSError:
        return None
