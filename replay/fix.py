"""The smallest change of a program that keeps a recorded step from leaving NaN or infinite numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensortap.capture import LoadedCall, override, with_island
from tensortap.dump import Graph, InvalidValueError, NotFoundError, Recording

from .births import Birth, StepNodes, bad_results, given_non_finite
from .chosen_nodes import NodeKey
from .repairs import ORDER, Repair, Repairs, joined
from .smallest import smallest
from .source_lines import SourceLines

_MOST_ROUNDS = 8  # each adds repairs for what the last ones let through
_MOST_TRIALS = 400
_HALF = ("float16", "bfloat16")


def fix(recording: Recording, graph: Graph | None) -> dict[str, Any]:
    """Answers the study `fix`.

    Args:
        graph: as it was recorded, with the program's lines; None: lines are not known.

    Returns:
        `bad` (what the step leaves that is not finite), `given` (what was not finite before it), `births`
        (nodes that make it of finite numbers), `fix` (the smallest set of repairs; empty if none helps),
        `alternatives` (other repairs of which each alone helps), `trials` (how often the step was run),
        `left` (what stays non-finite if no set of repairs helps).
    """
    lines = SourceLines(graph)
    with LoadedCall(recording) as call:
        search = _Search(recording, call)
        bad = bad_results(recording, call.run())
        given = given_non_finite(recording)
        births = search.nodes.births() if bad or given else []
        found: list[Repair] = []
        others: list[Repair] = []
        if bad and not given:
            found, others = search.run(births)
    return {
        "bad": bad,
        "given": given,
        "births": [
            {"node": b.node, "op_type": b.op_type, "count": b.count, **lines.of(b.node)} for b in births
        ],
        "fix": [_record(repair, lines) for repair in found],
        "alternatives": [_record(repair, lines) for repair in others],
        "trials": search.trials,
        "left": search.left if bad and not found else [],
    }


def _record(repair: Repair, lines: SourceLines) -> Mapping[str, Any]:
    return {
        "kind": repair.kind,
        "node": repair.node,
        "instead": repair.instead,
        "nodes": [node for _, node in repair.nodes],
        **lines.of(repair.node),
    }


class _Search:
    def __init__(self, recording: Recording, call: LoadedCall) -> None:
        self._recording, self._call = recording, call
        self.nodes = StepNodes(call)
        self._repairs = Repairs(self.nodes.chosen)
        self.trials = 0
        self.left: list[str] = []

    def run(self, births: Sequence[Birth]) -> tuple[list[Repair], list[Repair]]:
        """(the smallest set of repairs, others of which each alone helps)."""
        candidates = self._candidates(births)
        alone = [each for each in candidates if self._helps([each])]
        alone.sort(key=lambda each: ORDER.index(each.kind))
        island = self._island() if self._only_half(births) else None
        if island is not None:  # what overflows in half precision is right in float32, clamped it is not
            return [island], alone
        if alone:
            return alone[:1], alone[1:]
        if candidates and self._helps(candidates):
            return smallest(candidates, self._helps), []
        return [], []

    def _only_half(self, births: Sequence[Birth]) -> bool:
        operations = [self.nodes.chosen.operations[birth.key] for birth in births]
        return all(operation.outputs[0].dtype.name in _HALF for operation in operations)

    def _candidates(self, births: Sequence[Birth]) -> list[Repair]:
        """Repairs of the births, and of what is born once these are repaired, and so on."""
        found: dict[tuple[str, str, str], Repair] = {}
        for _ in range(_MOST_ROUNDS):
            before = len(found)
            for birth in births:
                for repair in self._repairs.of(birth):
                    found.setdefault((repair.kind, repair.node, repair.instead), repair)
            if len(found) == before or self._helps(list(found.values())):
                break
            with LoadedCall(self._repaired(list(found.values()))) as changed:
                known = self.nodes.chosen.operations
                born = self.nodes.births(changed)
                births = [each for each in self._original(born, changed) if each.key in known]
        return list(found.values())

    def _original(self, births: Sequence[Birth], changed: LoadedCall) -> list[Birth]:
        """Births of a changed call, at the nodes of the call as it was recorded."""
        names = {self._call.original(name): name for name in self._call.recorded.functions}
        found = []
        for birth in births:
            function = names.get(changed.original(birth.key[0]))
            if function is not None:
                found.append(Birth((function, birth.key[1]), birth.node, birth.op_type, birth.count))
        return found

    def _repaired(self, repairs: Sequence[Repair]) -> Recording:
        return override(self._recording, joined(repairs), self._call)

    def _helps(self, repairs: Sequence[Repair]) -> bool:
        try:
            return self._is_good(self._repaired(repairs))
        except (InvalidValueError, NotFoundError):  # a tensor that nobody reads, or of another function
            return False

    def _is_good(self, recording: Recording) -> bool:
        self.trials += 1
        if self.trials > _MOST_TRIALS:
            return False
        with LoadedCall(recording) as changed:
            self.left = bad_results(recording, changed.run())
        return not self.left

    def _island(self) -> Repair | None:
        """The fewest half-precision nodes that must run in float32; None if that does not help."""
        half = [
            key
            for key, operation in self.nodes.chosen.operations.items()
            if any(tensor.dtype.name in _HALF for tensor in operation.outputs)
        ]
        if not half or not self._helps_in_float32(half):
            return None
        nodes = smallest(half, self._helps_in_float32)
        text = f"{len(nodes)} nodes in float32: tf.cast(x, 'float32') before, and back after"
        name = self.nodes.chosen.outputs(nodes[0])[0].rpartition(":")[0]
        return Repair("float32 island", name, text, nodes=tuple(nodes))

    def _helps_in_float32(self, nodes: Sequence[NodeKey]) -> bool:
        chosen: dict[str, list[str]] = {}
        for function, node in nodes:
            chosen.setdefault(self._call.original(function), []).append(node)
        return self._is_good(with_island(self._recording, chosen, self._call))
