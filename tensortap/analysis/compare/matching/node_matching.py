"""Matches the nodes of two graphs: manually, by name or order, by structure, by renamed scope."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np

from tensortap.core.dtypes import Array, is_real_floating
from tensortap.core.errors import NotFoundError
from tensortap.index.graph.graph_index import GraphIndex

from ...model_graph.op_types import constant_text
from ...model_graph.roles import first_input, roles_of
from .sequence_alignment import aligned_ops, is_eager

Use = tuple[object, ...]
Excludes = Callable[[int, int], bool]  # whether a row of A and one of B cannot be a pair
How = Literal["hand", "name", "order", "structure", "scope"]
_MOST_PASSES = 8  # over what structure left
_NAME_NUMBER = re.compile(r"_\d+$")
_PRODUCTS = ("MatMul", "BatchMatMulV2", "BatchMatMulV3")
_ROUNDS = (4, 2, 1)  # the widest neighbourhood first: it distinguishes most
# Sweeps over a whole graph; a long chain of equal ops would want one for each pair.
_MOST_SWEEPS, _LEAST_SWEEPS = 64, 8
_MOST_USERS = 64  # of an eager op; more of them do not distinguish one
_SWEPT = 1 << 19  # nodes in all sweeps together, of graphs that are not so large that it takes the least


@dataclass(slots=True)
class Matching:
    """Pairs of nodes.

    Attributes:
        a, b: the graphs. partner: row in `a` -> row in `b`. how: row in `a` -> how it was found: `hand`,
        `name` (and op type), `order` (eager ops, in the order in which they ran), `structure` (the only two
        with that neighbourhood), `scope` (in a scope that others found to be renamed).
        renames: (scope in A, scope in B, nodes that say so).
        unpaired: pairs that turned out to be wrong, as rows.
    """

    a: GraphIndex
    b: GraphIndex
    partner: dict[int, int] = field(default_factory=dict)
    how: dict[int, How] = field(default_factory=dict)
    renames: list[tuple[str, str, int]] = field(default_factory=list)
    matched_b: set[int] = field(default_factory=set)
    unpaired: list[tuple[int, int]] = field(default_factory=list)

    def add(self, row: int, partner: int, how: How) -> None:
        """Notes a pair."""
        self.partner[row], self.how[row] = partner, how
        self.matched_b.add(partner)

    def part(self, row: int) -> None:
        """Undo a pair."""
        partner = self.partner.pop(row)
        del self.how[row]
        self.matched_b.discard(partner)
        self.unpaired.append((row, partner))

    def unmatched_a(self) -> list[int]:
        """Rows of `a` without a partner."""
        return [row for row in range(len(self.a)) if row not in self.partner]

    def unmatched_b(self) -> list[int]:
        """Rows of `b` without a partner."""
        return [row for row in range(len(self.b)) if row not in self.matched_b]


def match_nodes(a: GraphIndex, b: GraphIndex, manual_pairs: Mapping[str, str] | None = None) -> Matching:
    """Pairs the nodes of two graphs; each is in one pair at most.

    Args:
        manual_pairs: node in A -> node in B; nodes that neither graph has are ignored.
    """
    found = Matching(a, b)
    for left, right in (manual_pairs or {}).items():
        if left in a.rows and right in b.rows and b.rows[right] not in found.matched_b:
            found.add(a.rows[left], b.rows[right], "hand")
    excludes = _other_variables(found)
    if is_eager(a) and is_eager(b):
        _by_order(found, excludes)
    else:
        _by_name(found, excludes)
        _by_variable(found)
        _by_name_and_inputs(found, excludes)
    if found.unmatched_a() and found.unmatched_b():
        _by_structure(found, excludes)
        _by_use_and_scope(found, excludes)
    return found


def check_matches(manual_pairs: Mapping[str, str], a: list[GraphIndex], b: list[GraphIndex]) -> None:
    """Raises NotFoundError if a manual match names a node that is not in the graphs."""
    for nodes, graphs, side in ((manual_pairs, a, "A"), (manual_pairs.values(), b, "B")):
        for node in nodes:
            if not any(node in graph.rows for graph in graphs):
                raise NotFoundError(
                    f"No captured graph of {side} has a node {node[:200]!r}.",
                    "Write matches as NODE_IN_A=NODE_IN_B, without ':slot'.",
                )


def _by_name(found: Matching, excludes: Excludes) -> None:
    a, b = found.a, found.b
    for name, row in a.rows.items():
        partner = b.rows.get(name)
        if partner is None or row in found.partner or partner in found.matched_b:
            continue
        if _alike(found, row, partner) and not excludes(row, partner):
            found.add(row, partner, "name")


def _by_order(found: Matching, excludes: Excludes) -> None:
    for row, partner in aligned_ops(found.a, found.b):
        known = row in found.partner or partner in found.matched_b
        if not known and _of_one_use(found, row, partner) and not excludes(row, partner):
            found.add(row, partner, "order")
    _follow_inputs(found)


def _follow_inputs(found: Matching) -> None:
    """Moves pairs of eager ops to where their inputs lead. The ops of an optimizer are alike for all
    variables; if a program trains fewer of them, their order alone doesn't show which are missing."""
    links = _Links(found.a), _Links(found.b)
    back = {partner: row for row, partner in found.partner.items()}
    moved = set(found.partner) - {row for row, how in found.how.items() if how == "order"}  # manual pairs
    for row in range(len(found.a)):
        if row in moved:
            continue
        partner = found.partner.get(row, -1)
        votes = _votes(found, row, links, moved)
        best = max(votes, key=votes.__getitem__, default=partner)
        if votes[best] > votes[partner] and back.get(best) not in moved:
            _move(found, (row, best), links, back, moved)


