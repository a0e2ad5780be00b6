"""What came out of a call that was run again, beside what was recorded of it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap.capture import LoadedCall, Rerun, ulp_of_largest
from tensortap.dump import Recording

from .request import Answer

Array = np.ndarray[Any, Any]


def compared(recording: Recording, again: Rerun, changed: bool) -> Answer:
    """What came out, beside what was recorded. `changed`: tensors were, so that nothing can be proven."""
    differing = _differing(recording, again)
    failed = (
        "" if again.failure is None else f"{type(again.failure).__name__}: {again.failure}".splitlines()[0]
    )
    identical = not differing and bool(failed) == bool(recording.failed)
    return Answer(
        identical=None if changed else identical,
        outputs=len(recording.output_hashes),
        variables=len(recording.variable_hashes),
        differing=differing,
        tensors=len(again.tensors),
        failed=failed[:500],
        recorded_failure=recording.failed,
        versions=_versions(recording.versions),
    )


def _differing(recording: Recording, again: Rerun) -> list[str]:
    names = [argument.name for argument in recording.arguments]
    found = [
        f"output {number}"
        for number, (here, there) in enumerate(zip(again.outputs, recording.output_hashes, strict=False))
        if not recording.has_hash(here, there)
    ]
    left = again.variables
    found += [
        names[number]
        for number, there in recording.variable_hashes.items()
        if number < len(names) and not (number in left and recording.has_hash(left[number], there))
    ]
    return found + ["number of outputs"] * (len(again.outputs) != len(recording.output_hashes))


class Untapped:
    """A loaded call as it runs without taps on its tensors; run once, when that is asked for.

    Where nobody reads what is between two nodes, TensorFlow merges them into one kernel, or puts one for
    several that compute the same. Taps are read, and cost last bits where that rounds elsewhere.
    """

    def __init__(self, recording: Recording, call: LoadedCall) -> None:
        self._recording, self._call = recording, call
        self._again: Rerun | None = None

    def beside(self, answer: Answer, again: Rerun) -> dict[str, Any]:
        """Fields `untapped` and `ulp` of an answer; none where nothing was tapped, or nothing differs.

        Args:
            answer: `compared` of `again`.
        """
        if answer.identical is not False or not again.tensors:
            return {}
        if self._again is None:
            self._again = self._call.run()
        plain = compared(self._recording, self._again, changed=False)
        here, there = self._results(again), self._results(self._again)
        as_recorded = [name for name in answer.differing if name not in plain.differing and name in there]
        ulp = {name: ulp_of_largest(here[name], there[name]) for name in as_recorded if name in here}
        known = {name: distance for name, distance in ulp.items() if distance is not None}
        return {"untapped": plain.identical, "ulp": known}

    def _results(self, again: Rerun) -> Mapping[str, Array]:
        names = [argument.name for argument in self._recording.arguments]
        outputs = {f"output {number}": array for number, array in enumerate(again.outputs)}
        return outputs | {names[number]: array for number, array in again.variables.items()}


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
