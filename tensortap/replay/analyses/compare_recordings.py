"""Comparison of two recorded calls: how much of its difference a node receives, how much it introduces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Recording
from tensortap.tf.random_ops import draws

from ..execution.loaded_call import LoadedCall
from ..execution.node_selection import NodeKey, SelectedNodes
from ..execution.program_lines import ProgramLines
from ..execution.single_node import IsolatedNodes, why_not_isolated
from ..locate import open_recording
from .error_split import Split, split_error

_SPLIT_DTYPES = ("float64", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """A tensor that both calls have.

    Attributes:
        introduced: the larger `born` of both directions: what the nodes make differently of one and the same
            inputs, in units of the tensor.
        received: the larger `inherited`.
        there: this tensor, beside what the other call's node makes of the inputs of this one.
        here: the other way round.
        given: it comes from outside of the step, or from a seed. What a constant differs by is introduced.
    """

    tensor: str
    op_types: tuple[str, str]
    dtypes: tuple[str, str]
    introduced: float
    received: float
    total: float
    given: bool
    there: Split
    here: Split


def compare_recordings(
    recording: Recording, pattern: re.Pattern[str], options: Mapping[str, Any], graph: Graph | None = None
) -> dict[str, Any]:
    """Answers the analysis `compare`; `options["source"]` is the other recording's folder or bundle.

    Args:
        graph: of this recording, with the program's lines; None: lines are not known.

    Returns:
        `differences` (`NodeDifference` as objects with `file`, `line`, `function` and `text` of the program,
        most introduced first), `same` (tensors without any
        difference), `unpaired` (names of nodes that only one call has, a list each), `unlike` (other shapes,
        or another number of inputs or visits), `skipped` (reason -> nodes).

    Raises:
        TensortapError: the other recording cannot be read or run.
    """
    other = open_recording(Path(str(options["source"])))
    with LoadedCall(recording) as one, LoadedCall(other) as two:
        pair = _Pair(_Side(one, pattern), _Side(two, pattern))
        found = pair.differences()
    differing = [each for each in found if each.total or each.introduced]
    differing.sort(key=lambda each: (each.given, -each.introduced, -each.received))
    lines = ProgramLines(graph)
    return {
        "source": str(options["source"]),
        "differences": [{**asdict(each), **lines.of(each.tensor.rpartition(":")[0])} for each in differing],
        "same": len(found) - len(differing),
        "unpaired": pair.unpaired,
        "unlike": pair.unlike,
        "skipped": dict(pair.skipped),
    }


class _Side:
    """One of both calls: its selected nodes and their values."""

    def __init__(self, call: LoadedCall, pattern: re.Pattern[str]) -> None:
        self.chosen = SelectedNodes(call, pattern)
        self.values = self.chosen.values()
        self.keys: dict[str, NodeKey] = {}
        for key in self.chosen.operations:
            for name in self.chosen.outputs(key):
                self.keys.setdefault(name.rpartition(":")[0], key)
        self.keys.pop("", None)

    def operation(self, node: str) -> Any:
        return self.chosen.operations[self.keys[node]]

    def inputs(self, node: str) -> list[list[Array]] | None:
        return self.chosen.inputs(self.keys[node], self.values)


class _Pair:
    """Exchanges the inputs of nodes of one name."""

    def __init__(self, one: _Side, two: _Side) -> None:
        self._one, self._two = one, two
        self.skipped: Counter[str] = Counter()
        self.unlike: list[str] = []
        self._shared = [node for node in one.keys if node in two.keys]
        self.unpaired = [
            [node for node in side.keys if node not in others.keys]
            for side, others in ((one, two), (two, one))
        ]

    def differences(self) -> list[NodeDifference]:
        exchanged, given = [], []
        for node in self._shared:
            why = self._why_not_exchanged(node)
            if not why:
                exchanged.append(node)
            elif self._is_source(node):
                given.append(node)
            elif why != "unlike":
                self.skipped[why] += 1
        found = [each for node in given for each in self._compared(node, None, None)]
        there, here = (
            self._crossed(exchanged, self._two, self._one),
            self._crossed(exchanged, self._one, self._two),
        )
        for node in exchanged:
            if node in there and node in here:
                found += self._compared(node, there[node], here[node])
            else:
                self.unlike.append(node)
        return found

    def _why_not_exchanged(self, node: str) -> str:
        for side in (self._one, self._two):
            why = why_not_isolated(side.operation(node))
            if why:
                return why
        inputs = self._one.inputs(node), self._two.inputs(node)
        if inputs[0] is None or inputs[1] is None:
            return "did not run, or reads a tensor that did not"
        if len(inputs[0][0]) != len(inputs[1][0]):
            self.unlike.append(node)
            return "unlike"
        return ""

    def _is_source(self, node: str) -> bool:
        operation = self._one.operation(node)
        return not operation.inputs or draws(operation.type) or "IteratorGetNext" in operation.type

    @staticmethod
    def _crossed(nodes: Sequence[str], owner: _Side, giver: _Side) -> dict[str, list[list[Array]]]:
        """Outputs of the nodes of one call, computed from inputs of the other's, by visit and slot."""
        with IsolatedNodes({node: owner.operation(node) for node in nodes}) as alone:
            return alone.run_visits({node: giver.inputs(node) or [] for node in nodes})

    def _compared(
        self, node: str, there: list[list[Array]] | None, here: list[list[Array]] | None
    ) -> list[NodeDifference]:
        found = []
        slots = min(len(side.operation(node).outputs) for side in (self._one, self._two))
        for slot in range(slots):
            name = f"{node}:{slot}"
            types = [side.chosen.candidates.get(name) for side in (self._one, self._two)]
            if (
                types[0] is None
                or types[1] is None
                or {each.dtype for each in types if each} - set(_SPLIT_DTYPES)
            ):
                continue
            own, other = self._one.values.get(name, []), self._two.values.get(name, [])
            first = split_error(own, other, None if there is None else [visit[slot] for visit in there])
            second = split_error(other, own, None if here is None else [visit[slot] for visit in here])
            if first is None or second is None:
                self.unlike.append(name)
                continue
            found.append(
                NodeDifference(
                    name,
                    (types[0].op_type, types[1].op_type),
                    (types[0].dtype, types[1].dtype),
                    max(first.born, second.born),
                    max(first.inherited, second.inherited),
                    first.total,
                    there is None and types[0].op_type != "Const",
                    first,
                    second,
                )
            )
        return found
