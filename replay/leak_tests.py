"""Logic tests of one recorded step: batch independence, causality, padding."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.capture import LoadedCall, override
from tensortap.dump import NotFoundError, Recording

from .batch_inputs import BatchInputs, Exchanged
from .chosen_nodes import ChosenNodes, pattern_of, visits_of
from .leaks import Part, is_float, leaks
from .positions import cut, unpadded
from .source_lines import SourceLines

Array = np.ndarray[Any, Any]
_MOMENTS = re.compile(r"/(moments|batchnorm)/")
"""Scopes of `tf.nn.moments` and `tf.nn.batch_normalization`, as Keras' layer calls them. They leak only if
their moments are over the batch: those of a layer normalization are a sample's own."""


def batch_test(recording: Recording, lines: SourceLines, options: Mapping[str, Any]) -> dict[str, Any]:
    """The first sample becomes another one: no row of any other sample may change."""
    inputs = BatchInputs.of(recording)

    def others(array: Array) -> Array | None:
        fits = array.ndim > 0 and array.shape[0] == inputs.batch
        return cut(array, inputs.batch, slice(1, None)) if fits else None

    told = _compared(recording, lines, inputs.changed(inputs.other_sample), others, "another sample")
    told["summary"] += batch_norm_note(told["rows"])
    return told


def batch_norm_note(rows: Sequence[Mapping[str, Any]]) -> str:
    """Says of rows of the batch test whether they are batch normalization: its moments are the batch's."""
    own = [
        row
        for row in rows
        if row["op_type"].startswith("FusedBatchNorm") or _MOMENTS.search(row["tensor"]) is not None
    ]
    if not own:
        return ""
    where = (
        "all of it begins"
        if len(own) == len(rows)
        else f"of {len(rows)} places where it begins {len(own)} are"
    )
    return f"; {where} in batch normalization, which in training takes the moments of the batch: expected"


def causal_test(recording: Recording, lines: SourceLines, options: Mapping[str, Any]) -> dict[str, Any]:
    """The second half of each sequence changes: nothing at positions before it may."""
    inputs = BatchInputs.of(recording)
    if inputs.length < 2:
        raise NotFoundError("The step was given no sequences.", "This test needs inputs [batch, time, …].")

    def past(array: Array) -> Array | None:
        fits = array.ndim > 1 and array.shape[:2] == (inputs.batch, inputs.length)
        return cut(array, inputs.length, slice(inputs.half)) if fits else None

    return _compared(recording, lines, inputs.changed(inputs.other_future), past, "a later position")


def _compared(
    recording: Recording, lines: SourceLines, exchanged: Exchanged, part: Part, source: str
) -> dict[str, Any]:
    with LoadedCall(recording) as call:
        chosen = ChosenNodes(call, pattern_of(""))
        names = chosen.tensors()
        before = visits_of(call.run(lambda candidate: candidate.name in names))
        after = visits_of(call.run(lambda candidate: candidate.name in names, exchanged.arguments))
        told = _told(chosen, before, after, part, lines, source)
    if exchanged.stayed:
        told["summary"] += f"; the same in all samples, and not exchanged: {', '.join(exchanged.stayed)}"
    return told


def _told(
    chosen: ChosenNodes, before: Any, after: Any, part: Part, lines: SourceLines, source: str
) -> dict[str, Any]:
    found, count = leaks(chosen, before, after, part)
    born = [leak for leak in found if leak.born]
    if not count:
        raise NotFoundError("No tensor of the step has the shape that this test looks at.")
    changing = f"{len(found)} of them with {source}" if found else f"none with {source}"
    return {
        "passed": not found,
        "summary": f"{count} tensors looked at, changing: {changing}",
        "columns": ["tensor", "op_type", "change", "line"],
        "rows": [
            {
                "tensor": leak.tensor,
                "op_type": leak.op_type,
                "change": leak.change,
                **_line(lines, leak.tensor),
            }
            for leak in born
        ],
    }


def _line(lines: SourceLines, tensor: str) -> dict[str, str]:
    where = lines.of(tensor.rpartition(":")[0])
    return {"line": f"{where['file']}:{where['line']}  {where['text']}" if where["line"] else ""}


def padding_test(recording: Recording, lines: SourceLines, options: Mapping[str, Any]) -> dict[str, Any]:
    """What stands at padded positions changes, behind the place where the mask is made of them: no other
    position may, nor anything that has none.

    `options`: `pad`, the value that pads (0); `at`, the tensor [batch, time, …] that is changed (the output
    of the embedding).
    """
    inputs = BatchInputs.of(recording)
    mask = _padded(inputs, float(options.get("pad", 0)))
    with LoadedCall(recording) as call:
        chosen = ChosenNodes(call, pattern_of(""))
        before = chosen.values()
        at = str(options.get("at") or _embedding(chosen, before, mask.shape))
        with LoadedCall(override(recording, {at: _noise(mask)}, call)) as changed:
            names = chosen.tensors()
            after = visits_of(changed.run(lambda candidate: candidate.name in names))
        after.pop(at, None)  # it stands for what it was before the change

        def outside(array: Array) -> Array | None:
            if array.shape[:2] == mask.shape:
                return unpadded(array, mask)
            whole = array.ndim == 0 or (array.ndim < 3 and array.shape[0] == inputs.batch)
            return array if whole else None

        return _told(chosen, before, after, outside, lines, f"the padding of {at}")


def _padded(inputs: BatchInputs, pad: float) -> Array:
    """Which positions are padding, bool [batch, time].

    Raises:
        NotFoundError: none is.
    """
    for array in inputs.arrays():
        if (
            array.ndim > 1
            and array.shape[1] == inputs.length
            and (array.dtype.kind in "iu" or is_float(array))
        ):
            flat = (array == pad).reshape(*array.shape[:2], -1)
            mask = np.asarray(flat.all(-1))
            if mask.any() and not mask.all():
                return mask
    raise NotFoundError(f"No position of this batch is padded with {pad:g}.", "Name the value: --pad.")


def _embedding(chosen: ChosenNodes, values: Mapping[str, Any], shape: tuple[int, ...]) -> str:
    for key, operation in chosen.operations.items():
        name = chosen.outputs(key)[0] if chosen.outputs(key) else ""
        fits = name in values and values[name][0].ndim == 3 and values[name][0].shape[:2] == shape
        if "Gather" in operation.type and fits and not operation.name.startswith("gradient"):
            return name
    raise NotFoundError(
        "No embedding was found behind which padding could be changed.",
        "Name the tensor [batch, time, …] that the mask no longer reads: --at.",
    )


def _noise(mask: Array) -> Callable[[Any], Any]:
    def change(x: Any) -> Any:
        padded = tf.reshape(tf.constant(mask), [*mask.shape, *[1] * (x.shape.rank - 2)])
        return tf.where(padded, x + tf.cast(1.7, x.dtype), x)

    return change
