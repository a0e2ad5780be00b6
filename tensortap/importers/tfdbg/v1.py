"""tfdbg v1: output of `DumpingDebugWrapperSession` or debug URLs of `file://`. Every file is one Event.

A session run is a step; `_tfdbg_…` files describe it, the others hold one tensor each.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.errors import TensortapError
from tensortap.core.names import parse_tensor_name
from tensortap.core.records import COUNTS
from tensortap.tfproto.proto_classes import MAX_MESSAGE, Message
from tensortap.tfproto.tensor_proto import data_type_name, tensor_array

from ..errors import RefusedError
from ..partial_summary import measured_numbers, partial_summary
from ..run_builder import MAX_EXTENTS, RunBuilder, RunWriter
from ..safe_io import files_below, read_whole
from ..tf_formats.graphdef import graphs_of
from ..tf_formats.protos import parse

_DEVICE = "_tfdbg_device_,"
_GRAPH = "_tfdbg_graph_"
_CORE = "_tfdbg_core_metadata_"
_TENSOR_FILE = re.compile(r"(.+_\d+)_(Debug\w+?)_(\d+)(?:-(\d+))?\Z")
_COPY = re.compile(r"__copy_(.+)_(\d+)\Z")
_INSERTED = ("__copy_", "__dbg_")


@dataclass(frozen=True)
class _TensorFile:
    """A file with one tensor: its name before the debug op, the debug op, and when it was dumped."""

    path: Path
    tensor: str
    debug_op: str
    order: tuple[int, int]


def matches(path: Path) -> bool:
    """Whether it is the dump of a session run, or a folder of such dumps."""
    return path.is_dir() and bool(_session_runs(path))


def read(path: Path, builder: RunBuilder) -> None:
    """Each session run is a step: its global step if all have one, otherwise its number."""
    with builder.writer() as out:
        for step, folder in _steps(_session_runs(path)):
            _read_session_run(folder, step, out)


def _session_runs(path: Path) -> list[Path]:
    def is_dump(folder: Path) -> bool:
        return any(found.is_dir() for found in folder.glob(f"{_DEVICE}*"))

    if is_dump(path):
        return [path]
    return [folder for folder in sorted(path.glob("run_*")) if folder.is_dir() and is_dump(folder)]


def _steps(folders: list[Path]) -> list[tuple[int, Path]]:
    facts = [_core_metadata(folder) for folder in folders]
    for key in ("global_step", "session_run_index"):
        steps = [fact.get(key) for fact in facts]
        if len(set(map(str, steps))) == len(steps) and all(
            type(s) is int and 0 <= s < 1 << 62 for s in steps
        ):
            return [(int(step or 0), folder) for step, folder in zip(steps, folders, strict=True)]
    return list(enumerate(folders))


def _core_metadata(folder: Path) -> dict[str, Any]:
    for file in sorted(folder.glob(f"{_CORE}*")):
        try:
            event = parse("Event", read_whole(file, 1 << 20), file.name)
            found = json.loads(event.log_message.message)
        except (RefusedError, ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def _read_session_run(folder: Path, step: int, out: RunWriter) -> None:
    for device in sorted(folder.glob(f"{_DEVICE}*")):
        graph_id = ""
        for file in sorted(device.glob(f"{_GRAPH}*")):
            graph_id = _read_graph(file, out) or graph_id
        for tensor in _tensor_files(device):
            try:
                _read_tensor(tensor, step, graph_id, _device_name(device), out)
            except TensortapError as error:
                out.note(f"Skipped: {tensor.path.name[:200]}: {error}", "tensors skipped")


def _device_name(device: Path) -> str:
    """`_tfdbg_device_,job_localhost,replica_0,task_0,device_GPU_0` -> `/job:localhost/…/device:GPU:0`."""
    named = re.sub(r",(\w+?)_", r"/\1:", device.name.removeprefix("_tfdbg_device_"))
    return re.sub(r"(/device:\w+)_(\d+)\Z", r"\1:\2", named)


def _read_graph(file: Path, out: RunWriter) -> str:
    try:
        event = parse("Event", read_whole(file, MAX_MESSAGE), file.name)
        graph_def = parse("GraphDef", event.graph_def, f"The GraphDef of {file.name}")
        for graph in graphs_of(_clean(graph_def).SerializeToString(), "graph", out.note):
            return out.graph(graph)
    except TensortapError as error:
        out.note(f"Skipped: {error}", "graphs skipped")
    return ""


def _clean(graph_def: Message) -> Message:
    """Takes out the nodes that tfdbg put in: tensors reach their consumers directly again."""
    kept = [node for node in graph_def.node if not node.name.startswith(_INSERTED)]
    for node in kept:
        inputs = [_original(text) for text in node.input]
        del node.input[:]
        node.input.extend(text for text in inputs if not text.startswith(("^__copy_", "^__dbg_")))
    cleaned = type(graph_def)()
    cleaned.node.extend(kept)
    cleaned.library.CopyFrom(graph_def.library)
    return cleaned


def _original(text: str) -> str:
    match = _COPY.match(text.removesuffix(":0"))
    return f"{match[1]}:{match[2]}" if match else text


def _tensor_files(device: Path) -> list[_TensorFile]:
    """The tensors in the order in which they were dumped: several of one name are iterations of a loop."""
    found = list(_parsed_names(device))
    whole = {file.tensor for file in found if file.debug_op.startswith("DebugIdentity")}
    chosen = [f for f in found if f.debug_op.startswith("DebugIdentity") or f.tensor not in whole]
    return sorted(chosen, key=lambda file: file.order)


def _parsed_names(device: Path) -> Iterator[_TensorFile]:
    for path in files_below(device):
        match = _TENSOR_FILE.match(path.name)
        if match and not path.name.startswith("_tfdbg_"):
            tensor, debug_op, micros, again = match.groups()
            where = f"{path.parent.relative_to(device).as_posix()}/{tensor}"
            yield _TensorFile(path, where, debug_op, (int(micros), int(again or 0)))


def _read_tensor(file: _TensorFile, step: int, graph: str, device: str, out: RunWriter) -> None:
    event = parse("Event", read_whole(file.path, MAX_MESSAGE), file.path.name)
    if len(event.summary.value) != 1:
        raise RefusedError("It has no tensor.")
    value = event.summary.value[0]
    name, _, debug_op = value.node_name.rpartition(":")
    parse_tensor_name(name)
    seconds = event.wall_time / 1e6  # tfdbg writes microseconds here
    where: dict[str, Any] = {
        "step": step,
        "graph": graph,
        "device": device,
        "time": seconds if 0 < seconds < 2.5e11 else None,
    }
    if debug_op.startswith("DebugIdentity"):
        if _is_uninitialized(value.tensor):
            raise RefusedError("It was not initialized or has no data.")
        out.log(name, tensor_array(value.tensor), **where)
        return
    numbers = measured_numbers(tensor_array(value.tensor), f"What {debug_op[:80]} measured")
    out.note(f"tfdbg's {debug_op[:80]} stores no values, only counts and statistics.")
    if debug_op.startswith("DebugNumericSummary"):
        out.not_counted("subnormal")
        out.log_summary(name, _numeric_summary(numbers), **where)
    elif debug_op.startswith("DebugNanCount") and numbers.size == 1 and 0 <= numbers[0] < 1 << 53:
        out.not_counted("size", *(name for name in COUNTS if name != "nan"))
        out.log_summary(
            name,
            partial_summary("float32", (int(numbers[0]),), int(numbers[0]), nan=int(numbers[0])),
            **where,
        )
    else:
        raise RefusedError(f"The debug op {debug_op[:80]!r} is unknown.")


def _is_uninitialized(proto: Message) -> bool:
    """A tensor with elements but no content, which tfdbg writes for unsupported tensors."""
    size = math.prod(max(dim.size, 0) for dim in proto.tensor_shape.dim)
    filled = (getattr(proto, name) for name in ("tensor_content", "string_val", "float8_val"))
    numbers = (getattr(proto, name) for name in proto.DESCRIPTOR.fields_by_name if name.endswith("_val"))
    return size > 0 and not any(len(field) for field in (*filled, *numbers))


def _numeric_summary(numbers: np.ndarray[Any, Any]) -> Any:
    """initialized, total, nan, -inf, negative, zero, positive, +inf, min, max, mean, variance, dtype, …"""
    if numbers.size < 14 or numbers[0] != 1:
        raise RefusedError("It was not initialized.")
    counts = numbers[1:8]
    extents = numbers[14 : 14 + MAX_EXTENTS]
    if not np.all((counts >= 0) & (counts < 2**53)) or not np.all((extents >= 0) & (extents < 2**53)):
        raise RefusedError("Its counts are invalid.")
    size, nan, neg_inf, negative, zero, positive, pos_inf = (int(count) for count in counts)
    shape = tuple(int(extent) for extent in extents)
    if len(numbers) > 14 + MAX_EXTENTS or math.prod(shape) != size:
        raise RefusedError("Its shape does not match its number of elements.")
    low, high, mean, variance = numbers[8:12].tolist()
    known: dict[str, float] = {}
    if negative + zero + positive:
        known = {
            "min": low,
            "max": high,
            "mean": mean,
            "std": math.sqrt(variance) if variance >= 0 else math.nan,
        }
        known["abs_max"] = max(abs(low), abs(high))
        finite = negative + zero + positive
        known["l2"] = math.sqrt(max(variance + mean * mean, 0.0) * finite)
    return partial_summary(
        data_type_name(int(numbers[12])) if 0 < numbers[12] < 200 else "float32",
        shape, size,
        nan=nan, neg_inf=neg_inf, pos_inf=pos_inf, negative=negative, zero=zero, positive=positive, **known,
    )  # fmt: skip
