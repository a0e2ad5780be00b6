"""Graph tables: the nodes of one graph as an Arrow file, written and read (FORMAT.md, "Graphs")."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from tensortap.core.errors import DamagedError, NotFoundError
from tensortap.core.names import GRAPHS
from tensortap.core.records import CaptureMode, Function, Graph, LayerCall, Node
from tensortap.storage.files import FileReader, crc32c, crc32c_of_file, publish
from tensortap.storage.links import links_are_followed

from .frames import EOS, Frame, encode, read_frame, read_schema_message
from .record_batches import Layout
from .schema import VERSION

_COLUMNS = {
    "name": pa.string(),
    "op_type": pa.string(),
    "function": pa.string(),
    "device": pa.string(),
    "inputs": pa.list_(pa.string()),
    "attributes": pa.string(),
    "layer": pa.string(),
    "stack": pa.int32(),
    "output_dtypes": pa.list_(pa.string()),
    "output_shapes": pa.list_(pa.string()),
}
_ID = re.compile(r"[A-Za-z0-9_.]{1,80}-[0-9a-f]{12}\Z")
_ID_KEY = b"id"
MAX_DECODED = 512 << 20  # bytes of one graph table
MAX_SCHEMA = 256 << 20  # bytes of its schema message, which carries the source texts
MAX_NODES = 1 << 24
_MAX_MESSAGE = 1 << 31  # bytes: of a protocol buffer
_ROLES = ("root", "call", "body", "cond", "then", "else", "branch")


def is_graph_id(name: str) -> bool:
    """Whether a graph can have that id."""
    return _ID.match(name) is not None


def table_path(run_dir: Path, graph_id: str) -> Path:
    """Path of the file with a graph's nodes."""
    return run_dir / GRAPHS / f"{graph_id}.arrows"


def write_graph(run_dir: Path, graph: Graph, compression: str | None) -> str:
    """Writes a graph unless it exists; returns its id, which ends in a hash of its nodes.

    Raises:
        OSError: the disk refused.
    """
    batch = _build(graph)
    slug = re.sub(r"[^A-Za-z0-9_.]+", "_", graph.name).strip("_.")[:80] or "graph"
    schema_message = batch.schema.serialize().to_pybytes()
    digest = hashlib.sha256(schema_message)
    digest.update(batch.serialize())
    graph_id = f"{slug}-{digest.hexdigest()[:12]}"
    path = table_path(run_dir, graph_id)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        if graph.graph_def is not None:  # first, so that readers of the table find it
            batch = _with_graph_def(batch, path.with_suffix(".pb"), graph.graph_def)
        batch = batch.replace_schema_metadata(batch.schema.metadata | {_ID_KEY: graph_id.encode()})
        schema_message = batch.schema.serialize().to_pybytes()
        frame = encode(batch, schema_message, {}, compression)
        publish(path, schema_message + frame + EOS)
    return graph_id


def _with_graph_def(batch: pa.RecordBatch, path: Path, data: bytes) -> pa.RecordBatch:
    """Writes a GraphDef; returns the nodes with its length and checksum in the metadata.

    Of workers that write it at once, the first one's stays, and each says the checksum of that.
    """
    publish(path, data, replace=False)
    length = path.stat().st_size
    known = {"length": length, "crc32c": f"{crc32c_of_file(path, length):08x}"}
    metadata: dict[bytes, bytes] = batch.schema.metadata
    about = json.loads(metadata[b"graph"]) | {"graph_def": known}
    return batch.replace_schema_metadata(metadata | {b"graph": _json(about).encode()})


