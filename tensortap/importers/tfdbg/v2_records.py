"""The file set of tfdbg2 (`enable_dump_debug_info`), read into plain records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tensortap.core.records import Frame
from tensortap.tfproto.proto_classes import Message

from ..errors import RefusedError
from ..tf_formats.protos import parse, records

PREFIX = "tfdbg_events."
METADATA = ".metadata"
MAX_GRAPHS = 100_000
MAX_OPS = 2_000_000
# Frames of the libraries themselves; the others are the user's.
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen", "<string>", "<__array")

Note = Callable[[str], None]


@dataclass
class DebuggedGraph:
    """A traced function: its ops in the order of their creation, and the graph around it, by id."""

    id: str
    name: str
    outer: str
    ops: list[Message] = field(default_factory=list)


@dataclass
class FileSet:
    """Files of one process. `frames` and `sources` are of the user's own files only."""

    prefix: Path
    version: str
    run_id: str
    graphs: dict[str, DebuggedGraph] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    devices: dict[int, str] = field(default_factory=dict)

    def events(self, kind: str, note: Note) -> Iterator[Message]:
        """The events of one file (`execution`, `graph_execution_traces`, …); empty if it is missing."""
        path = self.prefix.with_name(f"{self.prefix.name}.{kind}")
        if not path.is_file():
            return
        for data in records(path, note):
            try:
                yield parse("DebugEvent", data, f"An event of {path.name}")
            except RefusedError as error:
                note(str(error))

    def stack(self, location: Message) -> tuple[Frame, ...]:
        """The user's frames, innermost last."""
        known = (self.frames.get(frame) for frame in location.stack_frame_ids)
        return tuple(frame for frame in known if frame is not None)

    def root(self, graph_id: str) -> str:
        """The id of the outermost graph around one."""
        seen: set[str] = set()
        while graph_id in self.graphs and graph_id not in seen:
            seen.add(graph_id)
            outer = self.graphs[graph_id].outer
            if outer not in self.graphs or not self.graphs[outer].ops:  # the process's default graph
                return graph_id
            graph_id = outer
        return graph_id


def metadata_files(folder: Path) -> list[Path]:
    """The metadata files of a folder, one a file set."""
    return sorted(path for path in folder.glob(f"{PREFIX}*{METADATA}") if path.is_file())


def read_file_set(metadata: Path, note: Note) -> FileSet:
    """Reads all but the executions.

    Raises:
        RefusedError: the metadata file is invalid.
    """
    first = next((parse("DebugEvent", data, metadata.name) for data in records(metadata, note)), None)
    if first is None or first.WhichOneof("value") != "debug_metadata":
        raise RefusedError(f"{metadata.name} does not start with tfdbg's metadata.")
    about = first.debug_metadata
    if not about.file_version.startswith("debug.Event:"):
        raise RefusedError(f"{metadata.name} has the unknown version {about.file_version[:40]!r}.")
    prefix = metadata.with_name(metadata.name.removesuffix(METADATA))
    files = FileSet(prefix, about.tensorflow_version, about.tfdbg_run_id)
    _read_frames(files, note)
    _read_graphs(files, note)
    return files


def _read_frames(files: FileSet, note: Note) -> None:
    paths, texts = [], []
    for event in files.events("source_files", note):
        if event.WhichOneof("value") == "source_file":
            paths.append(event.source_file.file_path)
            mine = _is_users(event.source_file.file_path)
            texts.append("\n".join(event.source_file.lines) if mine else "")
    used: set[int] = set()
    for event in files.events("stack_frames", note):
        place = event.stack_frame_with_id.file_line_col
        if 0 <= place.file_index < len(paths) and _is_users(paths[place.file_index]):
            frame = (paths[place.file_index], place.line, place.func)
            files.frames[event.stack_frame_with_id.id] = frame
            used.add(place.file_index)
    files.sources = {paths[index]: texts[index] for index in sorted(used) if texts[index]}


def _is_users(path: str) -> bool:
    return bool(path) and not any(part in path.replace("\\", "/") for part in _LIBRARIES)


def _read_graphs(files: FileSet, note: Note) -> None:
    ops = 0
    for event in files.events("graphs", note):
        which = event.WhichOneof("value")
        if which == "debugged_device":
            files.devices[event.debugged_device.device_id] = event.debugged_device.device_name
        elif which == "debugged_graph" and len(files.graphs) < MAX_GRAPHS:
            graph = event.debugged_graph
            known = files.graphs.setdefault(graph.graph_id, DebuggedGraph(graph.graph_id, "", ""))
            known.name, known.outer = graph.graph_name or "graph", graph.outer_context_id
        elif which == "graph_op_creation" and ops < MAX_OPS:
            created = event.graph_op_creation
            ops += 1
            graph_id = created.graph_id  # ops are written before the graph that they are in is complete
            files.graphs.setdefault(graph_id, DebuggedGraph(graph_id, "graph", "")).ops.append(created)
