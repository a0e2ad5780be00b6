"""Queues that carry tensors out of a running function: one entry each time the tapped function runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.tf import internals

from ..tracing.traced_function import Place
from .added_nodes import HOST, MARK, keep_alive
from .device_summary import DeviceSummary
from .loop_iterations import IterationCounter, LoopStride

# Of one queue entry. An enqueue waits for its last tensor and holds all of them until then, so smaller is
# better for memory; but each entry costs two eager ops, at which the writer thread may take Python's
# lock for 5 ms.
MAX_TENSORS = 512
MAX_BYTES = 256 << 20

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
        internals.destroy_resource(self._handle)

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
        dtypes = [*(tapped.dtype for tapped in self.tapped), *([tf.int64] if self.is_numbered else [])]
        object.__setattr__(self, "_types", [dtype.as_datatype_enum for dtype in dtypes])

    @property
    def chooses(self) -> bool:
        """Whether its taps choose the iterations that they capture."""
        return self.stride is not None and not self.stride.divided

    @property
    def is_numbered(self) -> bool:
        """Whether each entry ends with the number of its iteration, from 1."""
        return self.counter is not None or self.chooses

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
        types = self._types if self.counter is not None else self._types[: len(self.tapped)]
        branch = internals.new_function(f"{self.name}_fill", types)
        given = [argument.name for argument in branch.signature.input_arg]
        if self.stride is not None and self.chooses:
            if self.counter is None:
                given.append(self.stride.add_run(branch, self.name, in_condition=self.in_condition))
            given.append(f"^{self.stride.add_choice(branch, given[-1], in_condition=self.in_condition)}")
        self._add_enqueue(branch, MARK, given)
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
        """All complete entries, oldest first: an array per tapped tensor, and the number of the iteration,
        from 1 (0 if entries have none). The caller is on the host's device."""
        waiting = internals.queue_size(self._handle)
        entries = [internals.dequeue(self._handle, self._types) for _ in range(waiting)]
        count, summarized = len(self.tapped), self._summarized
        return [
            (received(entry[:count], summarized), int(entry[-1]) if self.is_numbered else 0)
            for entry in entries
        ]

    def destroy(self) -> None:
        internals.destroy_resource(self._handle)


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
