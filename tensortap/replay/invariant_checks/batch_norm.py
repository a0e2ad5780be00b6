"""Batch normalization among the nodes of a step, found by what it computes, not by its name alone."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from ..run.node_selection import SelectedNodes

# What `tf.nn.moments` and `tf.nn.batch_normalization` call their nodes, below the scope of a layer.
_NODE = re.compile(
    r"^(?P<scope>(?:.*/)?)(?:moments/(?:mean|StopGradient|SquaredDifference|variance|Squeeze(?:_1)?)"
    r"|batchnorm/(?:add|Rsqrt|mul(?:_[12])?|sub|add_1))$"
)


class BatchNormalizations:
    """Those of a call."""

    def __init__(self, chosen: SelectedNodes) -> None:
        self._operations = chosen.operations
        self._keys = {name: key for key in chosen.operations for name in chosen.outputs(key)}

    def includes(self, tensor: str) -> bool:
        """Whether a tensor is part of a batch normalization in training: its fused op, or a node of a scope
        which takes mean and variance over the first axis, the batch, and normalizes with both. The moments of
        other normalizations are a sample's own; own code in such a scope lacks the rest."""
        function, node = self._keys[tensor]
        if self._operations[function, node].type.startswith("FusedBatchNorm"):
            return True
        found = _NODE.match(node)
        if found is None:
            return False
        scope = found["scope"]
        types = {
            "moments/SquaredDifference": "SquaredDifference",
            "batchnorm/Rsqrt": "Rsqrt",
            "batchnorm/add_1": "AddV2",
        }
        parts = {name: self._operations.get((function, scope + name)) for name in types}
        return all(part is not None and part.type == types[name] for name, part in parts.items()) and all(
            self._is_over_batch(self._operations.get((function, f"{scope}moments/{name}")))
            for name in ("mean", "variance")
        )

    def _is_over_batch(self, operation: Any) -> bool:
        if operation is None or operation.type != "Mean":
            return False
        axes, rank = tf.get_static_value(operation.inputs[1]), operation.inputs[0].shape.rank
        return axes is not None and any(axis == 0 or axis == -(rank or 0) for axis in axes.reshape(-1))
