"""Logic tests of one recorded step: batch independence, causality, padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.text import counted
from tensortap.dump.recording.recording import Recording

from ..run.float_arrays import is_float
from ..run.forward_pass import ForwardPass
from ..run.loaded_call import LoadedCall
from ..run.node_selection import SelectedNodes, pattern_of, visits_of
from ..run.override import override
from ..run.program_lines import ProgramLines
from .batch_inputs import BatchInputs, Exchanged
from .batch_norm import BatchNorms
from .leakage import Found, Part, leaks, unwritten
from .sequence_axes import check_sequences, cut_axes, unpadded


def batch_test(recording: Recording, lines: ProgramLines, options: Mapping[str, Any]) -> dict[str, Any]:
    """The first sample becomes another one: no row of any other sample may change."""
    inputs = BatchInputs.of(recording)

    def others(array: Array, visit: int, visits: int) -> Array | None:
        fits = array.ndim > 0 and array.shape[0] == inputs.batch
        return cut_axes(array, inputs.batch, slice(1, None)) if fits else None

    def note(chosen: SelectedNodes, found: Found) -> str:
        norms = BatchNorms(chosen)
        born = [leak.tensor for leak in found.leaks if leak.born]
        return describe_batch_norm(len(born), sum(map(norms.makes, born)))

    return _compared(recording, lines, inputs.changed(inputs.other_sample), others, "another sample", note)


def describe_batch_norm(places: int, normal: int) -> str:
    """Says of places where a batch leaks how many are batch normalization, whose moments are the batch's."""
    if not normal:
        return ""
    where = "all of it begins" if normal == places else f"of {places} places where it begins {normal} are"
    return f"; {where} in batch normalization, which in training takes the moments of the batch: expected"


def causal_test(recording: Recording, lines: ProgramLines, options: Mapping[str, Any]) -> dict[str, Any]:
    """The second half of each sequence changes: nothing at positions before it may."""
    inputs = BatchInputs.of(recording)
    if inputs.length < 2:
        raise NotFoundError("The step was given no sequences.", "This test needs inputs [batch, time, …].")

    def past(array: Array, visit: int, visits: int) -> Array | None:
        fits = array.ndim > 1 and array.shape[:2] == (inputs.batch, inputs.length)
        return cut_axes(array, inputs.length, slice(inputs.half)) if fits else None

    def check(chosen: SelectedNodes, found: Found) -> str:
        check_sequences(chosen, found.looked, inputs.batch, inputs.length)
        return ""

    return _compared(recording, lines, inputs.changed(inputs.other_future), past, "a later position", check)


def _compared(
    recording: Recording,
    lines: ProgramLines,
    exchanged: Exchanged,
    part: Part,
    source: str,
    note: Callable[[SelectedNodes, Found], str],
) -> dict[str, Any]:
    with LoadedCall(recording) as call:
        chosen = SelectedNodes(call, pattern_of(""))
        names = chosen.tensors()
        before = visits_of(call.run(lambda candidate: candidate.name in names))
        after = visits_of(call.run(lambda candidate: candidate.name in names, exchanged.arguments))
        forward = ForwardPass(call, unwritten(chosen, before, after))
        found = leaks(chosen, forward, before, after, part)
        told = _told(chosen, found, lines, source)
        told["summary"] += note(chosen, found)
    if exchanged.stayed:
        told["summary"] += f"; the same in all samples, and not exchanged: {', '.join(exchanged.stayed)}"
    return told


def _told(chosen: SelectedNodes, found: Found, lines: ProgramLines, source: str) -> dict[str, Any]:
    leaking, count = found.leaks, len(found.looked)
    if not leaking and found.left > count:
        raise NotFoundError(
            f"Most of the step cannot be judged: {found.left} of {found.left + count} tensors depend on"
            " variables that the step had written before.",
            "Record steps that run the model once before they change its variables.",
        )
    if not count:
        raise NotFoundError("No tensor of the step has the shape that this test looks at.")
    changing = f"{len(leaking)} of them with {source}" if leaking else f"none with {source}"
    left = f"; left out, as the step had written variables before: {found.left}" if found.left else ""
    return {
        "passed": not leaking,
        "summary": f"{counted(count, 'tensor')} looked at, changing: {changing}{left}",
        "columns": ["tensor", "op_type", "change", "line"],
        "rows": [
            {
                "tensor": leak.tensor,
                "op_type": leak.op_type,
                "change": leak.change,
                **_line(lines, leak.tensor),
            }
            for leak in leaking
            if leak.born
        ],
    }


def _line(lines: ProgramLines, tensor: str) -> dict[str, str]:
    where = lines.of(tensor.rpartition(":")[0])
    return {"line": f"{where['file']}:{where['line']}  {where['text']}" if where["line"] else ""}


def padding_test(recording: Recording, lines: ProgramLines, options: Mapping[str, Any]) -> dict[str, Any]:
    """What stands at padded positions changes, behind the place where the mask is made of them: no other
    position may, nor anything that has none.

    `options`: `pad`, the value that pads (0); `at`, the tensor [batch, time, …] that is changed (the output
    of the embedding).
    """
    inputs = BatchInputs.of(recording)
    mask = _padded(inputs, float(options.get("pad", 0)))
    with LoadedCall(recording) as call:
        chosen = SelectedNodes(call, pattern_of(""))
        before = chosen.values()
        at = str(options.get("at") or _embedding(chosen, before, mask.shape))
        with LoadedCall(override(recording, {at: _noise(mask)}, call)) as changed:
            names = chosen.tensors()
            after = visits_of(changed.run(lambda candidate: candidate.name in names))
        after.pop(at, None)  # it stands for what it was before the change
        forward = ForwardPass(call, unwritten(chosen, before, after))
        parts = (_outside(mask, range(mask.shape[1])), _outside(mask, range(mask.shape[1])[::-1]))
        found = leaks(chosen, forward, before, after, *parts, of=len(before.get(at, ())) or 1)
        return _told(chosen, found, lines, f"the padding of {at}")


def _outside(mask: Array, order: Sequence[int]) -> Part:
    """What must stay as it is when only padding changes.

    Args:
        mask: which positions are padding, bool [batch, time].
        order: the position that each visit in a loop over the positions is of.
    """

    def part(array: Array, visit: int, visits: int) -> Array | None:
        rows = 0 < array.ndim < 3 and array.shape[0] == mask.shape[0]
        here = ~mask[:, order[visit]] if rows and visits == len(order) else slice(None)
        if array.shape[:2] == mask.shape:
            return unpadded(array[here], mask[here]) if array.ndim == 2 else unpadded(array, mask)
        return array[here] if rows else array if array.ndim == 0 else None

    return part


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


def _embedding(chosen: SelectedNodes, values: Mapping[str, Any], shape: tuple[int, ...]) -> str:
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