def _build(graph: Graph) -> pa.RecordBatch:
    nodes = graph.nodes
    columns = {
        "name": [node.name for node in nodes],
        "op_type": [node.op_type for node in nodes],
        "function": [node.function for node in nodes],
        "device": [node.device for node in nodes],
        "inputs": [list(node.inputs) for node in nodes],
        "attributes": [_json(dict(node.attributes)) for node in nodes],
        "layer": [node.layer for node in nodes],
        "stack": [node.stack for node in nodes],
        "output_dtypes": [list(node.output_dtypes) for node in nodes],
        "output_shapes": [[_json(shape) for shape in node.output_shapes] for node in nodes],
    }
    about: dict[str, Any] = {
        "name": graph.name,
        "functions": {
            name: {"parent": f.parent, "caller": f.caller, "role": f.role, "outputs": list(f.outputs)}
            for name, f in graph.functions.items()
        },
        "stacks": graph.stacks,
        "sources": dict(graph.sources),
        "way": graph.way,
    }
    if graph.layers:
        about["layers"] = [_layer_record(call) for call in graph.layers]
    if graph.variables:
        about["variables"] = dict(graph.variables)
    metadata = {"format": "tensortap", "version": str(VERSION), "graph": _json(about)}
    schema = pa.schema(
        [pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()], metadata=metadata
    )
    arrays = [pa.array(columns[name], kind) for name, kind in _COLUMNS.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _layer_record(call: LayerCall) -> dict[str, Any]:
    return {
        "path": call.path,
        "class": call.class_name,
        "module": call.module,
        "parent": call.parent,
        "config": call.config,
        "inputs": list(call.inputs),
        "outputs": list(call.outputs),
        "parameters": call.parameters,
        "variables": list(call.variables),
        "source": None if call.source is None else list(call.source),
    }


def _layer_call(record: dict[str, Any]) -> LayerCall:
    """Reads the output of `_layer_record`; missing entries and those of another type are empty."""
    texts = {name: str(record.get(name) or "") for name in ("path", "class", "module", "config")}
    numbers = {name: record.get(name) for name in ("parent", "parameters")}
    parent, parameters = (n if isinstance(n, int) else None for n in numbers.values())
    lists = (record.get(name) for name in ("inputs", "outputs", "variables"))
    inputs, outputs, variables = (
        tuple(map(str, items)) if isinstance(items, list) else () for items in lists
    )
    source = record.get("source")
    known = isinstance(source, list) and len(source) == 2 and isinstance(source[1], int)
    return LayerCall(
        path=texts["path"],
        class_name=texts["class"],
        module=texts["module"],
        parent=-1 if parent is None else parent,
        config=texts["config"],
        inputs=inputs,
        outputs=outputs,
        parameters=max(0, parameters or 0),
        variables=variables,
        source=(str(source[0]), source[1]) if known and source else None,
    )


def _json(what: Any) -> str:
    return json.dumps(what, sort_keys=True, separators=(",", ":"))


def read_graph_table(run_dir: Path, graph_id: str) -> tuple[pa.RecordBatch, dict[str, Any]]:
    """(nodes, metadata) of a graph.

    The metadata has `name`, `functions`, `stacks`, `sources`, `way`, `layers`, `variables`, and `graph_def`:
    length and CRC-32C of its GraphDef, or None.

    Raises:
        NotFoundError: the run has no such graph.
        DamagedError: the file fails a check.
    """
    layout, frame = _read_frame(run_dir, graph_id)
    batch = layout.decode(frame, max_decoded=MAX_DECODED, max_rows=MAX_NODES)
    return batch, _metadata(layout.schema, table_path(run_dir, graph_id).name)


def count_nodes(run_dir: Path, graph_id: str) -> int:
    """How many nodes a graph has; they are not decoded. Raises as `read_graph_table` does."""
    layout, frame = _read_frame(run_dir, graph_id)
    layout.check(frame, MAX_DECODED, MAX_NODES)
    return 0 if frame.message is None else frame.message.rows


def _read_frame(run_dir: Path, graph_id: str) -> tuple[Layout, Frame]:
    if not is_graph_id(graph_id):
        raise NotFoundError(f"{graph_id[:120]!r} is not a graph id.")
    path = table_path(run_dir, graph_id)
    if path.parent.is_symlink() and not links_are_followed():
        raise NotFoundError(f"The graphs of {run_dir.name!r} are a symbolic link, which is not followed.")
    try:
        with FileReader(path) as file:
            layout = Layout(read_schema_message(file, MAX_SCHEMA), tuple(_COLUMNS.items()))
            frame = read_frame(file, len(layout.message), MAX_DECODED)
            if frame.schema_crc != layout.crc:
                raise DamagedError(f"The schema of {path.name} does not match its checksum.")
            if file.read(frame.end, len(EOS) + 1) != EOS:
                raise DamagedError(f"{path.name} has extra bytes after its graph.")
            of = (layout.schema.metadata or {}).get(_ID_KEY, graph_id.encode())
            if of != graph_id.encode():  # as of a copy under another name
                raise DamagedError(f"{path.name} holds another graph, {of.decode(errors='replace')[:120]!r}.")
            return layout, frame
    except FileNotFoundError as error:
        raise NotFoundError(f"The run has no graph {graph_id!r}.") from error


def _metadata(schema: pa.Schema, file_name: str) -> dict[str, Any]:
    try:
        about = json.loads((schema.metadata or {}).get(b"graph", b"{}"))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"The metadata of {file_name} is not JSON: {error}.") from error
    if not isinstance(about, dict):
        raise DamagedError(f"The metadata of {file_name} is not a JSON object.")
    functions = about.get("functions")
    functions = functions if isinstance(functions, dict) else {}
    sources = about.get("sources")
    sources = sources if isinstance(sources, dict) else {}
    stacks, way = about.get("stacks"), about.get("way")
    layers, variables = about.get("layers"), about.get("variables")
    return {
        "name": str(about.get("name", "")),
        "functions": {name: _function(f) for name, f in functions.items() if isinstance(f, dict)},
        "stacks": [_stack(stack) for stack in stacks] if isinstance(stacks, list) else [],
        "sources": {name: text for name, text in sources.items() if isinstance(text, str)},
        "way": way if way in get_args(CaptureMode) else "",
        "graph_def": _length_and_checksum(about.get("graph_def")),
        "layers": [_layer_call(call) for call in layers if isinstance(call, dict)]
        if isinstance(layers, list)
        else [],
        "variables": {path: str(kind) for path, kind in variables.items()}
        if isinstance(variables, dict)
        else {},
    }


