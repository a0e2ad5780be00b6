"""Runs single nodes of recorded calls with given inputs, as recorded or in another dtype."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.tf import internals
from tensortap.tf.random_ops import draws
from tensortap.tfproto.function_calls import callees

from .kernel_types import changed_types, input_types, set_types

Key = TypeVar("Key", bound=Hashable)
_LOWER = (tf.float32, tf.float16, tf.bfloat16)
_BATCH_NODES = 256  # nodes of one run; their results are in memory together


def why_not_isolated(operation: Any) -> str:
    """Why a node cannot be run alone and compared, in a few words; empty if it can."""
    if not any(tensor.dtype in _LOWER for tensor in operation.outputs):
        return "output is not float16, bfloat16 or float32"
    if any(True for _ in callees(operation.node_def)):
        return "calls a function; its nodes are checked one by one"
    if not operation.inputs:
        return "no inputs"
    if any(tensor.dtype in (tf.resource, tf.variant) for tensor in (*operation.inputs, *operation.outputs)):
        return "input or output is a resource or variant"
    if draws(operation.type):
        return "random numbers, which differ in each dtype"
    return "side effects" if internals.is_stateful(operation.type) else ""


class IsolatedNodes(Generic[Key]):
    """Copies of nodes in one session, each with its own inputs. A context manager.

    Args:
        operations: of the graphs of `TracedFunction`s; `why_not_isolated` must be empty for each.
        dtype: dtype for all floats of a node, if it has such a kernel; None: unchanged.
        otherwise: whether a node without such a kernel runs unchanged instead of being skipped.

    Attributes:
        lacking: nodes that have no kernel for `dtype`.
    """

    def __init__(
        self, operations: Mapping[Key, Any], dtype: str | None = None, *, keep_others: bool = False
    ) -> None:
        self.lacking: list[Key] = []
        self._types: dict[Key, list[Any]] = {}
        self._slots: dict[Key, int] = {}
        self._names: dict[Key, str] = {}
        graph_def = tf.compat.v1.GraphDef()
        for number, (key, operation) in enumerate(operations.items()):
            node = _copy(operation, f"node{number}")
            if dtype is not None and not _change_dtype(node, dtype):
                self.lacking.append(key)
                if not keep_others:
                    continue
            self._add(graph_def, key, node, len(operation.outputs))
        graph = tf.Graph()
        with graph.as_default():
            tf.graph_util.import_graph_def(graph_def, name="")
        self._session = tf.compat.v1.Session(graph=graph, config=_as_written())

    def _add(self, graph_def: Any, key: Key, node: Any, slots: int) -> None:
        self._names[key], self._slots[key] = node.name, slots
        self._types[key] = [tf.as_dtype(number) for number in input_types(node)]
        for number, dtype in enumerate(self._types[key]):
            name = f"{node.name}_in{number}"
            placeholder = graph_def.node.add(name=name, op="Placeholder")
            placeholder.attr["dtype"].type = dtype.as_datatype_enum
            node.input.append(name)
        graph_def.node.add().CopyFrom(node)

    def __contains__(self, key: Key) -> bool:
        return key in self._names

    def run(self, inputs: Mapping[Key, Sequence[Array]]) -> dict[Key, list[Array]]:
        """The outputs of some of the nodes, by slot; nodes that refuse their inputs are missing.

        Args:
            inputs: cast to the dtypes of the node's inputs.
        """
        keys = [key for key in inputs if key in self._names]
        found: dict[Key, list[Array]] = {}
        for first in range(0, len(keys), _BATCH_NODES):
            found.update(self._run({key: inputs[key] for key in keys[first : first + _BATCH_NODES]}))
        return found

    def run_visits(self, inputs: Mapping[Key, Sequence[Sequence[Array]]]) -> dict[Key, list[list[Array]]]:
        """`run` for each visit of each node; nodes that refuse one are missing."""
        found: dict[Key, list[list[Array]]] = {key: [] for key in inputs}
        for visit in range(max(map(len, inputs.values()), default=0)):
            at_visit = {key: visits[visit] for key, visits in inputs.items() if visit < len(visits)}
            for key, outputs in self.run(at_visit).items():
                found[key].append(outputs)
        return {key: visits for key, visits in found.items() if len(visits) == len(inputs[key])}

    def _run(self, inputs: Mapping[Key, Sequence[Array]]) -> Iterator[tuple[Key, list[Array]]]:
        """Halves a group that fails, until each failing node is alone."""
        fetches = {key: [f"{self._names[key]}:{slot}" for slot in range(self._slots[key])] for key in inputs}
        try:
            values = self._session.run(list(fetches.values()), dict(self._feeds(inputs)))
        except (tf.errors.OpError, ValueError, TypeError):
            keys = list(inputs)
            for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]) if len(keys) > 1 else ():
                yield from self._run({key: inputs[key] for key in half})
            return
        for key, value in zip(fetches, values, strict=True):
            yield key, [np.asarray(each) for each in value]

    def _feeds(self, inputs: Mapping[Key, Sequence[Array]]) -> Iterator[tuple[str, Array]]:
        for key, arrays in inputs.items():
            for number, (dtype, array) in enumerate(zip(self._types[key], arrays, strict=True)):
                wanted = dtype.as_numpy_dtype
                with np.errstate(all="ignore"):
                    fed = array if array.dtype == wanted or dtype == tf.string else array.astype(wanted)
                yield f"{self._names[key]}_in{number}:0", fed

    def __enter__(self) -> IsolatedNodes[Key]:
        return self

    def __exit__(self, *exc: object) -> None:
        self._session.close()


def _copy(operation: Any, name: str) -> Any:
    node = tf.compat.v1.NodeDef()
    node.CopyFrom(operation.node_def)
    node.name, node.device = name, ""
    node.ClearField("input")
    for attribute in [attribute for attribute in node.attr if attribute.startswith("_")]:
        del node.attr[attribute]
    return node


def _change_dtype(node: Any, dtype: str) -> bool:
    """Whether the node has a kernel for the dtype; it is changed then."""
    types = changed_types(node, tf.as_dtype(dtype).as_datatype_enum)
    if types is not None:
        set_types(node, types)
    return types is not None


def _as_written() -> Any:
    """Keeps the graph optimizer from merging or folding the nodes under test."""
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config
