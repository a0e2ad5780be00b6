"""Checks of a recorded step for independence: of samples in a batch, of earlier positions, of padding.

`BatchNormalizations` are found by what they compute, not by their names alone. Which axis holds the positions
is found by its length: `require_sequences` says whether there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.records import Graph
from tensortap.core.text import counted
from tensortap.dump.recording.recording import Recording

from ..execution.float_arrays import is_float
from ..execution.forward_pass import ForwardPass
from ..execution.loaded_call import LoadedCall
from ..execution.node_selection import SelectedNodes, pattern_of, visits_of
from ..execution.override import override
from ..execution.program_lines import ProgramLines
from ..protocol import CheckResult
from .batch_inputs import BatchInputs, ExchangedInputs
from .leakage import LeakReport, UnaffectedPart, find_leaks, unwritten_share


def check_batch(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """The first sample becomes another one: no row of any other sample may change."""
    inputs = BatchInputs.of(recording)

    def others(array: Array, visit: int, visits: int) -> Array | None:
        fits = array.ndim > 0 and array.shape[0] == inputs.batch
        return cut_axes(array, inputs.batch, slice(1, None)) if fits else None

    def note(chosen: SelectedNodes, found: LeakReport) -> str:
        norms = BatchNormalizations(chosen)
        origins = [leak.tensor for leak in found.leaks if leak.is_origin]
        return describe_batch_norm(len(origins), sum(map(norms.includes, origins)))

    return _compare(
        recording, graph, inputs.exchange(inputs.exchange_first_sample), others, "another sample", note
    )


def describe_batch_norm(places: int, normal: int) -> str:
    """Describes how many of the places where a batch leaks are batch normalization, which uses the moments of
    the batch."""
    if not normal:
        return ""
    where = "all of it starts" if normal == places else f"{normal} of its {places} origins are"
    return f"; {where} in batch normalization, which uses batch statistics in training: expected"


def check_causality(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """Changes the second half of each sequence: no earlier position may change."""
    inputs = BatchInputs.of(recording)
    if inputs.length < 2:
        raise NotFoundError(
            "The inputs of this step are not sequences.", "This test needs inputs of shape [batch, time, …]."
        )

    def past(array: Array, visit: int, visits: int) -> Array | None:
        fits = array.ndim > 1 and array.shape[:2] == (inputs.batch, inputs.length)
        return cut_axes(array, inputs.length, slice(inputs.half)) if fits else None

    def check(chosen: SelectedNodes, found: LeakReport) -> str:
        require_sequences(chosen, found.checked, inputs.batch, inputs.length)
        return ""

    return _compare(
        recording, graph, inputs.exchange(inputs.exchange_future), past, "a later position", check
    )


def _compare(
    recording: Recording,
    graph: Graph | None,
    exchanged: ExchangedInputs,
    part: UnaffectedPart,
    source: str,
    note: Callable[[SelectedNodes, LeakReport], str],
) -> CheckResult:
    with LoadedCall(recording) as call:
        chosen = SelectedNodes(call, pattern_of(""))
        names = chosen.tensors()
        before = visits_of(call.run(lambda candidate: candidate.name in names))
        after = visits_of(call.run(lambda candidate: candidate.name in names, exchanged.arguments))
        forward = ForwardPass(call, unwritten_share(chosen, before, after))
        found = find_leaks(chosen, forward, before, after, part)
        result = _result(found, graph, source)
        summary = result.summary + note(chosen, found)
    if exchanged.unchanged:
        summary += f"; not exchanged, as all samples are identical: {', '.join(exchanged.unchanged)}"
    return replace(result, summary=summary)


def _result(found: LeakReport, graph: Graph | None, source: str) -> CheckResult:
    leaking, count = found.leaks, len(found.checked)
    if not leaking and found.skipped > count:
        raise NotFoundError(
            f"Most of the step cannot be checked: {found.skipped} of {found.skipped + count} tensors depend"
            " on variables that the step had already changed.",
            "Record a step that runs the model before it changes variables.",
        )
    if not count:
        raise NotFoundError("No tensor of the step has the required shape.")
    changing = f"{len(leaking)} by {source}" if leaking else f"none by {source}"
    left = f"; skipped (after a change of variables): {found.skipped}" if found.skipped else ""
    lines = ProgramLines(graph)
    return CheckResult(
        passed=not leaking,
        summary=f"{counted(count, 'tensor')} checked; changed: {changing}{left}",
        columns=["tensor", "op_type", "change", "line"],
        rows=[
            {
                "tensor": leak.tensor,
                "op_type": leak.op_type,
                "change": leak.change,
                "line": lines.text_of(leak.tensor.rpartition(":")[0]),
            }
            for leak in leaking
            if leak.is_origin
        ],
    )


def check_padding(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """Changes the padded positions after the mask is computed: no other position may change, nor a tensor
    without positions.

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
        after.pop(at, None)  # it represents the tensor before the change
        forward = ForwardPass(call, unwritten_share(chosen, before, after))
        parts = (_outside(mask, range(mask.shape[1])), _outside(mask, range(mask.shape[1])[::-1]))
        found = find_leaks(chosen, forward, before, after, *parts, of=len(before.get(at, ())) or 1)
        return _result(found, graph, f"the padding of {at}")


