"""Queues that carry tensors out of a running function: one entry each time the tapped function runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction

from ..tracing.traced_function import Place
from .device_summary import DeviceSummary

MARK = "tensortap"  # begins the name of every node that is added
HOST = "/device:CPU:0"  # the queue's own device: another device would have another queue

# Of one queue entry. An enqueue waits for its last tensor and holds all of them until then, so smaller is
# better for memory; but each entry costs two eager ops, at which the writer thread may take Python's
# lock for 5 ms.
MAX_TENSORS = 512
MAX_BYTES = 256 << 20

_TICK = f"{MARK}/tick"

Route = tuple[tuple[str, str], ...]
"""The calls that lead from the root to a function: (calling node, function called) of each."""


@dataclass(frozen=True)
class Tapped:
    """A tensor that leaves a function: its place, dtype and bytes (static shape), and the calls that lead to
    the function. `summarizes`: the dtype of the tensor whose summary leaves instead (`device_summary`)."""

    place: Place
    dtype: Any
    nbytes: int
    route: Route = ()
    summarizes: str = ""


def summarized_at(tapped: Sequence[Tapped]) -> dict[int, str]:
    """Positions of the tensors of which a summary leaves, and their dtypes."""
    return {position: item.summarizes for position, item in enumerate(tapped) if item.summarizes}


def received(tensors: Sequence[Any], summarized: Mapping[int, str]) -> list[Array | DeviceSummary]:
    """The array, or the summary, of each tensor that left the function; see `summarized_at`."""
    arrays: list[Any] = internals.as_arrays(tensors)
    for position, dtype in summarized.items():
        arrays[position] = DeviceSummary.from_numbers(arrays[position], dtype)
    return arrays


@dataclass(frozen=True, eq=False)
class IterationCounter:
    """Counts the iterations of a loop while it runs, for branches in its body.

    A counter that the graph and eager code share; 0 before each call of the tapped function.

    Args:
        name: unique in the process.
    """

    name: str

    @cached_property
    def _handle(self) -> Any:
        with tf.device(HOST):
            return tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name=self.name)

    def open(self) -> None:
        """Creates the counter. Must happen before the function runs."""
        self._set(0)

    def take(self) -> int:
        """Number of iterations that began since the last call."""
        with tf.device(HOST):
            count = int(tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=tf.int64))
        self._set(0)
        return count

    def _set(self, count: int) -> None:
        with tf.device(HOST):
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=tf.constant(count, tf.int64))

    def destroy(self) -> None:
        internals.destroy_queue(self._handle)

    def add_tick(self, body: internals.FunctionDef, waiting: list[internals.NodeDef]) -> None:
        """Makes a loop's body count its iterations, each before the `waiting` nodes of it run."""
        one = body.node_def.add(name=f"{_TICK}/one", op="Const", device=HOST)
        one.attr["dtype"].type = tf.int64.as_datatype_enum
        one.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1, tf.int64))
        handle = self._add_handle(body, _TICK)
        tick = body.node_def.add(name=_TICK, op="AssignAddVariableOp", device=HOST)
        tick.input.extend([handle, f"{_TICK}/one:output:0"])
        tick.attr["dtype"].type = tf.int64.as_datatype_enum
        keep_alive(body, _TICK)
        for node in waiting:
            node.input.append(f"^{_TICK}")

    def add_reading(self, definition: internals.FunctionDef, prefix: str) -> str:
        """Adds nodes below `prefix` that read the counter to a function; returns the tensor's name. The first
        iteration has the number 1."""
        reading = definition.node_def.add(name=f"{prefix}/iteration", op="ReadVariableOp", device=HOST)
        reading.input.append(self._add_handle(definition, prefix))
        reading.attr["dtype"].type = tf.int64.as_datatype_enum
        return f"{prefix}/iteration:value:0"

    def _add_handle(self, definition: internals.FunctionDef, prefix: str) -> str:
        handle = definition.node_def.add(name=f"{prefix}/clock", op="VarHandleOp", device=HOST)
        handle.attr["dtype"].type = tf.int64.as_datatype_enum
        handle.attr["shape"].shape.SetInParent()
        handle.attr["shared_name"].s = self.name.encode()
        handle.attr["container"].s = b""
        return f"{prefix}/clock:resource:0"


