"""tensortap's own bundles: a recorded step as a run with its graph, where the page can run it again."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, TensortapError
from tensortap.core.names import short_function_name
from tensortap.core.records import Graph
from tensortap.dump.recording.bundle import read_bundle_blob, read_bundle_graph, read_bundle_manifest
from tensortap.tfproto.proto_classes import Message

from .errors import RefusedError
from .run_builder import RunBuilder
from .safe_io import ZIP_ERRORS, UnpackBudget, open_file, open_zip
from .tf_formats.graphdef import check_not_recursive, graphs_of
from .tf_formats.protos import parse

SUFFIX = ".tapbundle"
_MANIFEST = "recording.json"


def is_bundle(path: Path) -> bool:
    """Whether it is called `.tapbundle`, or is a zip archive with the manifest of one."""
    if not path.is_file():
        return False
    if path.suffix == SUFFIX:
        return True
    try:
        with open_file(path) as file:
            if file.read(2) != b"PK":
                return False
            with zipfile.ZipFile(file) as archive:
                return _MANIFEST in archive.namelist()
    except (*ZIP_ERRORS, OSError, RefusedError):
        return False


def read(path: Path, builder: RunBuilder) -> None:
    """The step of a bundle: its graph and its recording. Runs no ops."""
    with open_zip(path) as archive:
        budget = UnpackBudget()
        for member in archive.infolist():
            budget.take(member.file_size, member.compress_size, member.filename[:100])
        try:
            manifest = read_bundle_manifest(archive, path.name)
            check_not_recursive(_library(archive, manifest))
            with builder.writer() as out:
                graph = read_bundle_graph(path, str(manifest.get("graph"))) or _of_library(
                    archive, manifest, out.note
                )
                graph_id = out.graph(graph) if graph is not None else ""
                out.recording(archive, {**manifest, "graph": graph_id})
        except DamagedError as error:
            raise RefusedError(error.message, error.hint) from error
    builder.note(
        f"A bundle stores the inputs of step {manifest['step']}, but no tensors. Compute them with "
        "'tensortap serve --allow-replay' or 'tensortap replay'."
    )


def _library(archive: zipfile.ZipFile, manifest: Mapping[str, Any]) -> Message:
    data = read_bundle_blob(archive, manifest.get("library"))
    return parse("FunctionDefLibrary", data, "The library of functions")


def _of_library(
    archive: zipfile.ZipFile, manifest: Mapping[str, Any], note: Callable[[str], None]
) -> Graph | None:
    """A graph built from the functions of a bundle without one (`--no-graph`); None if impossible."""
    name = str(manifest.get("function"))
    try:
        graph_def = parse("GraphDef", b"", "The graph")
        graph_def.library.CopyFrom(_library(archive, manifest))
        found = graphs_of(graph_def.SerializeToString(), name, note)
        return next((graph for graph in found if graph.name == short_function_name(name)), None)
    except TensortapError as error:
        note(f"The graph is skipped: {error}")
        return None
