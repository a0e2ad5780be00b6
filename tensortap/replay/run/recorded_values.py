"""What a generated script needs of a recording: its constants, and what it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import tensorflow as tf

from tensortap.capture.recording.call_recorder import results_of
from tensortap.core.dtypes import Array
from tensortap.dump.recording.model import Recording
from tensortap.tf import internals

from .rerun import LoadedCall, variables_of

T = TypeVar("T")
Result = tuple[Literal["output", "variable"], int]  # and its number: of two variables of one name, one
# Of each float: the unit in the last place of 1, and the smallest number above 0.
_RESOLUTION = {
    "float64": (2.0**-52, 2.0**-1074),
    "float32": (2.0**-23, 2.0**-149),
    "bfloat16": (2.0**-7, 2.0**-133),
    "float16": (2.0**-10, 2.0**-24),
}
_ELSEWHERE = "As a graph the step gives other bits here, too: another processor, device or version."
_EAGERLY = (
    "As a graph the step gives the recorded bits here: TensorFlow merges and reorders nodes there, so"
    " that they round elsewhere than one by one. Adam makes whole steps of gradients that are only"
    " rounding errors."
)


def recorded_constants(recording: Recording) -> dict[tuple[str, str], Any]:
    """The constants of a recording's functions as tensors, by function and node."""
    return {
        (definition.signature.name, node.name): tf.constant(tf.make_ndarray(node.attr["value"].tensor))
        for definition in internals.definitions(recording.library)
        for node in definition.node_def
        if node.op == "Const"
    }


def told_unlike(recording: Recording, outputs: Sequence[Any], inputs: Sequence[Any]) -> list[str]:
    """What came out in other bits than recorded, and by how much, in lines of text.

    A recording holds hashes of results: the distance is that from the whole step, run again as a graph.

    Args:
        outputs: of the root function.
        inputs: what it was called with, variables among them.
    """
    here = numbered_results(results_of(outputs), variables_of(recording.arguments, inputs))
    unlike = unlike_results(recording, here)
    count = len(recording.output_hashes) + len(recording.variable_hashes)
    told = [f"{count - len(unlike)} of {count} outputs and variables are bit-identical to the recording"]
    if not unlike:
        return told
    with LoadedCall(recording) as call:
        again = call.run()
    there = numbered_results(again.outputs, again.variables)
    far = (_distance(here.get(each), there.get(each)) for each in unlike)
    told += [f"  {result_name(recording, each)}{text}" for each, text in zip(unlike, far, strict=True)]
    return [*told, _ELSEWHERE if unlike_results(recording, there) else _EAGERLY]


def numbered_results(outputs: Sequence[T], variables: Mapping[int, T]) -> dict[Result, T]:
    """The results of a call, or something of each, by which of them it is."""
    found: dict[Result, T] = {("output", number): each for number, each in enumerate(outputs)}
    return found | {("variable", number): each for number, each in variables.items()}


def unlike_results(recording: Recording, found: Mapping[Result, Array]) -> list[Result]:
    """Which results have other bits than recorded, or are missing."""
    recorded = numbered_results(recording.output_hashes, recording.variable_hashes)
    return [
        which
        for which, there in recorded.items()
        if which not in found or not recording.has_hash(found[which], there)
    ]


def result_name(recording: Recording, result: Result) -> str:
    """What people call a result; several variables may have one name."""
    kind, number = result
    return recording.arguments[number].name if kind == "variable" else f"output {number}"


def _distance(here: Array | None, there: Array | None) -> str:
    if here is None or there is None or here.shape != there.shape or str(there.dtype) not in _RESOLUTION:
        return ""
    distance = ulp_of_largest(here, there)
    if distance is None:
        return ": other numbers are NaN or infinite"
    return f": by up to {distance:,} ULP of its largest number"


def ulp_of_largest(here: Array, there: Array) -> int | None:
    """The largest difference in units in the last place of the largest number of both, rounded; at least 1
    where there is any, 0 where only signs of 0 or payloads of NaN differ.

    Returns:
        None where the shapes or dtypes differ, no floats are held, or other numbers are NaN or infinite.
    """
    if here.shape != there.shape or here.dtype != there.dtype or str(there.dtype) not in _RESOLUTION:
        return None
    one, other = here.astype(np.float64), there.astype(np.float64)
    finite = np.isfinite(other)
    # Infinities of the other sign and NaN instead of one are other numbers, too.
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True) or not np.isfinite(one[finite]).all():
        return None
    one, other = one[finite], other[finite]
    if np.array_equal(one, other):
        return 0
    last_place, smallest = _RESOLUTION[str(there.dtype)]
    exponent = np.floor(np.log2(max(np.abs(one).max(), np.abs(other).max())))
    unit = max(last_place * 2.0**exponent, smallest)
    return max(1, round(float(np.abs(one / unit - other / unit).max())))