class LoopStride:
    """The iterations of a loop that a call captures: 0, k, 2k, … and the last one.

    They are chosen before the loop runs, from its length in the previous captured call. The first such call
    captures all iterations.

    Args:
        name: unique in the process.

    Attributes:
        length: iterations of the latest captured call.
        counter: shares them with the graph.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.length = 0
        self.counter = IterationCounter(f"{name}_length")
        self._expected = 0
        self._plan = 0, -1  # interval, last iteration; interval 0: the taps are off

    @cached_property
    def _handle(self) -> Any:
        with tf.device(HOST):
            return tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[2], shared_name=self.name)

    def open(self) -> None:
        """Creates what graph and eager code share. Must happen before the function runs."""
        self.counter.open()
        self._assign(*self._plan)

    def destroy(self) -> None:
        internals.destroy_queue(self._handle)
        self.counter.destroy()

    def begin(self, visits: int | None) -> None:
        """Chooses the iterations that the next call captures: the first, the last, and others between them.

        At most `visits` if the loop is as long as before; None: all.
        """
        length, interval = self._expected, 1
        if visits is not None and length > visits:
            interval = 2
            # Besides every k-th iteration, the last one and the end of the condition are captured.
            while interval < length and -(-length // interval) + 2 > visits:
                interval *= 2
        self._change(interval, -1 if interval == 1 else length - 1)

    def turn_off(self) -> None:
        """The next call captures nothing."""
        self._change(0, -1)

    def end(self) -> None:
        """The call ended."""
        self.length = self.counter.take()
        self._expected = self.length or self._expected

    @property
    def captures_all(self) -> bool:
        return self._plan[0] == 1

    def iteration(self, run: int) -> int:
        """The iteration of a run of the tapped body."""
        interval, last = self._plan
        runs = -(-last // interval)  # before the last iteration
        if last < 0 or run < runs:
            return run * interval
        return last if run == runs else (run - (last % interval > 0)) * interval

    def _change(self, interval: int, last: int) -> None:
        if (interval, last) != self._plan:
            self._assign(interval, last)

    def _assign(self, interval: int, last: int) -> None:
        with tf.device(HOST):
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=tf.constant([interval, last], tf.int64))
        self._plan = interval, last


class TapSwitch:
    """Turns the taps of a copy on and off between calls, so that one copy can run at every step.

    A flag that the graph and eager code share.

    Args:
        name: unique in the process.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._on = False

    @cached_property
    def _handle(self) -> Any:
        with tf.device(HOST):
            return tf.raw_ops.VarHandleOp(dtype=tf.bool, shape=[], shared_name=self.name)

    def open(self) -> None:
        """Creates the flag, off. Must happen before the function runs."""
        self._assign(False)

    def turn(self, on: bool) -> bool:
        """Turns the taps on or off; returns whether that changed anything."""
        changed = on != self._on
        if changed:
            self._assign(on)
        return changed

    def _assign(self, on: bool) -> None:
        with tf.device(HOST):
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=tf.constant(on))
        self._on = on

    def destroy(self) -> None:
        internals.destroy_queue(self._handle)

    def add_switched(
        self,
        definition: internals.FunctionDef,
        name: str,
        inputs: Sequence[str],
        branch: internals.FunctionDef,
    ) -> list[internals.FunctionDef]:
        """Adds a node that calls a function of no outputs while the taps are on.

        One `If` takes all tensors of a queue: a `Switch` for each of them would cost several microseconds a
        tensor while the taps are off.

        Returns:
            The functions that must be registered.
        """
        handle = definition.node_def.add(name=f"{name}/switch", op="VarHandleOp", device=HOST)
        handle.attr["dtype"].type = tf.bool.as_datatype_enum
        handle.attr["shape"].shape.SetInParent()
        handle.attr["shared_name"].s = self.name.encode()
        handle.attr["container"].s = b""
        reading = definition.node_def.add(name=f"{name}/on", op="ReadVariableOp", device=HOST)
        reading.input.append(f"{name}/switch:resource:0")
        reading.attr["dtype"].type = tf.bool.as_datatype_enum
        nothing = internals.copied(branch, f"{branch.signature.name}_off")
        del nothing.node_def[:], nothing.signature.control_output[:]
        nothing.control_ret.clear()
        nothing.signature.is_stateful = False
        node = definition.node_def.add(name=name, op="If", device=HOST)
        node.input.extend([f"{name}/on:value:0", *inputs])
        node.attr["Tcond"].type = tf.bool.as_datatype_enum
        node.attr["Tin"].list.type.extend(argument.type for argument in branch.signature.input_arg)
        node.attr["Tout"].list.SetInParent()
        node.attr["output_shapes"].list.SetInParent()
        node.attr["then_branch"].func.name = branch.signature.name
        node.attr["else_branch"].func.name = nothing.signature.name
        return [branch, nothing]


