"""tfdbg2: output of `tf.debugging.experimental.enable_dump_debug_info`, in every mode.

tfdbg2 records no steps. Here each call of a traced function is one; a tensor in a graph belongs to the first
call of that graph that was recorded after it. Without any call, a step is which time a line ran an op.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from heapq import merge
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, Floats
from tensortap.core.errors import TensortapError
from tensortap.core.names import short_function_name
from tensortap.core.records import COUNTS, Summary
from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import data_type_name, tensor_array

from ..errors import RefusedError
from ..partial_summary import measured_numbers, partial_summary
from ..run_builder import RunBuilder, RunWriter
from .v2_graphs import RecordedGraph, recorded_graphs
from .v2_records import METADATA, PREFIX, FileSet, metadata_files, read_file_set

NO_TENSOR, CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE, FULL_TENSOR, THREE_SLOTS = 1, 2, 3, 4, 5, 7, 8
NOTES = {
    NO_TENSOR: "tfdbg's mode NO_TENSOR stores only graphs and source lines, no tensor data.",
    CURT_HEALTH: "tfdbg's mode CURT_HEALTH only records whether a tensor has NaN or Inf; it is imported as "
    "one NaN or none.",
    CONCISE_HEALTH: "tfdbg's mode CONCISE_HEALTH only counts elements, NaN and Inf: zeros, signs, shapes, "
    "statistics and histograms are unknown.",
    FULL_HEALTH: "tfdbg's mode FULL_HEALTH only counts elements by kind: shapes, statistics and histograms "
    "are unknown.",
    SHAPE: "tfdbg's mode SHAPE only stores dtypes and shapes.",
    THREE_SLOTS: "tfdbg's mode REDUCE_INF_NAN_THREE_SLOTS only records whether a tensor has -Inf, +Inf or "
    "NaN; each is imported as one element.",
}
_SIGNS = ("zero", "negative", "positive", "subnormal")
NOT_COUNTED = {
    CURT_HEALTH: ("size", *_SIGNS, "nonfinite"),
    CONCISE_HEALTH: _SIGNS,
    FULL_HEALTH: ("subnormal",),
    SHAPE: COUNTS,
    THREE_SLOTS: ("size", *_SIGNS),
}
_LENGTHS = {CURT_HEALTH: 2, CONCISE_HEALTH: 5, FULL_HEALTH: 11, SHAPE: 10, THREE_SLOTS: 3}


def matches(path: Path) -> bool:
    """Whether a folder has event sets of tfdbg2."""
    return bool(metadata_files(path)) if path.is_dir() else is_metadata(path) and path.is_file()


def is_metadata(below: PurePath) -> bool:
    """Whether a file is the metadata of an event set, by its name."""
    return below.name.startswith(PREFIX) and below.name.endswith(METADATA)


def read(path: Path, builder: RunBuilder) -> None:
    """Each file set (a process) is a worker of the run."""
    for metadata in metadata_files(path) if path.is_dir() else [path]:
        with builder.writer() as out:
            files = read_file_set(metadata, out.note)
            _Reader(files, recorded_graphs(files), out).read()


class _Reader:
    """Reads the executions of one file set."""

    def __init__(self, files: FileSet, graphs: dict[str, RecordedGraph], out: RunWriter) -> None:
        self._files, self._out = files, out
        self._graphs = graphs
        self._ids = {root: out.graph(recorded.graph) for root, recorded in graphs.items()}
        self._calls: dict[str, list[tuple[float, int]]] = defaultdict(list)  # root -> (time, step)
        self._call_count = 0
        self._traced: set[str] = set()  # outermost graphs with tensors
        self._eager: Counter[tuple[str, tuple[str, ...]]] = Counter()

    def read(self) -> None:
        """Reads the executions twice: the calls must be known before the first tensor in a graph."""
        for event in self._files.events("execution", self._out.note):
            if event.execution.graph_id:
                root = self._files.root(event.execution.graph_id)
                self._calls[root].append((event.wall_time, self._call_count))
                self._call_count += 1
        has_calls, self._call_count = self._call_count > 0, 0
        executions = self._files.events("execution", self._out.note)
        traces = self._files.events("graph_execution_traces", self._out.note)
        for event in merge(executions, traces, key=lambda event: event.wall_time):
            which = event.WhichOneof("value")
            if which == "execution":
                self._execution(event, has_calls)
            elif which == "graph_execution_trace":
                self._trace(event)

    def _execution(self, event: Message, has_calls: bool) -> None:
        """An eager op; or a call, whose outputs are recorded here if no tensor of its graph was."""
        execution = event.execution
        place = (execution.op_type, tuple(execution.code_location.stack_frame_ids))
        step = self._call_count if has_calls else self._eager[place]
        self._eager[place] += 1
        self._call_count += bool(execution.graph_id)
        if self._files.root(execution.graph_id) in self._traced:
            return
        name = short_function_name(execution.op_type)
        for slot, proto in enumerate(execution.tensor_protos):
            devices = execution.output_tensor_device_ids
            device = self._files.devices.get(devices[slot], "") if slot < len(devices) else ""
            self._log(f"{name}:{slot}", execution.tensor_debug_mode, proto, step, event.wall_time, "", device)
        if not execution.tensor_protos:
            self._note_mode(execution.tensor_debug_mode)

    def _trace(self, event: Message) -> None:
        """A tensor in a graph."""
        trace = event.graph_execution_trace
        root = self._files.root(trace.tfdbg_context_id)
        self._traced.add(root)
        recorded = self._graphs.get(root)
        node = recorded.names.get((trace.tfdbg_context_id, trace.op_name)) if recorded else None
        name = f"{node or trace.op_name}:{max(trace.output_slot, 0)}"
        step = self._step_of(root, event.wall_time)
        graph_id = self._ids.get(root, "")
        if trace.HasField("tensor_proto"):
            self._log(
                name,
                trace.tensor_debug_mode,
                trace.tensor_proto,
                step,
                event.wall_time,
                graph_id,
                trace.device_name,
            )
        else:
            self._note_mode(trace.tensor_debug_mode)

    def _step_of(self, root: str, time: float) -> int:
        """The step of the first call that was recorded at `time` or later (they are when they have ended)."""
        calls = self._calls.get(root)
        if not calls:
            return 0
        return calls[min(bisect_left(calls, (time, -1)), len(calls) - 1)][1]

    def _log(
        self, name: str, mode: int, proto: Message, step: int, time: float, graph: str, device: str
    ) -> None:
        seconds = time if 0 < time < 2.5e11 else None
        where: dict[str, Any] = {"step": step, "graph": graph, "device": device, "time": seconds}
        self._note_mode(mode)
        if mode == NO_TENSOR:
            return
        if not proto.dtype:  # of text, and of handles, most modes write an empty message
            self._out.note(f"Skipped: {name[:200]}: tfdbg recorded no data for it.", "tensors skipped")
            return
        try:
            array = tensor_array(proto)
            if mode == FULL_TENSOR:
                self._out.log(name, array, **where)
            elif array.size:  # health modes store nothing for non-float tensors
                self._out.log_summary(name, health_summary(mode, array), **where)
        except (TensortapError, ValueError, TypeError) as error:
            self._out.note(f"Skipped: {name[:200]}: {error}", "tensors skipped")

    def _note_mode(self, mode: int) -> None:
        if mode in NOTES:
            self._out.note(NOTES[mode])
        if mode in NOT_COUNTED:
            self._out.not_counted(*NOT_COUNTED[mode])


def health_summary(mode: int, payload: Array) -> Summary:
    """The summary that a payload (a vector of floats) amounts to.

    Raises:
        RefusedError: the mode has no payload, or this one is invalid.
    """
    numbers = measured_numbers(payload, "Its health")
    length = _LENGTHS.get(mode)
    if length is None or numbers.size != length:
        raise RefusedError(f"The summary of its debug mode {mode} is missing or damaged.")
    if mode == CURT_HEALTH:
        bad = int(numbers[1] != 0)
        return partial_summary("float32", (bad,), bad, nan=bad)
    if mode == THREE_SLOTS:
        neg_inf, pos_inf, nan = (int(number != 0) for number in numbers)
        size = neg_inf + pos_inf + nan
        return partial_summary("float32", (size,), size, neg_inf=neg_inf, pos_inf=pos_inf, nan=nan)
    if mode == CONCISE_HEALTH:
        size, neg_inf, pos_inf, nan = _counts(numbers[1:])
        return partial_summary("float32", (size,), size, neg_inf=neg_inf, pos_inf=pos_inf, nan=nan)
    if mode == FULL_HEALTH:
        size, neg_inf, pos_inf, nan, negative, zero, positive = _counts(numbers[4:])
        counts = {"neg_inf": neg_inf, "pos_inf": pos_inf, "nan": nan}
        signs = {"negative": negative, "zero": zero, "positive": positive}
        return partial_summary(_dtype(numbers[2]), (size,), size, **counts, **signs)
    return _shape(numbers)


def _shape(numbers: Floats) -> Summary:
    """[id, dtype, rank, size, 6 extents]: of a rank above 6 the first extents are missing."""
    rank, size, *extents = _counts(numbers[2:])
    shape = tuple(extents[:rank])
    if rank > len(extents) or math.prod(shape) != size:
        shape = (size,)
    return partial_summary(_dtype(numbers[1]), shape, size)


def _counts(numbers: Floats) -> tuple[int, ...]:
    if not np.all((numbers >= 0) & (numbers < 2**53)):
        raise RefusedError("Its counts are invalid.")
    return tuple(int(number) for number in numbers)


def _dtype(number: float) -> str:
    name = data_type_name(int(number)) if 0 < number < 200 else "unknown"
    if name in ("string", "resource", "variant", "invalid", "unknown"):
        raise RefusedError(f"Its dtype {name} is not numeric.")
    return name
