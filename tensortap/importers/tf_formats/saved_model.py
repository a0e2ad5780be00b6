"""SavedModels and frozen GraphDefs: the graph, without values."""

from __future__ import annotations

from pathlib import Path, PurePath

from ..errors import RefusedError
from ..run_builder import RunBuilder
from ..safe_io import read_whole
from .graphdef import MAX_GRAPH_DEF, graphs_of
from .protos import parse

SAVED_MODEL = "saved_model.pb"
_BESIDE_SAVED_MODEL = ("fingerprint.pb", "keras_metadata.pb")


def is_saved_model(path: Path) -> bool:
    """Whether it is a SavedModel's folder, or its `saved_model.pb`."""
    return (path / SAVED_MODEL).is_file() if path.is_dir() else path.name == SAVED_MODEL and path.is_file()


def is_saved_model_file(below: PurePath) -> bool:
    """Whether a file in a folder is a SavedModel's, by its name."""
    return below.name == SAVED_MODEL


def is_part_of_saved_model(below: PurePath) -> bool:
    """Whether a file belongs to the SavedModel of the folder that it is below."""
    return is_saved_model_file(below) or below.parts[0] in ("variables", "assets")


def read_saved_model(path: Path, builder: RunBuilder) -> None:
    """The graphs of a SavedModel, one a meta graph."""
    file = path / SAVED_MODEL if path.is_dir() else path
    model = parse("SavedModel", read_whole(file, MAX_GRAPH_DEF), file.name)
    if not model.meta_graphs:
        raise RefusedError(f"{file.name} has no graph.")
    with builder.writer() as out:
        for meta in model.meta_graphs:
            name = "_".join(meta.meta_info_def.tags) or "graph"
            for graph in graphs_of(meta.graph_def.SerializeToString(), name, out.note):
                out.graph(graph)
        if (file.parent / "variables" / "variables.index").is_file():
            out.note(
                "A SavedModel is imported as a graph without values. Import its 'variables' folder "
                "as a checkpoint to see the weights."
            )


def is_graph_def(path: Path) -> bool:
    """Whether it is a `.pb` file."""
    return path.suffix == ".pb" and path.is_file()


def is_graph_def_file(below: PurePath) -> bool:
    """Whether a file in a folder may be a GraphDef, by its name."""
    return below.suffix == ".pb" and below.name not in (SAVED_MODEL, *_BESIDE_SAVED_MODEL)


def read_graph_def(path: Path, builder: RunBuilder) -> None:
    """The graph of a frozen GraphDef."""
    with builder.writer() as out:
        for graph in graphs_of(read_whole(path, MAX_GRAPH_DEF), path.stem, out.note):
            out.graph(graph)
        out.note("A GraphDef is imported as a graph without values.")
