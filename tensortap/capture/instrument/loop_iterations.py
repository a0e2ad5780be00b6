"""What counts the iterations of loops, and chooses those that a call captures. The graph and eager code share
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tensorflow as tf

from tensortap.tf import internals

from .added_nodes import HOST, MARK, add_node, keep_alive

_TICK = f"{MARK}/tick"


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
        internals.destroy_resource(self._handle)

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

    def add_reading(self, definition: internals.FunctionDef, prefix: str, after: Sequence[str] = ()) -> str:
        """Adds nodes below `prefix` that read the counter to a function, `after` other nodes; returns the
        tensor's name. The first iteration has the number 1."""
        reading = definition.node_def.add(name=f"{prefix}/iteration", op="ReadVariableOp", device=HOST)
        reading.input.extend([self._add_handle(definition, prefix), *(f"^{node}" for node in after)])
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
        divided: whether the other iterations run without taps (`loop_stride.divide`); otherwise the taps
            choose in each iteration.

    Attributes:
        length: iterations of the latest captured call.
        counter: shares them with the graph, if the loop is divided.
        runs: count the runs of the taps of each queue, if not; and whether these are in the condition.
    """

    def __init__(self, name: str, *, divided: bool = True) -> None:
        self.name = name
        self.divided = divided
        self.length = 0
        self.runs: list[tuple[IterationCounter, bool]] = []
        self.counter = IterationCounter(f"{name}_length")
        self._expected = 0
        self._plan = 0, -1  # interval, last iteration; interval 0: the taps are off

    @cached_property
    def _handle(self) -> Any:
        with tf.device(HOST):
            return tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[2], shared_name=self.name)

    def open(self) -> None:
        """Creates what graph and eager code share. Must happen before the function runs."""
        for counter in self._counters:
            counter.open()
        self._assign(*self._plan)

    def destroy(self) -> None:
        internals.destroy_resource(self._handle)
        for counter in self._counters:
            counter.destroy()

    @property
    def _counters(self) -> list[IterationCounter]:
        return [self.counter] if self.divided else [counter for counter, _ in self.runs]

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
        if self.divided:
            self._change(0, -1)

    def end(self) -> None:
        """The call ended."""
        if self.divided:
            self.length = self.counter.take()
        else:
            self.length = max((run.take() - in_condition for run, in_condition in self.runs), default=0)
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

    def add_run(self, branch: internals.FunctionDef, name: str, *, in_condition: bool) -> str:
        """Makes a function count its runs, under a unique name; returns the tensor with the count."""
        counter = IterationCounter(f"{name}_runs")
        self.runs.append((counter, in_condition))
        counter.add_tick(branch, [])
        return counter.add_reading(branch, MARK, after=[_TICK])

    def add_choice(self, branch: internals.FunctionDef, run: str, *, in_condition: bool) -> str:
        """Adds nodes to a function that runs at each iteration; returns the node that runs only if this one
        is captured.

        Args:
            run: the tensor with the number of the iteration, from 1.
        """
        prefix = f"{MARK}/stride"
        types: dict[str, Any] = {"T": tf.int64}
        add_node(branch, f"{prefix}/plan", "VarHandleOp", dtype=tf.int64, shape=(2,), shared_name=self.name)
        add_node(branch, f"{prefix}/read", "ReadVariableOp", f"{prefix}/plan:resource:0", dtype=tf.int64)
        add_node(branch, f"{prefix}/parts", "Unpack", f"{prefix}/read:value:0", **types, num=2, axis=0)
        interval, last = f"{prefix}/parts:output:0", f"{prefix}/parts:output:1"
        add_node(branch, f"{prefix}/zero", "Const", dtype=tf.int64, value=0)
        add_node(branch, f"{prefix}/one", "Const", dtype=tf.int64, value=1)
        add_node(branch, f"{prefix}/number", "Sub", run, f"{prefix}/one:output:0", **types)
        add_node(branch, f"{prefix}/phase", "FloorMod", f"{prefix}/number:z:0", interval, **types)
        add_node(branch, f"{prefix}/fits", "Equal", f"{prefix}/phase:z:0", f"{prefix}/zero:output:0", **types)
        add_node(branch, f"{prefix}/last", "Equal", f"{prefix}/number:z:0", last, **types)
        add_node(branch, f"{prefix}/body", "LogicalOr", f"{prefix}/fits:z:0", f"{prefix}/last:z:0")
        add_node(branch, f"{prefix}/after", "AddV2", last, f"{prefix}/one:output:0", **types)
        add_node(branch, f"{prefix}/end", "Equal", f"{prefix}/number:z:0", f"{prefix}/after:z:0", **types)
        add_node(branch, f"{prefix}/cond", "LogicalOr", f"{prefix}/body:z:0", f"{prefix}/end:z:0")
        chosen = f"{prefix}/cond:z:0" if in_condition else f"{prefix}/body:z:0"
        add_node(branch, f"{prefix}/switch", "Switch", chosen, chosen, T=tf.bool)
        captured = f"{prefix}/captured"
        add_node(branch, captured, "Identity", f"{prefix}/switch:output_true:0", T=tf.bool)
        return captured

    def _change(self, interval: int, last: int) -> None:
        if (interval, last) != self._plan:
            self._assign(interval, last)

    def _assign(self, interval: int, last: int) -> None:
        with tf.device(HOST):
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=tf.constant([interval, last], tf.int64))
        self._plan = interval, last
