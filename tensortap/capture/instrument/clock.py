"""Counts the iterations of a loop while it runs, for what the branches in its body catch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tensorflow as tf

from tensortap.tf import internals

from .queues import HOST, MARK, keep_alive

_TICK = f"{MARK}/tick"


@dataclass(frozen=True, eq=False)
class Clock:
    """A counter that the graph and eager code share; 0 before each call of the tapped function.

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
        """How many iterations have begun since this was asked last."""
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
        """Makes a function read it, by nodes below `prefix`; returns what the definition calls the number,
        which is 1 in the first iteration."""
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