@dataclass(frozen=True, eq=False)
class TapQueue:
    """One queue and the nodes that fill it.

    Args:
        name: unique in the process; the name under which graph and eager code share the queue.
        tapped: what one entry holds.
        rank: position of the tapped call among the calls of the same function.
        looped: whether it may be filled many times in one call.
        counter: numbers the iterations of the loop around a branch; each entry ends with its iteration.
        stride: of the loop around it, if some iterations do not fill it.
        in_condition: it belongs to the condition of this loop.
    """

    name: str
    tapped: Sequence[Tapped]
    rank: int
    looped: bool
    counter: IterationCounter | None = None
    stride: LoopStride | None = None
    in_condition: bool = False
    _types: list[int] = field(init=False)

    def __post_init__(self) -> None:
        dtypes = [*(tapped.dtype for tapped in self.tapped), *([] if self.counter is None else [tf.int64])]
        object.__setattr__(self, "_types", [dtype.as_datatype_enum for dtype in dtypes])

    @cached_property
    def places(self) -> list[Place]:
        """Places at which the tensors of an entry are computed."""
        return [tapped.place for tapped in self.tapped]

    @cached_property
    def _summarized(self) -> dict[int, str]:
        return summarized_at(self.tapped)

    @cached_property
    def routes(self) -> list[Route]:
        """Through which calls their functions were reached."""
        return [tapped.route for tapped in self.tapped]

    @cached_property
    def _handle(self) -> Any:
        with tf.device(HOST):
            return internals.open_queue(self._types, self.name)

    def add_nodes(
        self,
        definition: internals.FunctionDef,
        prefix: str,
        references: Sequence[str],
        switch: TapSwitch | None = None,
    ) -> list[internals.FunctionDef]:
        """Makes a function fill the queue.

        Args:
            references: the tapped tensors in the definition's words.
            switch: fill it only while this is on.

        Returns:
            Further functions that must be registered.
        """
        inputs = list(references)
        if self.counter is not None:
            inputs.append(self.counter.add_reading(definition, prefix))
        if switch is None:
            self._add_enqueue(definition, prefix, inputs)
            return []
        branch = internals.new_function(f"{self.name}_fill", self._types)
        self._add_enqueue(branch, MARK, [argument.name for argument in branch.signature.input_arg])
        keep_alive(definition, f"{prefix}/enqueue")
        definition.signature.is_stateful = True
        return switch.add_switched(definition, f"{prefix}/enqueue", inputs, branch)

    def _add_enqueue(self, definition: internals.FunctionDef, prefix: str, inputs: Sequence[str]) -> None:
        queue = definition.node_def.add(name=f"{prefix}/queue", op="FIFOQueueV2", device=HOST)
        queue.attr["component_types"].list.type.extend(self._types)
        queue.attr["shapes"].list.SetInParent()
        queue.attr["capacity"].i = -1
        queue.attr["container"].s = b""
        queue.attr["shared_name"].s = self.name.encode()
        enqueue = definition.node_def.add(name=f"{prefix}/enqueue", op="QueueEnqueueV2", device=HOST)
        enqueue.input.append(f"{prefix}/queue:handle:0")
        enqueue.input.extend(inputs)
        enqueue.attr["Tcomponents"].list.type.extend(self._types)
        enqueue.attr["timeout_ms"].i = -1
        keep_alive(definition, enqueue.name)
        definition.signature.is_stateful = True

    def open(self) -> None:
        """Creates the queue. Must be called before the function runs, which would create its own."""
        assert self._handle is not None

    def take(self) -> list[tuple[list[Array | DeviceSummary], int]]:
        """All complete entries, oldest first: an array per tapped tensor, and the counter's iteration number
        (0 without one)."""
        with tf.device(HOST):
            waiting = internals.queue_size(self._handle)
            entries = [internals.dequeue(self._handle, self._types) for _ in range(waiting)]
        count, summarized = len(self.tapped), self._summarized
        return [
            (received(entry[:count], summarized), 0 if self.counter is None else int(entry[-1]))
            for entry in entries
        ]

    def destroy(self) -> None:
        internals.destroy_queue(self._handle)


