"""Comparison of a call that ran again with its recording, bit by bit: results, and captured tensors."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, TypeVar

import keras
import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.dump.recording.recording import Recording

from ..protocol import ResultComparison
from .loaded_call import CallResult, LoadedCall

T = TypeVar("T")
Result = tuple[Literal["output", "variable"], int]  # and its number: of two variables of one name, one
# Of each float: the unit in the last place of 1, and the smallest number above 0.
_RESOLUTION = {
    "float64": (2.0**-52, 2.0**-1074),
    "float32": (2.0**-23, 2.0**-149),
    "bfloat16": (2.0**-7, 2.0**-133),
    "float16": (2.0**-10, 2.0**-24),
}


def compare_results(recording: Recording, again: CallResult, changed: bool) -> ResultComparison:
    """Compares outputs and variables with the recorded ones. `changed`: tensors were changed."""
    differing = _differing(recording, again)
    failed = (
        "" if again.failure is None else f"{type(again.failure).__name__}: {again.failure}".splitlines()[0]
    )
    identical = not differing and bool(failed) == bool(recording.failed)
    return ResultComparison(
        identical=None if changed else identical,
        outputs=len(recording.output_hashes),
        variables=len(recording.variable_hashes),
        differing=differing,
        failed=failed[:500],
        recorded_failure=recording.failed,
        versions=_versions(recording.versions),
    )


def _differing(recording: Recording, again: CallResult) -> list[str]:
    found = numbered_results(again.outputs, again.variables)
    unlike = differing_results(recording, found)
    names = [result_name(recording, each) for each in unlike if each in found or each[0] == "variable"]
    return names + ["number of outputs"] * (len(again.outputs) != len(recording.output_hashes))


class UntappedRun:
    """A loaded call run without taps on its tensors; it runs on first use.

    If nothing else reads the tensor between two nodes, TensorFlow may merge them into one kernel, or replace
    equal nodes by one. Taps are read, and cost last bits where that rounds elsewhere.
    """

    def __init__(self, recording: Recording, call: LoadedCall) -> None:
        self._recording, self._call = recording, call

    @cached_property
    def _again(self) -> CallResult:
        return self._call.run()

    def explain(self, results: ResultComparison, again: CallResult) -> ResultComparison:
        """Adds `untapped` and `ulp`, where something was tapped and results differ.

        Args:
            results: `compare_results` of `again`.
        """
        if results.identical is not False or not again.tensors:
            return results
        plain = compare_results(self._recording, self._again, changed=False)
        here = numbered_results(again.outputs, again.variables)
        there = numbered_results(self._again.outputs, self._again.variables)
        unlike = differing_results(self._recording, there)
        farthest: dict[str, int | None] = {}  # by name, which several variables may have
        for each, array in there.items():
            name = result_name(self._recording, each)
            if name in results.differing:
                known = each in here and each not in unlike
                ulp, before = ulp_of_largest(here[each], array) if known else None, farthest.get(name, 0)
                farthest[name] = None if ulp is None or before is None else max(ulp, before)
        distances = {name: ulp for name, ulp in farthest.items() if ulp is not None}
        return replace(results, untapped=plain.identical, ulp=distances)


def _versions(recorded: Mapping[str, str]) -> list[str]:
    here = {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
    }
    return [
        f"{name}: {recorded[name]}, here {version}"
        for name, version in here.items()
        if name in recorded and recorded[name] != version
    ]


class CapturedHashes:
    """Compares visits of tensors with the hashes that a recording has of them."""

    def __init__(self, recording: Recording) -> None:
        self._recorded = recording.tensor_hashes
        self._found: dict[str, list[bool]] = {}

    def add(self, tensor: str, visit: int, digest: str) -> None:
        """A visit that was computed again; `digest`: its `array_hash`."""
        recorded = self._recorded.get(tensor, ())
        if visit < len(recorded) and recorded[visit]:
            self._found.setdefault(tensor, []).append(recorded[visit] == digest)

    def of(self, tensor: str) -> bool | None:
        """Whether each captured visit was reproduced bit by bit; None: none was captured."""
        if not _captured(self._recorded.get(tensor, ())):
            return None
        found = self._found.get(tensor, [])
        return all(found) and len(found) == _captured(self._recorded[tensor])

    def all(self) -> Mapping[str, bool]:
        """Compare the tensors that were computed again and had been captured."""
        return {tensor: bool(self.of(tensor)) for tensor in self._found}


def _captured(hashes: Sequence[str]) -> int:
    return sum(map(bool, hashes))


def numbered_results(outputs: Sequence[T], variables: Mapping[int, T]) -> dict[Result, T]:
    """The results of a call, or one value per result, by result number."""
    found: dict[Result, T] = {("output", number): each for number, each in enumerate(outputs)}
    return found | {("variable", number): each for number, each in variables.items()}


def differing_results(recording: Recording, found: Mapping[Result, Array]) -> list[Result]:
    """Which results have other bits than recorded, or are missing."""
    recorded = numbered_results(recording.output_hashes, recording.variable_hashes)
    return [
        which
        for which, there in recorded.items()
        if which not in found or not recording.has_hash(found[which], there)
    ]


def result_name(recording: Recording, result: Result) -> str:
    """Name of a result; several variables may have one name."""
    kind, number = result
    return recording.arguments[number].name if kind == "variable" else f"output {number}"


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
