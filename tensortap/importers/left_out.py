"""What lies in a folder beside the format that it is read in: a folder is read in one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePath

from tensortap.core.text import counted

from .errors import RefusedError
from .source_files import files_below

_LOOKED_AT = 20_000
_ARRAYS = (".npy", ".npz", ".safetensors", ".h5", ".hdf5", ".keras")
_OF_SAVED_MODELS = ("fingerprint.pb", "keras_metadata.pb")
_TITLES = {
    "event_files": "of TensorBoard's events",
    "checkpoint": "of TensorFlow's checkpoints",
    "saved_model": "with a SavedModel",
    "graph_def": "with a GraphDef",
    "tfdbg2": "of tfdbg2",
    "folder": "with arrays",
}


def left_out(folder: Path, format: str) -> Iterator[str]:
    """A sentence for each other format of which files lie in a folder that was read in `format`.

    Files are told by their names, the first 20,000 of them.
    """
    others: dict[str, list[PurePath]] = defaultdict(list)
    try:
        for found in islice(files_below(folder), _LOOKED_AT):
            below = found.relative_to(folder)
            kind = _kind(below)
            if kind and not _is_read(below, kind, format):
                others[kind].append(below)
    except (OSError, RefusedError):  # what was read says so
        return
    for kind, files in others.items():
        named = f"{files[0].as_posix()[:200]}{', …' if len(files) > 1 else ''}"
        yield (
            f"Left out: {counted(len(files), 'file')} {_TITLES[kind]} ({named}). "
            "A folder is read in one format: import what lies in it one by one."
        )


def _kind(below: PurePath) -> str:
    """The format that a file of that name belongs to; empty if it is not one of its own."""
    name = below.name
    if ".tfevents." in name:
        return "event_files"
    if name.startswith("tfdbg_events."):
        return "tfdbg2" if name.endswith(".metadata") else ""
    if name == "saved_model.pb":
        return "saved_model"
    if name in _OF_SAVED_MODELS:
        return ""
    suffixes = {".index": "checkpoint", ".pb": "graph_def", **dict.fromkeys(_ARRAYS, "folder")}
    return suffixes.get(below.suffix, "")


def _is_read(below: PurePath, kind: str, format: str) -> bool:
    """Whether the importer of a folder of `format` reads such a file, or says itself why not."""
    if format == "saved_model":
        return kind == "saved_model" or below.parts[0] in ("variables", "assets")
    if format == "safetensors_shards":
        return below.suffix == ".safetensors" and len(below.parts) == 1
    return kind == format and (format != "checkpoint" or len(below.parts) == 1)
