"""Verdicts on all nodes of a recorded call, each run alone from its recorded inputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from tensortap.core.dtypes import Array
from tensortap.dump.recording.model import Recording

from ..protocol import Progress, ignore_progress
from ..run.node_selection import ChosenNodes, NodeKey, Visits
from ..run.rerun import LoadedCall
from ..run.single_node import AloneNodes, not_alone
from .verdict import ORDER, RTOL, Verdict, judge, moved_inputs, note_on


def verdicts(
    recording: Recording, pattern: re.Pattern[str], told: Progress = ignore_progress
) -> tuple[list[Verdict], dict[str, int]]:
    """Verdicts on the nodes whose tensors' names match, worst first, of the worst visit of each; and how many
    nodes were not judged, by reason.

    The tensors that the chosen nodes read and give are held in memory at once.
    """
    skipped: Counter[str] = Counter()
    with LoadedCall(recording) as call:
        chosen = ChosenNodes(call, pattern)
        told(f"computing what {len(chosen.operations):,} nodes read and give")
        values = chosen.values()
        inputs: dict[NodeKey, list[list[Array]]] = {}
        for key, operation in chosen.operations.items():
            read = chosen.inputs(key, values)
            why = not_alone(operation) or ("" if read else "did not run, or reads what did not")
            if why:
                skipped[why] += 1
            elif read:
                inputs[key] = read
        judged = {key: operation for key, operation in chosen.operations.items() if key in inputs}
        told(f"running {len(judged):,} nodes alone in float64")
        with AloneNodes(judged, "float64") as alone:
            worst: dict[str, Verdict] = {}
            refused = set(alone.lacking)
            for visit in range(max(map(len, inputs.values()), default=0)):
                at_visit = {key: read[visit] for key, read in inputs.items() if visit < len(read)}
                for verdict in _judged(alone, chosen, values, at_visit, visit, refused):
                    worst[verdict.tensor] = _worse(worst.get(verdict.tensor), verdict)
    for key in refused:
        skipped[f"cannot run in float64 ({judged[key].type})"] += 1
    return sorted(worst.values(), key=_badness), dict(skipped)


def _judged(
    alone: AloneNodes[NodeKey],
    chosen: ChosenNodes,
    values: Visits,
    inputs: Mapping[NodeKey, list[Array]],
    visit: int,
    refused: set[NodeKey],
) -> Iterator[Verdict]:
    wide = alone.run(inputs)
    types = {key: chosen.operations[key].type for key in wide}
    nudged = alone.run({key: moved_inputs(types[key], inputs[key]) for key in wide})
    refused |= inputs.keys() - nudged.keys()
    for key in nudged:
        for name, there, moved in zip(chosen.outputs(key), wide[key], nudged[key], strict=True):
            visits = values.get(name, ())
            if visit >= len(visits) or str(visits[visit].dtype) not in RTOL:
                continue
            if visits[visit].shape == there.shape == moved.shape:
                candidate = chosen.candidates[name]
                found = judge(visits[visit], there, moved, inputs[key])
                note = note_on(visits[visit], there)
                yield Verdict(name, candidate.op_type, candidate.dtype, *found, note, visit, len(visits))


def _worse(one: Verdict | None, other: Verdict) -> Verdict:
    return other if one is None else min(one, other, key=_badness)


def _badness(verdict: Verdict) -> tuple[int, float]:
    return ORDER.index(verdict.judgement), -verdict.relative
