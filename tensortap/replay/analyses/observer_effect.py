"""The observer effect: runs a recorded call with and without taps to check whether capture changes its
results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tensortap.capture.tracing.candidate import Candidate
from tensortap.dump.recording.recording import Recording, array_hash

from ..execution.loaded_call import CallResult, LoadedCall


@dataclass(frozen=True, slots=True)
class ObserverEffect:
    """Results that capturing changes.

    Attributes:
        tensors: how many were captured at once.
        changed: names of the variables, and `output N`, that came out in other bits than without taps.
        first: if any did, the first tensor, in the order of the graph, such that capturing it and all before
            it makes the difference; empty otherwise.
        kept: number of tensors compared with the recorded call by their hashes; set by the caller.
        unlike_kept: those of them that differ from it.
        unstable: results that differ between two runs without taps: of them it cannot be said.
    """

    tensors: int
    changed: Sequence[str]
    first: str
    kept: int = 0
    unlike_kept: Sequence[str] = ()
    unstable: Sequence[str] = ()


def measure_observer_effect(
    recording: Recording, call: LoadedCall, tensors: Sequence[Candidate]
) -> ObserverEffect:
    """Captures all of `tensors` at once; if that changes a result, finds the first one that does.

    Results that differ each time are recognized by a second run without taps.
    The search halves the list, so it assumes that more taps never undo what fewer changed.
    """
    names = [argument.name for argument in recording.arguments]
    plain = call.run()
    unstable = _differing(names, plain, call.run())

    def changed_by(tapped: Sequence[Candidate]) -> list[str]:
        found = _differing(names, plain, _tapped(call, tapped))
        return [name for name in found if name not in unstable]

    changed = changed_by(tensors)
    if not changed:
        return ObserverEffect(len(tensors), (), "", unstable=unstable)
    low, high = 0, len(tensors)  # the first `low` change nothing, the first `high` do
    while high - low > 1:
        middle = (low + high) // 2
        if changed_by(tensors[:middle]):
            high = middle
        else:
            low = middle
    return ObserverEffect(len(tensors), changed, tensors[high - 1].name, unstable=unstable)


def _tapped(call: LoadedCall, tensors: Collection[Candidate]) -> CallResult:
    wanted = {candidate.name for candidate in tensors}
    return call.run(lambda candidate: candidate.name in wanted)


def _differing(names: Sequence[str], one: CallResult, other: CallResult) -> list[str]:
    found = [
        f"output {number}"
        for number, (here, there) in enumerate(zip(one.outputs, other.outputs, strict=False))
        if array_hash(here) != array_hash(there)
    ]
    if bool(one.failure) != bool(other.failure):
        found.append("whether the step fails")
    return found + [
        names[number]
        for number in sorted({*one.variables, *other.variables})
        if number not in one.variables
        or number not in other.variables
        or array_hash(one.variables[number]) != array_hash(other.variables[number])
    ]