def _outside(mask: Array, order: Sequence[int]) -> UnaffectedPart:
    """Tensors that must not change when only padding does.

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
    raise NotFoundError(
        f"No position of this batch is padded with {pad:g}.", "Pass the padding value: --pad."
    )


def _embedding(chosen: SelectedNodes, values: Mapping[str, Any], shape: tuple[int, ...]) -> str:
    for key, operation in chosen.operations.items():
        name = chosen.outputs(key)[0] if chosen.outputs(key) else ""
        fits = name in values and values[name][0].ndim == 3 and values[name][0].shape[:2] == shape
        if "Gather" in operation.type and fits and not operation.name.startswith("gradient"):
            return name
    raise NotFoundError(
        "No embedding with padding found.",
        "Pass a tensor of shape [batch, time, …] downstream of the mask: --at.",
    )


def _noise(mask: Array) -> Callable[[Any], Any]:
    def change(x: Any) -> Any:
        padded = tf.reshape(tf.constant(mask), [*mask.shape, *[1] * (x.shape.rank - 2)])
        return tf.where(padded, x + tf.cast(1.7, x.dtype), x)

    return change


# What `tf.nn.moments` and `tf.nn.batch_normalization` call their nodes, below the scope of a layer.
_NODE = re.compile(
    r"^(?P<scope>(?:.*/)?)(?:moments/(?:mean|StopGradient|SquaredDifference|variance|Squeeze(?:_1)?)"
    r"|batchnorm/(?:add|Rsqrt|mul(?:_[12])?|sub|add_1))$"
)


class BatchNormalizations:
    """The batch normalizations of a loaded call."""

    def __init__(self, chosen: SelectedNodes) -> None:
        self._operations = chosen.operations
        self._keys = {name: key for key in chosen.operations for name in chosen.outputs(key)}

    def includes(self, tensor: str) -> bool:
        """Whether a tensor belongs to a batch normalization in training: the fused op, or a node of a scope
        that takes mean and variance over the first axis, the batch, and normalizes with both. Other
        normalizations use moments per sample, and custom code in such a scope lacks the rest."""
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


def cut_axes(array: Array, extent: int, selected: slice) -> Array:
    """For each axis with `extent` elements, the elements to keep.

    Which axis counts the positions cannot be seen: scores of attention [batch, query, key] have two, and what
    a later mask hides in the second depends on all of the sequence. So all are cut.
    """
    return array[tuple(selected if each == extent else slice(None) for each in array.shape)]


def unpadded(array: Array, mask: Array) -> Array:
    """The elements, flat, of an array [batch, time, …] that are not padding along any axis of the length of
    `mask`, bool [batch, time]. If there are as many samples as positions, the array may also be [time, batch,
    …]."""
    batch, length = mask.shape
    selected = np.ones(array.shape, np.bool_)
    for samples in (0, 1) if batch == length else (0,):
        for axis in set(range(array.ndim)) - {samples}:
            if array.shape[axis] == length:
                shape = [1] * array.ndim
                shape[samples], shape[axis] = batch, length
                selected &= ~(mask if samples < axis else mask.T).reshape(shape)
    return np.asarray(array[selected])


_FORWARDING = frozenset({"IteratorGetNext", "OptionalGetValue", "Identity", "Cast"})


def require_sequences(chosen: SelectedNodes, tensors: Iterable[str], batch: int, length: int) -> None:
    """Requires tensors [batch, length, …] among those that the step computes from its inputs.

    Args:
        looked: tensors with such a shape.

    Raises:
        NotFoundError: a convolution runs over the second axis as the height of an image, or nothing that is
            computed has such an axis.
    """
    for operation in chosen.operations.values():
        if operation.type == "Conv2D":
            image, kernel = (
                tensor.shape.as_list() if tensor.shape.rank else [] for tensor in operation.inputs
            )
            is_image = image[1:2] == [length] and image[0] in (batch, None)
            if is_image and kernel[:1] not in ([], [1], [None]):
                raise NotFoundError(
                    f"The inputs are images, not sequences: {operation.name} convolves over the"
                    f" {length} rows.",
                    "This test needs inputs of shape [batch, time, …].",
                )
    if all(chosen.candidates[name].op_type in _FORWARDING for name in tensors):
        raise NotFoundError(
            f"The step has no sequences: no tensor has an axis of {length} positions.",
            "This test needs inputs of shape [batch, time, …] with separate positions.",
        )
