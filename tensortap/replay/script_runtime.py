"""Functions that the scripts of `tensortap bundle --script` import, from `tensortap.replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tensortap.capture.recording.call_recorder import results_of
from tensortap.core.dtypes import Array
from tensortap.dump.recording.bundle import read_bundle
from tensortap.dump.recording.recording import Recording
from tensortap.tf import internals

from .execution.comparison import differing_results, numbered_results, result_name, ulp_of_largest
from .execution.float_arrays import is_float
from .execution.loaded_call import LoadedCall, RecordedInputs, variables_of

__all__ = ["RecordedInputs", "read_bundle", "recorded_constants", "report_differences"]

_OTHER_MACHINE = (
    "The bits also differ when the step runs as a graph here: the processor, device or version is different."
)
_EAGERLY = (
    "The step is bit-identical here when it runs as a graph. In graphs TensorFlow fuses and "
    "reorders nodes, which changes rounding. Adam turns rounding errors in gradients that should "
    "be 0 into full steps."
)


def recorded_constants(recording: Recording) -> dict[tuple[str, str], Any]:
    """The constants of a recording's functions as tensors, by function and node."""
    return {
        (definition.signature.name, node.name): tf.constant(tf.make_ndarray(node.attr["value"].tensor))
        for definition in internals.definitions(recording.library)
        for node in definition.node_def
        if node.op == "Const"
    }


def report_differences(recording: Recording, outputs: Sequence[Any], inputs: Sequence[Any]) -> list[str]:
    """Report which results differ from the recording, and by how much, in lines of text.

    A recording holds hashes of results: the distance is that from the whole step, run again as a graph.

    Args:
        outputs: of the root function.
        inputs: the arguments of the call, including variables.
    """
    here = numbered_results(results_of(outputs), variables_of(recording.arguments, inputs))
    unlike = differing_results(recording, here)
    count = len(recording.output_hashes) + len(recording.variable_hashes)
    lines = [f"{count - len(unlike)} of {count} outputs and variables are bit-identical to the recording"]
    if not unlike:
        return lines
    with LoadedCall(recording) as call:
        again = call.run()
    there = numbered_results(again.outputs, again.variables)
    far = (_distance(here.get(each), there.get(each)) for each in unlike)
    lines += [f"  {result_name(recording, each)}{text}" for each, text in zip(unlike, far, strict=True)]
    return [*lines, _OTHER_MACHINE if differing_results(recording, there) else _EAGERLY]


def _distance(here: Array | None, there: Array | None) -> str:
    if here is None or there is None or here.shape != there.shape or not is_float(there):
        return ""
    distance = ulp_of_largest(here, there)
    if distance is None:
        return ": NaN or infinity in other elements"
    return f": by up to {distance:,} ULP of its largest value"
