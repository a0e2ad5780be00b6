"""What came out of a call that was run again, beside what was recorded of it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap.dump.recording.model import Recording

from ..protocol import Answer
from .recorded_values import numbered_results, result_name, ulp_of_largest, unlike_results
from .rerun import LoadedCall, Rerun


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
    found = numbered_results(again.outputs, again.variables)
    unlike = unlike_results(recording, found)
    names = [result_name(recording, each) for each in unlike if each in found or each[0] == "variable"]
    return names + ["number of outputs"] * (len(again.outputs) != len(recording.output_hashes))


class Untapped:
    """A loaded call as it runs without taps on its tensors; run once, when that is asked for.

    Where nobody reads what is between two nodes, TensorFlow merges them into one kernel, or puts one for
    several that compute the same. Taps are read, and cost last bits where that rounds elsewhere.
    """

    def __init__(self, recording: Recording, call: LoadedCall) -> None:
        self._recording, self._call = recording, call

    @cached_property
    def _again(self) -> Rerun:
        return self._call.run()

    def beside(self, answer: Answer, again: Rerun) -> dict[str, Any]:
        """Fields `untapped` and `ulp` of an answer; none where nothing was tapped, or nothing differs.

        Args:
            answer: `compared` of `again`.
        """
        if answer.identical is not False or not again.tensors:
            return {}
        plain = compared(self._recording, self._again, changed=False)
        here = numbered_results(again.outputs, again.variables)
        there = numbered_results(self._again.outputs, self._again.variables)
        unlike = unlike_results(self._recording, there)
        farthest: dict[str, int | None] = {}  # by name, which several variables may have
        for each, array in there.items():
            name = result_name(self._recording, each)
            if name in answer.differing:
                known = each in here and each not in unlike
                ulp, before = ulp_of_largest(here[each], array) if known else None, farthest.get(name, 0)
                farthest[name] = None if ulp is None or before is None else max(ulp, before)
        return {
            "untapped": plain.identical,
            "ulp": {name: ulp for name, ulp in farthest.items() if ulp is not None},
        }


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