class _Links:
    """Inputs and consumers of each node of a graph, as (node, output slot, input position); control inputs,
    such as the update of a variable before it is read, have the position -1."""

    def __init__(self, graph: GraphIndex) -> None:
        edges = graph.edges
        self.inputs: list[list[tuple[int, int, int]]] = [[] for _ in range(len(graph))]
        self.users: list[list[tuple[int, int, int]]] = [[] for _ in range(len(graph))]
        places = np.where(edges.control == 0, edges.input, -1)
        columns = (edges.source, edges.target, edges.slot, places)
        for source, target, slot, place in zip(*(column.tolist() for column in columns), strict=True):
            self.inputs[target].append((source, slot, place))
            self.users[source].append((target, slot, place))


def _votes(found: Matching, row: int, links: tuple[_Links, _Links], moved: Collection[int]) -> Counter[int]:
    """Ops of B that consume the partners of an op's inputs. An input whose pair was moved counts most, a read
    of a variable least."""
    votes = Counter[int]()
    for source, slot, place in links[0].inputs[row]:
        users = links[1].users[found.partner[source]] if source in found.partner else []
        if len(users) > _MOST_USERS:
            continue
        weight = 100 if source in moved else 10 if links[0].inputs[source] else 1
        for user, at_slot, at_place in users:
            if (slot, place) == (at_slot, at_place) and _alike(found, row, user):
                votes[user] += weight
    return votes


def _move(
    found: Matching,
    pair: tuple[int, int],
    links: tuple[_Links, _Links],
    back: dict[int, int],
    moved: set[int],
) -> None:
    """Pairs two eager ops, and their inputs, instead of those they were paired with.

    Args:
        back: row of B -> row of A; changed with the pairs.
    """
    waiting = [pair]
    while waiting:
        row, partner = waiting.pop()
        for old in {row, back.get(partner, row)} & found.partner.keys():
            del back[found.partner[old]], found.how[old]
            found.matched_b.discard(found.partner.pop(old))
        found.add(row, partner, "order")
        back[partner] = row
        moved.add(row)
        taken = {(slot, place): other for other, slot, place in links[1].inputs[partner]}
        for source, slot, place in links[0].inputs[row]:
            other = taken.get((slot, place), -1)
            known = found.partner.get(source) == other or source in moved or back.get(other) in moved
            if other >= 0 and not known and _alike(found, source, other):
                waiting.append((source, other))