def hold(function: TracedFunction, definition: internals.FunctionDef, node_name: str, prefix: str) -> None:
    """Makes the consumers of a node wait until a queue is filled, because a consumer may raise and end the
    call.

    Args:
        function: the original.
        prefix: of the names of the queue's nodes.
    """
    held: dict[str, str] = {}

    def waiting(reference: str) -> str:
        if reference.split(":")[0] != node_name or reference not in function.flat_names:
            return reference
        if reference not in held:
            slot = int(function.flat_names[reference].rpartition(":")[2])
            dtype = function.operations[node_name].outputs[slot].dtype
            name = f"{prefix}/held_{len(held)}"
            node = definition.node_def.add(name=name, op="Identity", input=[reference, f"^{prefix}/enqueue"])
            node.attr["T"].type = dtype.as_datatype_enum
            held[reference] = f"{name}:output:0"
        return held[reference]

    for node in list(definition.node_def):
        if not node.name.startswith(f"{MARK}/"):
            node.input[:] = [waiting(each) for each in node.input]
    for result, reference in list(definition.ret.items()):
        definition.ret[result] = waiting(reference)


def add_copy(definition: internals.FunctionDef, reference: str, dtype: Any) -> str:
    """Makes a function copy a tensor into memory of its own; returns the copy's name."""
    name = f"{MARK}/copy_{len(definition.node_def)}"
    node = definition.node_def.add(name=name, op="DeepCopy", input=[reference])
    node.attr["T"].type = dtype.as_datatype_enum
    return f"{name}:y:0"


def keep_alive(definition: internals.FunctionDef, node: str) -> None:
    """Makes a node run although its outputs have no consumers."""
    if node not in definition.control_ret.values():
        key = f"tensortap_{len(definition.control_ret)}"
        definition.control_ret[key] = node
        definition.signature.control_output.append(key)


def tie_to_result(definition: internals.FunctionDef) -> None:
    """Makes a loop's condition depend on the nodes to keep alive; TensorFlow runs it only for its result."""
    result = definition.signature.output_arg[0]
    waiting = definition.node_def.add(name=f"{MARK}/condition", op="Identity")
    waiting.attr["T"].type = result.type
    waiting.input.append(definition.ret[result.name])
    waiting.input.extend(f"^{node}" for node in sorted(set(definition.control_ret.values())))
    definition.ret[result.name] = f"{waiting.name}:output:0"


def grouped(tapped: Sequence[tuple[Tapped, str]]) -> list[list[tuple[Tapped, str]]]:
    """Splits tapped tensors into groups of at most 512 tensors and, where shapes are known, about 256 MiB."""
    groups: list[list[tuple[Tapped, str]]] = []
    size = MAX_BYTES
    for item in tapped:
        if not groups or len(groups[-1]) >= MAX_TENSORS or size >= MAX_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(item)
        size += item[0].nbytes
    return groups
