"""Verdicts on all nodes of a recorded call, each run alone from its recorded inputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.capture import Candidate, LoadedCall, not_alone, run_alone_in_float64
from tensortap.dump import Recording

from .verdict import ORDER, RTOL, Verdict, judge, moved_by_one_ulp

Array = np.ndarray[Any, Any]


def verdicts(recording: Recording, pattern: re.Pattern[str]) -> tuple[list[Verdict], dict[str, int]]:
    """Verdicts on the nodes whose tensors' names match, worst first, at the first visit of each; and how many
    nodes were not judged, by reason.

    The tensors that the chosen nodes read and give are held in memory at once.
    """
    found: list[Verdict] = []
    skipped: Counter[str] = Counter()
    with LoadedCall(recording) as call:
        operations = dict(_chosen(call, pattern))
        names = {place: candidate.name for place, candidate in call.recorded.candidates.items()}
        wanted = {
            names.get((function, tensor.op.name, tensor.value_index), "")
            for (function, _), operation in operations.items()
            for tensor in (*operation.inputs, *operation.outputs)
        }
        again = call.run(lambda candidate: candidate.name in wanted)
        first = {candidate.name: (candidate, array) for candidate, visit, array in again.tensors if not visit}
        for (function, _), operation in operations.items():
            try:
                found += _judged(function, operation, names, first)
            except _NotJudgedError as error:
                skipped[str(error)] += 1
    found.sort(key=lambda each: (ORDER.index(each.judgement), -each.relative))
    return found, dict(skipped)


class _NotJudgedError(Exception):
    """The reason, as `each …` goes on."""


def _chosen(call: LoadedCall, pattern: re.Pattern[str]) -> Iterator[tuple[tuple[str, str], Any]]:
    for (function, node, _), candidate in call.recorded.candidates.items():
        traced = call.recorded.functions[function]
        if pattern.search(candidate.name) and node not in traced.arguments:
            yield (function, node), traced.operations[node]


def _judged(
    function: str,
    operation: Any,
    names: Mapping[tuple[str, str, int], str],
    first: Mapping[str, tuple[Candidate, Array]],
) -> list[Verdict]:
    why = not_alone(operation)
    if why:
        raise _NotJudgedError(why)
    try:
        inputs = [first[names[function, each.op.name, each.value_index]][1] for each in operation.inputs]
    except KeyError as error:
        raise _NotJudgedError("did not run, or reads what did not") from error
    moved = [moved_by_one_ulp(array) for array in inputs]
    try:
        wide, nudged = run_alone_in_float64(operation, inputs), run_alone_in_float64(operation, moved)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        raise _NotJudgedError(f"cannot run in float64 ({operation.type})") from error
    found = []
    for slot, results in enumerate(zip(wide, nudged, strict=True)):
        known = first.get(names.get((function, operation.name, slot), ""))
        if known is not None and str(known[1].dtype) in RTOL and results[0].shape == known[1].shape:
            candidate, array = known
            found.append(
                Verdict(candidate.name, candidate.op_type, candidate.dtype, *judge(array, *results, inputs))
            )
    return found
