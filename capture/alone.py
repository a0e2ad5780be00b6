"""Runs single nodes of a recorded call alone, from given inputs, also in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.dump import callees

from . import tf_private
from .random_ops import RANDOM_OPS

Array = np.ndarray[Any, Any]
_LOWER = (tf.float32, tf.float16, tf.bfloat16)


def not_alone(operation: Any) -> str:
    """Why a node cannot be judged alone, as `each …` goes on; empty if it can."""
    if not any(tensor.dtype in _LOWER for tensor in operation.outputs):
        return "gives no float16, bfloat16 or float32"
    if any(True for _ in callees(operation.node_def)):
        return "calls functions, whose nodes are judged one by one"
    if not operation.inputs:
        return "has no inputs"
    if any(tensor.dtype in (tf.resource, tf.variant) for tensor in (*operation.inputs, *operation.outputs)):
        return "takes or gives a resource or variant"
    if "Random" in operation.type or operation.type in RANDOM_OPS:
        return "draws random numbers, others in each dtype"
    return "has effects" if tf_private.is_stateful(operation.type) else ""


def run_alone_in_float64(operation: Any, inputs: Sequence[Array]) -> list[Array]:
    """One node's outputs, computed in float64 from inputs that are cast to it.

    Args:
        operation: of the graph of a `TracedFunction`.
        inputs: in the node's own dtypes.

    Raises:
        ValueError, tf.errors.OpError: the op has no float64 kernel, or refuses the inputs.
    """
    definition = tf.compat.v1.GraphDef()
    node = definition.node.add()
    node.CopyFrom(operation.node_def)
    node.name, node.device = "node", ""
    _to_float64(node)
    graph = tf.Graph()
    with graph.as_default():
        fed = [
            tf.compat.v1.placeholder(_wide(tensor.dtype), array.shape)
            for tensor, array in zip(operation.inputs, inputs, strict=True)
        ]
        node.ClearField("input")
        node.input.extend(tensor.name for tensor in fed)
        results = tf.graph_util.import_graph_def(
            definition,
            input_map={tensor.name: tensor for tensor in fed},
            return_elements=[f"node:{slot}" for slot in range(len(operation.outputs))],
        )
    feeds = {
        tensor: array.astype(np.float64) if tensor.dtype == tf.float64 else array
        for tensor, array in zip(fed, inputs, strict=True)
    }
    with tf.compat.v1.Session(graph=graph, config=_as_written()) as session:
        return [np.asarray(value) for value in session.run(results, feeds)]


def _to_float64(node: Any) -> None:
    wide, lower = tf.float64.as_datatype_enum, {dtype.as_datatype_enum for dtype in _LOWER}
    for name in list(node.attr):
        if name.startswith("_"):
            del node.attr[name]
            continue
        value = node.attr[name]
        if value.type in lower:
            value.type = wide
        for number, dtype in enumerate(value.list.type):
            if dtype in lower:
                value.list.type[number] = wide


def _wide(dtype: Any) -> Any:
    return tf.float64 if dtype in _LOWER else dtype


def _as_written() -> Any:
    """The graph optimiser must not merge or fold what is to be judged."""
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config