def _alike(found: Matching, row: int, partner: int) -> bool:
    return _of_one_use(found, row, partner) and _fits(found.a.shape[row], found.b.shape[partner])


def _of_one_use(found: Matching, row: int, partner: int) -> bool:
    a, b, op_type = found.a, found.b, found.a.op_type[row]
    if op_type != b.op_type[partner] or _is_float(a.dtype[row]) != _is_float(b.dtype[partner]):
        return False
    if op_type == "IdentityN":  # passes on a list: of another length, each slot is another tensor
        return len(roles_of(a).inputs(row)) == len(roles_of(b).inputs(partner))
    return op_type not in _PRODUCTS or _operand_gradient(a, row) == _operand_gradient(b, partner)


def _operand_gradient(graph: GraphIndex, row: int) -> tuple[str | None, ...]:
    """Which operand's gradient a product is: TensorFlow numbers both (`MatMul`, `MatMul_1`), or only one."""
    attributes = roles_of(graph).attributes(row)
    return attributes.get("grad_a"), attributes.get("grad_b")


def _other_variables(found: Matching) -> Excludes:
    """Whether two nodes read or update different variables, one of which the other graph has, too. An
    additional cast renumbers the reads of a normalization (`Cast_1/ReadVariableOp`), and a variable that is
    no longer trained renumbers an optimizer's ops (`adam/Mul_3`)."""
    paths_a, paths_b = (set(roles_of(graph).variable.values()) for graph in (found.a, found.b))
    updated_a, updated_b = _updated_variables(found.a), _updated_variables(found.b)

    def excludes(row: int, partner: int) -> bool:
        left, right = _variable(found.a, row), _variable(found.b, partner)
        if left and right:
            return left != right and (left in paths_b or right in paths_a)
        these, those = updated_a.get(row), updated_b.get(partner)
        if not these or not those or not these.isdisjoint(those):
            return False
        return not (these.isdisjoint(paths_b) and those.isdisjoint(paths_a))

    return excludes


def _variable(graph: GraphIndex, row: int) -> str | None:
    """The variable that a node reads, or whose gradient it computes or copies."""
    roles = roles_of(graph)
    return roles.variable.get(first_input(roles, row) if graph.op_type[row] == "Identity" else row)


def _updated_variables(graph: GraphIndex) -> dict[int, set[str]]:
    """Row of each node that an optimizer computes -> paths of the variables that it updates with it."""
    roles, found = roles_of(graph), dict[int, set[str]]()
    for row in range(len(graph)):
        if roles.is_update(row):
            readers = roles.consumers(first_input(roles, row))
            paths = {roles.variable[reader] for reader in readers if reader in roles.variable}
            if paths:
                found[row] = paths
    waiting = [(-int(graph.order[row]), row) for row in found]
    heapify(waiting)  # the last of the data flow first
    seen = set(found)
    while waiting:
        _, row = heappop(waiting)
        for source, slot, position in roles.inputs(row):
            if position < 0 or roles.is_backward(source) or roles.reached[source]:
                continue
            if graph.op_type[source] == "IdentityN":  # a list: each output is one of its inputs
                source = next((each for each, _, at in roles.inputs(source) if at == slot), source)
                if roles.is_backward(source):
                    continue
            found.setdefault(source, set()).update(found[row])
            if source not in seen:
                seen.add(source)
                heappush(waiting, (-int(graph.order[source]), source))
    return found


def _by_variable(found: Matching) -> None:
    """Reads of a variable that both graphs read as often, in data flow order."""
    reads = roles_of(found.b).reads
    for path, rows in roles_of(found.a).reads.items():
        rows = _in_flow(found.a, (row for row in rows if row not in found.partner))
        others = _in_flow(found.b, (row for row in reads.get(path, []) if row not in found.matched_b))
        if len(rows) == len(others):
            for row, partner in zip(rows, others, strict=True):
                if _alike(found, row, partner):
                    found.add(row, partner, "name")


