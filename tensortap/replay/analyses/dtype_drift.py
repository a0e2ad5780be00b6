"""Drift of a recorded step in another dtype: of each tensor, and how much of it each node introduces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import InvalidValueError
from tensortap.dump.recording.recording import Recording, array_hash
from tensortap.tf.random_ops import draws

from ..execution.dtype_change import change_dtype
from ..execution.loaded_call import CallResult, LoadedCall
from ..execution.node_selection import NodeKey, SelectedNodes, Visits, visits_of
from ..execution.single_node import IsolatedNodes, why_not_isolated
from .error_split import Split, split_error

DTYPES = ("float64", "float32", "bfloat16", "float16")
_WIDE = DTYPES[:2]


@dataclass(frozen=True, slots=True)
class TensorDrift:
    """A tensor of the step in the other dtype beside the recorded one; the wider of both is the reference.

    `dtype` is the recorded one; `given`: the node has no inputs that could have drifted.
    """

    tensor: str
    op_type: str
    dtype: str
    given: bool
    split: Split


def dtype_drift(recording: Recording, pattern: re.Pattern[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Answers the analysis `dtype`; `options["dtype"]` is one of `DTYPES`.

    Returns:
        `drifts` (`TensorDrift` as objects, most introduced first), `skipped` (reason -> nodes), `unlike`
        (tensors that ran another number of times or in another shape), `lacking` (nodes that ran in their
        own dtype),
        `variables` and `outputs` (their relative change, the largest first), `failed` (by dtype).

    Raises:
        InvalidValueError: no such dtype, or a node that changes a variable has no kernel for it.
    """
    dtype = str(options.get("dtype"))
    if dtype not in DTYPES:
        raise InvalidValueError(
            f"A step cannot run in dtype {dtype!r}.", f"Choose one of {', '.join(DTYPES)}."
        )
    with LoadedCall(recording) as call, LoadedCall(change_dtype(recording, dtype, call)) as other:
        chosen = SelectedNodes(call, pattern)
        names = chosen.tensors()
        recorded = call.run(lambda candidate: candidate.name in names)
        there = other.run(lambda candidate: candidate.name in names)
        pair = visits_of(recorded), visits_of(there)
        low, high = pair if dtype in _WIDE else pair[::-1]
        drift = _DriftAnalysis(chosen, low, high, _hashes(recording))
        found = drift.run(dtype if dtype in _WIDE else None)
    found.sort(
        key=lambda each: (-each.split.introduced_non_finite, -each.split.introduced, -each.split.total)
    )
    return {
        "dtype": dtype,
        "drifts": [asdict(each) for each in found],
        "skipped": dict(drift.skipped),
        "unlike": drift.unlike,
        "lacking": drift.lacking,
        "variables": _changes(recording, recorded, there),
        "outputs": [_change(f"output {n}", a, b) for n, (a, b) in enumerate(_outputs(recorded, there))],
        "failed": {
            name: str(run.failure).splitlines()[0][:300]
            for name, run in (("recorded", recorded), (dtype, there))
            if run.failure is not None
        },
    }


class _DriftAnalysis:
    """Compares the outputs of the chosen nodes at low precision with those at high precision.

    Args:
        given: hashes of the recorded arguments, i.e. of variables before they change.
    """

    def __init__(self, chosen: SelectedNodes, low: Visits, high: Visits, given: set[str]) -> None:
        self._chosen, self._low, self._high, self._given = chosen, low, high, given
        self.skipped: Counter[str] = Counter()
        self.unlike: list[str] = []
        self.lacking: dict[str, int] = {}

    def run(self, dtype: str | None) -> list[TensorDrift]:
        """`dtype`: of the precise run; None: as recorded."""
        found: list[TensorDrift] = []
        inputs: dict[NodeKey, list[list[Array]]] = {}
        for key, operation in self._chosen.operations.items():
            why = why_not_isolated(operation)
            read = None if why else self._chosen.inputs(key, self._low)
            if read is not None:
                inputs[key] = read
            elif self._is_source(key):
                found += self._drifts(key, None)
            else:
                self.skipped[why or "not run, or with an input that was not run"] += 1
        operations = {key: self._chosen.operations[key] for key in inputs}
        with IsolatedNodes(operations, dtype, keep_others=True) as alone:
            self.lacking = dict(Counter(operations[key].type for key in alone.lacking))
            for key, visits in alone.run_visits(inputs).items():
                found += self._drifts(key, visits)
        return found

    def _is_source(self, key: NodeKey) -> bool:
        """Whether a node's outputs come from outside the step, or from a seed."""
        operation = self._chosen.operations[key]
        if not operation.inputs or draws(operation.type) or "IteratorGetNext" in operation.type:
            return True
        first = self._recorded(self._chosen.outputs(key)[0]) if operation.type == "ReadVariableOp" else []
        return bool(first) and array_hash(first[0]) in self._given

    def _recorded(self, name: str) -> Sequence[Array]:
        dtype = self._chosen.candidates[name].dtype
        for values in (self._low, self._high):
            if name in values and str(values[name][0].dtype) == dtype:
                return values[name]
        return []

    def _drifts(self, key: NodeKey, between: Sequence[Sequence[Array]] | None) -> list[TensorDrift]:
        found = []
        for slot, name in enumerate(self._chosen.outputs(key)):
            candidate = self._chosen.candidates.get(name)
            if candidate is None or candidate.dtype not in DTYPES:
                continue
            low, high = self._low.get(name, []), self._high.get(name, [])
            middle = None if between is None else [visit[slot] for visit in between]
            parts = split_error(low, high, middle)
            if parts is None:
                self.unlike.append(name)
            elif low:
                found.append(TensorDrift(name, candidate.op_type, candidate.dtype, between is None, parts))
        return found


def _hashes(recording: Recording) -> set[str]:
    return {array_hash(array) for argument in recording.arguments for array in argument.arrays}


def _outputs(one: CallResult, other: CallResult) -> list[tuple[Array, Array]]:
    return [pair for pair in zip(one.outputs, other.outputs, strict=False) if str(pair[0].dtype) in DTYPES]


def _changes(recording: Recording, one: CallResult, other: CallResult) -> list[dict[str, Any]]:
    names = [argument.name for argument in recording.arguments]
    found = [
        _change(names[number], one.variables[number], other.variables[number])
        for number in one.variables
        if number in other.variables and str(one.variables[number].dtype) in DTYPES
    ]
    return sorted(found, key=lambda each: -each["change"])


def _change(name: str, recorded: Array, there: Array) -> dict[str, Any]:
    parts = split_error([there], [recorded], None)
    scalar = recorded.size == there.size == 1
    return {
        "name": name,
        "change": float(np.inf) if parts is None else parts.total,
        "recorded": float(recorded.reshape(())) if scalar else None,
        "in_dtype": float(there.reshape(())) if scalar else None,
    }
