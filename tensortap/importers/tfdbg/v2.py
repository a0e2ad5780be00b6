"""tfdbg2: what `tf.debugging.experimental.enable_dump_debug_info` wrote, in every mode.

tfdbg2 records no steps. Here each call of a traced function is one; a tensor in a graph belongs to the first
call of that graph that was recorded after it. Without any call, a step is which time a line ran an op.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from heapq import merge
from pathlib import Path, PurePath
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.core.names import short_function_name
from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import tensor_array

from ..run_builder import RunBuilder, RunWriter
from .v2_graphs import RecordedGraph, recorded_graphs
from .v2_health import FULL_TENSOR, NO_TENSOR, NOT_COUNTED, NOTES, health_summary
from .v2_records import METADATA, PREFIX, FileSet, metadata_files, read_file_set


def matches(path: Path) -> bool:
    """Whether a folder holds event sets of tfdbg2."""
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
        """An eager op; or a call, whose outputs are told here if none of its graph's tensors were."""
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
            self._out.note(f"Left out: {name[:200]}: tfdbg recorded nothing of it.", "tensors left out")
            return
        try:
            array = tensor_array(proto)
            if mode == FULL_TENSOR:
                self._out.log(name, array, **where)
            elif array.size:  # a mode of health leaves nothing of what is no float
                self._out.log_summary(name, health_summary(mode, array), **where)
        except (TensortapError, ValueError, TypeError) as error:
            self._out.note(f"Left out: {name[:200]}: {error}", "tensors left out")

    def _note_mode(self, mode: int) -> None:
        if mode in NOTES:
            self._out.note(NOTES[mode])
        if mode in NOT_COUNTED:
            self._out.not_counted(*NOT_COUNTED[mode])
