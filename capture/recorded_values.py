"""What a generated script needs of a recording: its constants, and what it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.dump import Recording

from . import tf_private
from .rerun import LoadedCall, Rerun, variables_of

Array = np.ndarray[Any, Any]
# Of each float: the unit in the last place of 1, and the smallest number above 0.
_FLOATS = {
    "float64": (2.0**-52, 2.0**-1074),
    "float32": (2.0**-23, 2.0**-149),
    "bfloat16": (2.0**-7, 2.0**-133),
    "float16": (2.0**-10, 2.0**-24),
}


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


def told_unlike(recording: Recording, outputs: Sequence[Any], inputs: Sequence[Any]) -> list[str]:
    """What came out in other bits than recorded, and by how much; arguments of `unlike_recorded`.

    A recording holds hashes of results: the distance is that from the whole step, run again as a graph.
    """
    unlike, count = unlike_recorded(recording, outputs, inputs)
    told = [f"{count - len(unlike)} of {count} outputs and variables are bit-identical to the recording"]
    if not unlike:
        return told
    with LoadedCall(recording) as call:
        again = call.run()
    there = _named(recording, again.outputs, again.variables)
    plain = [tf_private.as_array(each) for each in outputs if each.dtype not in (tf.resource, tf.variant)]
    here = _named(recording, plain, variables_of(recording.arguments, inputs))
    told += [f"  {name}{_distance(here.get(name), there.get(name))}" for name in unlike]
    return [*told, _why(recording, again)]


def _why(recording: Recording, again: Rerun) -> str:
    same = all(
        number in again.variables and recording.has_hash(again.variables[number], there)
        for number, there in recording.variable_hashes.items()
    )
    if not same:
        return "As a graph the step gives other bits here, too: another processor, device or version."
    return (
        "As a graph the step gives the recorded bits here: TensorFlow merges and reorders nodes there, so"
        " that they round elsewhere than one by one. Adam makes whole steps of gradients that are only"
        " rounding errors."
    )


def _named(
    recording: Recording, outputs: Sequence[Array], variables: Mapping[int, Array]
) -> dict[str, Array]:
    found = {f"output {number}": array for number, array in enumerate(outputs)}
    return found | {recording.arguments[number].name: array for number, array in variables.items()}


def _distance(here: Array | None, there: Array | None) -> str:
    """The largest difference in units in the last place of the largest number."""
    if here is None or there is None or here.shape != there.shape or str(there.dtype) not in _FLOATS:
        return ""
    one, other = here.astype(np.float64), there.astype(np.float64)
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return ": other numbers are NaN or infinite"
    finite = np.isfinite(other)
    largest = float(np.max(np.abs(other[finite]), initial=0.0))
    off = float(np.max(np.abs(one[finite] - other[finite]), initial=0.0))
    if largest == 0.0 or off == 0.0:
        return f": by up to {off:.3g}"
    last_place, smallest = _FLOATS[str(there.dtype)]
    unit = max(last_place * 2.0 ** np.floor(np.log2(largest)), smallest)
    return f": by up to {max(1, round(off / unit)):,} ULP of its largest number"
