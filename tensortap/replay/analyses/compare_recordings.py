"""Comparison of two recorded calls: how much of its difference a node receives, how much it introduces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
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
        tensor, other: its names in this call and the other.
        introduced: the larger `introduced` of both directions: how differently the nodes compute from
            the same inputs, in units of the tensor.
        received: the larger `inherited`.
        there: compares this tensor with the output of the other call's node for the same inputs.
        here: the other way round.
        given: it comes from outside the step, or from a seed. The difference of a constant counts as
        introduced.
    """

    tensor: str
    other: str
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
        graph: of this recording, with the program's lines; None: lines are unknown.

    Returns:
        `differences` (`NodeDifference` as objects with `file`, `line`, `function` and `text` of the program,
        most introduced first), `same` (tensors without any difference), `renamed` (pairs of other names),
        `unpaired` (names of nodes that only one call has, a list each), `unlike` (other shapes, or another
        number of inputs or visits), `skipped` (reason -> nodes).

    Raises:
        TensortapError: the other recording cannot be read or run.
    """
    other = open_recording(Path(str(options["source"])))
    with LoadedCall(recording) as one, LoadedCall(other) as two:
        pairs, own = _pairs(one, two), _Side(one, pattern)
        renamed = any(pairs.get(key, key)[1] != key[1] for key in own.chosen.operations)
        # Their names in the other call need not match.
        pair = _Pair(own, _Side(two, re.compile("") if renamed else pattern), pairs)
        found = pair.differences()
    differing = [each for each in found if each.total or each.introduced]
    differing.sort(key=lambda each: (each.given, -each.introduced, -each.received))
    lines = ProgramLines(graph)
    return {
        "source": str(options["source"]),
        "differences": [{**asdict(each), **lines.of(each.tensor.rpartition(":")[0])} for each in differing],
        "same": len(found) - len(differing),
        "unpaired": [[node for node in nodes if pattern.search(f"{node}:0")] for nodes in pair.unpaired],
        "renamed": pair.renamed,
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


def _pairs(one: LoadedCall, two: LoadedCall) -> dict[NodeKey, NodeKey]:
    """Nodes with the same name and op; of the others, those with the same use of paired nodes (renamed
    layers), or another op there."""
    found: dict[NodeKey, NodeKey] = {}
    functions = [list(call.recorded.functions.items()) for call in (one, two)]
    for (name, function), (other_name, other) in zip(*functions, strict=False):
        pairs = _pairs_within(function, other)
        found |= {(name, node): (other_name, partner) for node, partner in pairs.items()}
    return found


def _pairs_within(function: Any, other: Any) -> dict[str, str]:
    others = other.operations
    pairs = {
        name: name
        for name, operation in function.operations.items()
        if name in others and others[name].type == operation.type
    }
    if len(function.arguments) == len(other.arguments):
        pairs |= dict(zip(function.arguments, other.arguments, strict=True))
    before = -1
    while before < len(pairs):  # new pairs lead to others
        before = len(pairs)
        pairs |= _by_use(function, others, pairs)
        pairs |= _by_scope(function, others, pairs)
        if before == len(pairs):
            pairs |= _by_use(function, others, pairs, changed=True)
    return pairs


def _by_use(
    function: Any, others: Mapping[str, Any], pairs: Mapping[str, str], *, changed: bool = False
) -> dict[str, str]:
    """Nodes that use pairs and constants alike. `changed`: the only ones that do so with another op."""
    found, taken = dict(pairs), set(pairs.values())
    for name, operation in function.operations.items():
        if name in found or not operation.inputs:
            continue
        uses = [each for each in _same_uses(operation, others, found, changed) if each.name not in taken]
        if not uses or (changed and len(uses) > 1):
            continue
        constants = {
            mine.op.name: its.op.name
            for mine, its in zip(operation.inputs, uses[0].inputs, strict=True)
            if mine.op.name not in found
        }
        found |= {name: uses[0].name, **constants}
        taken |= {uses[0].name, *constants.values()}
    return found


def _by_scope(function: Any, others: Mapping[str, Any], pairs: Mapping[str, str]) -> dict[str, str]:
    """Nodes that only their names identify (of shapes, or beyond a changed op), in scopes that other pairs
    show to be renamed."""
    scopes = {name.rpartition("/")[0]: partner.rpartition("/")[0] for name, partner in pairs.items()}
    taken = set(pairs.values())
    found: dict[str, str] = {}
    for name, operation in function.operations.items():
        if name in pairs:
            continue
        for partner in _renamed(name, scopes):
            if partner not in taken and partner in others and others[partner].type == operation.type:
                found[name] = partner
                taken.add(partner)
                break
    return found


def _renamed(name: str, scopes: Mapping[str, str]) -> Iterator[str]:
    """A node's name if a scope around it was renamed, or one behind others (`gradient_tape/`)."""
    parts = name.split("/")
    for first in range(len(parts)):
        for last in range(len(parts) - 1, first, -1):
            scope = scopes.get("/".join(parts[first:last]))
            if scope:
                yield "/".join([*parts[:first], scope, *parts[last:]])