def _in_flow(graph: GraphIndex, rows: Iterable[int]) -> list[int]:
    return sorted(rows, key=lambda row: int(graph.order[row]))


def _by_name_and_inputs(found: Matching, excludes: Excludes) -> None:
    """Nodes with the same name and op, different shapes, but paired inputs: another batch size or width."""
    a, b = found.a, found.b
    left = [row for row in found.unmatched_a() if b.rows.get(a.names[row], -1) >= 0]
    for row in _in_flow(a, left):
        other = b.rows[a.names[row]]
        if (
            _of_one_use(found, row, other)
            and other not in found.matched_b
            and not excludes(row, other)
            and _takes_the_same(found, row, other)
        ):
            found.add(row, other, "name")


def _takes_the_same(found: Matching, row: int, other: int) -> bool:
    left = [
        (found.partner.get(source, -1), slot, place) for source, slot, place in roles_of(found.a).inputs(row)
    ]
    return left == roles_of(found.b).inputs(other)


def _by_use_and_scope(found: Matching, excludes: Excludes) -> None:
    """Alternates by use and by scope: a renamed scope gives new pairs, which show further renamed scopes."""
    for _ in range(min(max(_SWEPT // (len(found.a) + len(found.b)), 1), _MOST_PASSES)):
        before = len(found.partner)
        _by_use(found, excludes)
        _by_scope(found, excludes)
        if len(found.partner) == before:
            break


def _by_use(found: Matching, excludes: Excludes) -> None:
    """Pairs nodes that are the only ones on their side with this use of paired nodes. If the batch size
    differs and a framework renumbered a layer, neither names nor shapes match. In data flow order each pair
    helps to find the next, also among equal names."""
    _by_name_and_inputs(found, excludes)
    left = found.unmatched_a()
    of_a, of_b = _Uses(found.a, left, found.partner), _Uses(found.b, found.unmatched_b(), found.matched_b)
    for row in _in_flow(found.a, left):
        other = of_b.unique_row(of_a.of(row, found.partner.get))
        fits = other >= 0 and other not in found.matched_b and not excludes(row, other)
        if fits and of_a.is_alone(row):
            found.add(row, other, "name" if found.a.names[row] == found.b.names[other] else "structure")


class _Uses:
    """Op and inputs of the nodes of a graph without a partner; of those that take anything.

    Args:
        left: the rows without a partner; known: those with one.
    """

    def __init__(self, graph: GraphIndex, left: list[int], known: Collection[int]) -> None:
        self._graph, self._known = graph, known
        rows: dict[Use, list[int]] = {}
        for row in left:
            use = self.of(row, lambda source: source)
            if use is not None:
                rows.setdefault(use, []).append(row)
        self._alone = {use: found[0] for use, found in rows.items() if len(found) == 1}

    def of(self, row: int, partner: Callable[[int], int | None]) -> Use | None:
        """Op, name without scopes and number, and inputs in terms of `partner`; None without inputs or if one
        has no partner. A constant without a partner is represented by its elements."""
        graph, roles = self._graph, roles_of(self._graph)
        taken: list[tuple[int | str, int, int]] = []
        for source, slot, place in roles.inputs(row):
            constant = graph.op_type[source] == "Const" and source not in self._known
            at = constant_text(roles.attributes(source)) if constant else partner(source)
            if at is None:
                return None
            taken.append((at, slot, place))
        name = _NAME_NUMBER.sub("", graph.names[row].rpartition("/")[2])
        return (graph.op_type[row], _is_float(graph.dtype[row]), name, *taken) if taken else None

    def unique_row(self, use: Use | None) -> int:
        """The only row of that use, -1 without one."""
        return -1 if use is None else self._alone.get(use, -1)

    def is_alone(self, row: int) -> bool:
        """Whether no other does the same."""
        return self.unique_row(self.of(row, lambda source: source)) == row


def _is_float(dtype: str) -> bool:
    """Float dtypes may be exchanged for each other, not for whole numbers: that is a node of another use."""
    return is_real_floating(dtype)


def _fits(a: str, b: str) -> bool:
    """Whether two shapes may be of the same tensor; a dimension that is unknown may be any."""
    if not a or not b or a == b:
        return True
    left, right = a.split("×"), b.split("×")
    return len(left) == len(right) and all(x == y or "?" in (x, y) for x, y in zip(left, right, strict=True))


def _by_structure(found: Matching, excludes: Excludes) -> None:
    """Pairs nodes with a unique signature until no more are found; each pair makes other signatures unique.
    After a bounded number of sweeps the rest is paired in order."""
    sides = Neighbourhood(found.a), Neighbourhood(found.b)
    rounds, left = list(_ROUNDS), _sweeps(len(found.a) + len(found.b))
    while True:
        labels = _with_anchors(found, sides)
        refined = [side.refined(label, rounds[0]) for side, label in zip(sides, labels, strict=True)]
        pairs = [pair for pair in _unique_pairs(found, *refined) if not excludes(*pair)]
        for row, partner in pairs:
            found.add(row, partner, "structure")
        left -= 1
        if not pairs or left <= 0:
            rounds.pop(0)
        if not rounds:
            break
    for row, partner in _in_order(found, *refined):
        if not excludes(row, partner):
            found.add(row, partner, "structure")


def _sweeps(nodes: int) -> int:
    """How often the neighbourhoods of all nodes are hashed: in bounded time, whatever the graphs are."""
    return min(max(_SWEPT // max(nodes, 1), _LEAST_SWEEPS), _MOST_SWEEPS)


def _with_anchors(found: Matching, sides: tuple[Neighbourhood, Neighbourhood]) -> list[Array]:
    """Labels in which pairs share one that no other node has."""
    labels = [side.base.copy() for side in sides]
    rows = np.fromiter(found.partner, np.int64, len(found.partner))
    partners = np.fromiter(found.partner.values(), np.int64, len(found.partner))
    labels[0][rows] = labels[1][partners] = splitmix64(rows.astype(np.uint64) * np.uint64(2) + np.uint64(1))
    return labels


def _unique_pairs(found: Matching, of_a: Array, of_b: Array) -> list[tuple[int, int]]:
    left, right = np.array(found.unmatched_a(), np.int64), np.array(found.unmatched_b(), np.int64)
    first, at_a, count_a = np.unique(of_a[left], return_index=True, return_counts=True)
    second, at_b, count_b = np.unique(of_b[right], return_index=True, return_counts=True)
    _, i, j = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    once = (count_a[i] == 1) & (count_b[j] == 1)
    return list(zip(left[at_a[i[once]]].tolist(), right[at_b[j[once]]].tolist(), strict=True))


def _in_order(found: Matching, of_a: Array, of_b: Array) -> list[tuple[int, int]]:
    """Pairs twins, i.e. nodes that nothing distinguishes and that are equally many on both sides, in data
    flow order."""
    groups: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
    for group, rows, labels, graph in (
        (groups[0], found.unmatched_a(), of_a, found.a),
        (groups[1], found.unmatched_b(), of_b, found.b),
    ):
        for row in _in_flow(graph, rows):
            group.setdefault(int(labels[row]), []).append(row)
    pairs: list[tuple[int, int]] = []
    for label, rows in groups[0].items():
        others = groups[1].get(label, [])
        if len(rows) == len(others):
            pairs += zip(rows, others, strict=True)
    return pairs


def _by_scope(found: Matching, excludes: Excludes) -> None:
    """Finds scopes that the pairs show to be renamed, then pairs the remaining nodes in them by name."""
    votes: Counter[tuple[str, str]] = Counter()
    for row, partner in found.partner.items():
        if found.how[row] == "structure":
            votes.update(_scope_pairs(found.a.names[row], found.b.names[partner]))
    best: dict[str, tuple[str, int]] = {}
    for (old, new), count in votes.most_common():
        if old not in best and old not in found.b.rows:
            best[old] = (new, count)
    for row in found.unmatched_a():
        name = found.a.names[row]
        for old in sorted((s for s in _scopes(name) if s in best), key=len, reverse=True):
            renamed = found.b.rows.get(best[old][0] + name[len(old) :])
            if renamed is None or renamed in found.matched_b or excludes(row, renamed):
                continue
            if found.a.op_type[row] == found.b.op_type[renamed]:
                found.add(row, renamed, "scope")
                break
    found.renames = _outermost(best)


def _scope_pairs(a: str, b: str) -> list[tuple[str, str]]:
    """(scope in A, scope in B) where two names end alike."""
    left, right = a.split("/"), b.split("/")
    ends = 0
    while ends < min(len(left), len(right)) and left[-1 - ends] == right[-1 - ends]:
        ends += 1
    ends = min(ends, len(left) - 1, len(right) - 1)
    pairs = [("/".join(left[: len(left) - ends]), "/".join(right[: len(right) - ends]))] if ends else []
    return [(old, new) for old, new in pairs if not _is_inside(old, new) and not _is_inside(new, old)]


def _is_inside(scope: str, other: str) -> bool:
    return scope == other or scope.startswith(f"{other}/")


def _scopes(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _outermost(best: Mapping[str, tuple[str, int]]) -> list[tuple[str, str, int]]:
    """The renamed scopes, those with the most nodes first."""
    found = [(old, new, count) for old, (new, count) in best.items()]
    return sorted(found, key=lambda rename: (-rename[2], rename[0]))


_PASS_ON = ("Cast", "Identity", "ReadVariableOp", "StopGradient")  # a change of dtype adds or removes them
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Neighbourhood:
    """A graph's nodes and data edges, as signatures need them.

    Attributes:
        base: uint64[nodes], of op type and shape (the dtype is skipped: it may be what was changed).
    """

    def __init__(self, graph: GraphIndex) -> None:
        edges = graph.edges
        data = edges.control == 0
        passes = graph.op_type.where(lambda op_type: op_type in _PASS_ON)
        self.source = _past_identities(edges.source[data], edges.target[data], edges.input[data], passes)
        self.target = edges.target[data]
        self.place = (edges.slot[data].astype(np.int64) * 1009 + edges.input[data]).astype(np.uint64)
        shapes = _text_hashes(graph.shape.values)[graph.shape.codes]
        self.base = splitmix64(_text_hashes(graph.op_type.values)[graph.op_type.codes] + splitmix64(shapes))

    def refined(self, labels: Array, rounds: int) -> Array:
        """The labels, each hashed with those of the nodes within `rounds` edges."""
        for _ in range(rounds):
            above, below = np.zeros_like(labels), np.zeros_like(labels)
            # A sum of hashes: neighbours have no order, other than the place that is hashed with them.
            np.add.at(above, self.target, splitmix64(labels[self.source] + splitmix64(self.place)))
            np.add.at(below, self.source, splitmix64(labels[self.target] ^ splitmix64(self.place + _MIX)))
            labels = splitmix64(labels + splitmix64(above) + splitmix64(below ^ _MIX))
        return labels


def splitmix64(values: Array) -> Array:
    """A hash of each uint64 (splitmix64's)."""
    values = values.astype(np.uint64)
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashed: Array = (values ^ (values >> np.uint64(31))) + _MIX
    return hashed


def _text_hashes(texts: list[str]) -> Array:
    found = [int.from_bytes(_digest(text), "little") for text in texts]
    return np.array(found, np.uint64)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()


def _past_identities(source: Array, target: Array, place: Array, passes: Array) -> Array:
    """The sources, with identities replaced by what they forward."""
    before = np.arange(len(passes))
    first = (place == 0) & passes[target]
    before[target[first]] = source[first]
    for _ in range(8):  # chains of more are rare
        before = before[before]
    behind: Array = before[source]
    return behind