def _length_and_checksum(record: Any) -> tuple[int, int] | None:
    if not isinstance(record, dict):
        return None
    length, text = record.get("length"), record.get("crc32c")
    if not isinstance(length, int) or not isinstance(text, str) or not re.fullmatch("[0-9a-f]{8}", text):
        raise DamagedError("The checksum record of a GraphDef is invalid.")
    return length, int(text, 16)


def _function(record: dict[str, Any]) -> dict[str, Any]:
    caller, role, outputs = record.get("caller"), record.get("role"), record.get("outputs")
    return {
        "parent": str(record.get("parent", "")),
        "caller": caller if isinstance(caller, str) else None,
        "role": role if role in _ROLES else "call",
        "outputs": [str(output) for output in outputs] if isinstance(outputs, list) else [],
    }


def _stack(frames: Any) -> list[list[Any]]:
    found = []
    for frame in frames if isinstance(frames, list) else []:
        if isinstance(frame, list) and len(frame) == 3 and isinstance(frame[1], int):
            found.append([str(frame[0]), frame[1], str(frame[2])])
    return found


def read_graph(run_dir: Path, graph_id: str) -> Graph:
    """The graph as written, with its GraphDef if it was stored. Raises as `read_graph_table` does."""
    batch, about = read_graph_table(run_dir, graph_id)
    functions = {
        name: Function(**{**f, "outputs": tuple(f["outputs"])}) for name, f in about["functions"].items()
    }
    return Graph(
        name=about["name"],
        nodes=tuple(_node(row) for row in batch.to_pylist()),
        functions=functions,
        stacks=tuple(tuple((file, line, name) for file, line, name in stack) for stack in about["stacks"]),
        sources=about["sources"],
        graph_def=_graph_def(run_dir, graph_id, about["graph_def"]),
        way=about["way"],
        layers=tuple(about["layers"]),
        variables=about["variables"],
    )


def _node(row: dict[str, Any]) -> Node:
    attributes = _parse(row["attributes"])
    return Node(
        name=row["name"],
        op_type=row["op_type"],
        inputs=tuple(row["inputs"]),
        function=row["function"],
        device=row["device"],
        attributes={key: str(value) for key, value in attributes.items()}
        if isinstance(attributes, dict)
        else {},
        layer=row["layer"],
        stack=row["stack"],
        output_dtypes=tuple(row["output_dtypes"]),
        output_shapes=tuple(_shape(text) for text in row["output_shapes"]),
    )


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _shape(text: str) -> Sequence[int | None] | None:
    shape = _parse(text)
    if not isinstance(shape, list):
        return None
    return tuple(extent if isinstance(extent, int) and extent >= 0 else None for extent in shape)


def _graph_def(run_dir: Path, graph_id: str, known: tuple[int, int] | None) -> bytes | None:
    try:
        return _checked_graph_def(run_dir, graph_id, known)
    except (FileNotFoundError, DamagedError):
        return None


def read_graph_def(run_dir: Path, graph_id: str) -> bytes:
    """The bytes of a graph's GraphDef.

    Raises:
        NotFoundError: the run does not have this graph. FileNotFoundError: no GraphDef is stored.
        DamagedError: it is missing, not a file, truncated, changed or too long; or its graph is damaged.
    """
    layout, _ = _read_frame(run_dir, graph_id)
    known = _metadata(layout.schema, table_path(run_dir, graph_id).name)["graph_def"]
    return _checked_graph_def(run_dir, graph_id, known)


def _checked_graph_def(run_dir: Path, graph_id: str, known: tuple[int, int] | None) -> bytes:
    path = table_path(run_dir, graph_id).with_suffix(".pb")
    try:
        with FileReader(path) as file:
            if file.size >= _MAX_MESSAGE:
                raise DamagedError(f"{path.name} is {file.size:,} bytes; the limit of a GraphDef is 2 GiB.")
            data = file.read_exactly(0, file.size)
    except FileNotFoundError as error:
        if known is None:
            raise
        raise DamagedError(f"{path.name} is missing.", "Copy the run again, with all its files.") from error
    if known is not None and known != (len(data), crc32c(data)):
        raise DamagedError(f"{path.name} does not match its checksum.", "It was changed: copy it again.")
    return data