def _same_uses(
    operation: Any, others: Mapping[str, Any], pairs: Mapping[str, str], changed: bool
) -> Iterator[Any]:
    """Nodes of the other function with the same use of pairs and constants as a node; with another op if it
    was `changed`."""
    known = next((tensor for tensor in operation.inputs if tensor.op.name in pairs), None)
    source = None if known is None else others.get(pairs[known.op.name])
    if known is None or source is None or known.value_index >= len(source.outputs):
        return
    for taker in dict.fromkeys(source.outputs[known.value_index].consumers()):
        if (taker.type != operation.type) == changed and len(taker.inputs) == len(operation.inputs):
            both = zip(operation.inputs, taker.inputs, strict=True)
            if all(_is_pair(mine, its, pairs) for mine, its in both):
                yield taker


def _is_pair(mine: Any, its: Any, pairs: Mapping[str, str]) -> bool:
    if mine.op.name in pairs:
        return bool(pairs[mine.op.name] == its.op.name and mine.value_index == its.value_index)
    constant = mine.op.type == its.op.type == "Const"
    return bool(constant and mine.dtype == its.dtype and mine.shape == its.shape)


class _Pair:
    """Exchanges the inputs of nodes that are pairs."""

    def __init__(self, one: _Side, two: _Side, pairs: Mapping[NodeKey, NodeKey]) -> None:
        self._one, self._two = one, two
        self.skipped: Counter[str] = Counter()
        self.unlike: list[str] = []
        names = {key: node for node, key in two.keys.items()}
        partners = {node: names.get(pairs.get(key, key), "") for node, key in one.keys.items()}
        self._partners = {node: partner for node, partner in partners.items() if partner}
        taken = set(self._partners.values())
        self.unpaired = [
            [node for node in one.keys if node not in self._partners],
            [node for node in two.keys if node not in taken],
        ]
        self.renamed = sum(node != partner for node, partner in self._partners.items())

    def differences(self) -> list[NodeDifference]:
        exchanged, given = [], []
        for node in self._partners:
            why = self._why_not_exchanged(node)
            if not why:
                exchanged.append(node)
            elif self._is_source(node):
                given.append(node)
            elif why != "unlike":
                self.skipped[why] += 1
        found = [each for node in given for each in self._compared(node, None, None)]
        swapped = {self._partners[node]: node for node in exchanged}
        outputs = self._crossed(swapped, self._two, self._one)
        there = {node: outputs[partner] for partner, node in swapped.items() if partner in outputs}
        here = self._crossed({node: self._partners[node] for node in exchanged}, self._one, self._two)
        for node in exchanged:
            if node in there and node in here:
                found += self._compared(node, there[node], here[node])
            else:
                self.unlike.append(node)
        return found

    def _why_not_exchanged(self, node: str) -> str:
        for side, name in ((self._one, node), (self._two, self._partners[node])):
            why = why_not_isolated(side.operation(name))
            if why:
                return why
        inputs = self._one.inputs(node), self._two.inputs(self._partners[node])
        if inputs[0] is None or inputs[1] is None:
            return "not run, or an input was not run"
        if len(inputs[0][0]) != len(inputs[1][0]):
            self.unlike.append(node)
            return "unlike"
        return ""

    def _is_source(self, node: str) -> bool:
        operation = self._one.operation(node)
        return not operation.inputs or draws(operation.type) or "IteratorGetNext" in operation.type

    @staticmethod
    def _crossed(nodes: Mapping[str, str], owner: _Side, giver: _Side) -> dict[str, list[list[Array]]]:
        """Outputs of the nodes of one call, computed from inputs of their partners, by visit and slot."""
        with IsolatedNodes({node: owner.operation(node) for node in nodes}) as alone:
            return alone.run_visits({node: giver.inputs(partner) or [] for node, partner in nodes.items()})

    def _compared(
        self, node: str, there: list[list[Array]] | None, here: list[list[Array]] | None
    ) -> list[NodeDifference]:
        found = []
        partner = self._partners[node]
        slots = min(len(self._one.operation(node).outputs), len(self._two.operation(partner).outputs))
        for slot in range(slots):
            name, theirs = f"{node}:{slot}", f"{partner}:{slot}"
            types = [self._one.chosen.candidates.get(name), self._two.chosen.candidates.get(theirs)]
            if (
                types[0] is None
                or types[1] is None
                or {each.dtype for each in types if each} - set(_SPLIT_DTYPES)
            ):
                continue
            own, other = self._one.values.get(name, []), self._two.values.get(theirs, [])
            first = split_error(own, other, None if there is None else [visit[slot] for visit in there])
            second = split_error(other, own, None if here is None else [visit[slot] for visit in here])
            if first is None or second is None:
                self.unlike.append(name)
                continue
            found.append(
                NodeDifference(
                    name,
                    theirs,
                    (types[0].op_type, types[1].op_type),
                    (types[0].dtype, types[1].dtype),
                    max(first.introduced, second.introduced),
                    max(first.inherited, second.inherited),
                    first.total,
                    there is None and types[0].op_type != "Const",
                    first,
                    second,
                )
            )
        return found
