"""What a generated script needs of a recording: its constants, and what it left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tensortap.dump import Recording

from . import tf_private
from .rerun import variables_of


def recorded_constants(recording: Recording) -> dict[tuple[str, str], Any]:
    """The constants of a recording's functions as tensors, by function and node."""
    return {
        (definition.signature.name, node.name): tf.constant(tf.make_ndarray(node.attr["value"].tensor))
        for definition in tf_private.definitions(recording.library)
        for node in definition.node_def
        if node.op == "Const"
    }


def unlike_recorded(
    recording: Recording, outputs: Sequence[Any], inputs: Sequence[Any]
) -> tuple[list[str], int]:
    """Names of what came out in other bits than recorded, and how many were compared.

    Args:
        outputs: of the root function.
        inputs: what it was called with, variables among them.
    """
    plain = [tensor for tensor in outputs if tensor.dtype not in (tf.resource, tf.variant)]
    unlike = [
        f"output {number}"
        for number, (here, there) in enumerate(zip(plain, recording.output_hashes, strict=False))
        if not recording.has_hash(tf_private.as_array(here), there)
    ]
    left = variables_of(recording.arguments, inputs)
    unlike += [
        recording.arguments[number].name
        for number, there in recording.variable_hashes.items()
        if number not in left or not recording.has_hash(left[number], there)
    ]
    return unlike, len(recording.output_hashes) + len(recording.variable_hashes)
