"""Pairs the graphs of two runs and matches their nodes, once for all steps. Also finds the steps at which two
runs are bit-identical."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import get_args

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.query.node_detail import source_line
from tensortap.index.run_index import RunIndex

from ...model_graph.roles import roles_of
from ..comparison_records import GraphPair, Unmatched
from ..metrics.summary_bounds import equal_summaries
from ..side import Side
from .flow_graph import FlowGraph
from .node_matching import How, Matching, match_nodes
from .row_alignment import CodeMap, StepRows, graphs_by_place, joined, merged, step_rows

MAX_LISTED = 2000  # nodes without a partner that are listed for a graph
_BY_NAME = ("name", "order")  # of equal names
_WITH_LINES = 50  # of them, that many with their source lines: as many as the page lists


class Matcher:
    """Matches graphs of two runs, each pair once."""

    def __init__(self, manual_pairs: Mapping[str, str]) -> None:
        self._manual_pairs = manual_pairs
        self._known: dict[tuple[int, int], Matching] = {}
        self._flow_graphs: dict[int, FlowGraph] = {}
        self._codes: dict[int, tuple[Matching, CodeMap]] = {}

    def graphs(self, a: Side, b: Side, of_a: tuple[str, ...], of_b: tuple[str, ...]) -> list[Matching]:
        """The graphs captured at two steps, paired: equal names in the order of their first capture, then the
        rest in that order."""
        left, right = [a.run.graph(graph) for graph in of_a], [b.run.graph(graph) for graph in of_b]
        return [self._match(x, y) for x, y in _by_name(left, right)]

    def flow_graph(self, matching: Matching) -> FlowGraph:
        """A's graph as differences flow through it."""
        found = self._flow_graphs.get(id(matching))
        if found is None or found.graph is not matching.a:
            found = self._flow_graphs[id(matching)] = FlowGraph(matching.a)
        return found

    def codes(self, matching: Matching, a: RunIndex, b: RunIndex) -> CodeMap:
        """A matching in terms of the catalogs' codes, for the tensors that both had captured at the first
        call."""
        key = id(matching)
        if key not in self._codes or self._codes[key][0] is not matching:
            self._codes[key] = matching, CodeMap(a, b, matching)
        return self._codes[key][1]

    def _match(self, a: GraphIndex, b: GraphIndex) -> Matching:
        key = id(a), id(b)
        found = self._known.get(key)
        if found is None or found.a is not a or found.b is not b:
            found = self._known[key] = match_nodes(a, b, self._manual_pairs)
        return found


def _by_name(left: list[GraphIndex], right: list[GraphIndex]) -> list[tuple[GraphIndex, GraphIndex]]:
    named: defaultdict[str, list[GraphIndex]] = defaultdict(list)
    for graph in right:
        named[graph.name].append(graph)
    pairs = [(graph, named[graph.name].pop(0)) for graph in left if named[graph.name]]
    seen = {id(graph) for pair in pairs for graph in pair}
    rest = [[graph for graph in side if id(graph) not in seen] for side in (left, right)]
    return pairs + list(zip(*rest, strict=False))


def graph_pair(matching: Matching) -> GraphPair:
    """The pair in numbers."""
    a, b = matching.a, matching.b
    pairs = {row: (a.names[row], b.names[at]) for row, at in matching.partner.items()}
    counts = dict.fromkeys(get_args(How), 0)
    for how in matching.how.values():
        counts[how] += 1
    return GraphPair(
        a.id,
        b.id,
        a.name,
        counts,
        len(a) - len(matching.partner),
        len(b) - len(matching.partner),
        matching.renames,
        dict(pair for row, pair in pairs.items() if matching.how[row] not in _BY_NAME or pair[0] != pair[1]),
    )


def unmatched(run: RunIndex, graph: GraphIndex, rows: list[int], captured: set[int]) -> list[Unmatched]:
    """Nodes without a partner, the first `MAX_LISTED`: captured ones first, forward pass before others, in
    data flow order."""
    roles = roles_of(graph)

    def key(row: int) -> tuple[bool, bool, int]:
        return row not in captured, not roles.reached[row], int(graph.order[row])

    return [
        Unmatched(
            graph.names[row],
            graph.op_type[row],
            graph.layer[row],
            graph.id,
            row in captured,
            roles.read_variable(row),
            source_line(run, graph.names[row], graph.id) if place < _WITH_LINES else None,
        )
        for place, row in enumerate(sorted(rows, key=key)[:MAX_LISTED])
    ]


def graphs_of(run: RunIndex) -> list[GraphIndex]:
    """All graphs of a run."""
    return [run.graph(graph.id) for graph in run.graphs]


_MOST_GROUPS = 64  # sets of graphs captured together; of further ones nothing is said


def equal_steps(matcher: Matcher, a: Side, b: Side, steps: list[int]) -> Array:
    """bool[steps]: whether all pairs of tensors have equal summaries at a step, and no pair has both values.

    Args:
        steps: of both sides, ascending.
    """
    equal = np.ones(len(steps), np.bool_)
    at = np.array(steps, np.int64)
    (left, seen_a), (right, seen_b) = step_rows(a, at), step_rows(b, at)
    together = zip(
        graphs_by_place(a.run, seen_a, len(at)), graphs_by_place(b.run, seen_b, len(at)), strict=True
    )
    groups: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for place, graphs in enumerate(together):
        groups[graphs].append(place)
    if len(groups) > _MOST_GROUPS:
        return np.zeros(len(steps), np.bool_)
    for (of_a, of_b), places in groups.items():
        maps = [matcher.codes(matching, a.run, b.run) for matching in matcher.graphs(a, b, of_a, of_b)]
        partner = merged(maps, len(a.run.catalog.tensors))
        inside = np.zeros(len(at), np.bool_)
        inside[places] = True
        equal[_unequal_places(a, b, _at(left, inside), _at(right, inside), partner, places)] = False
    return equal


def _at(rows: StepRows, inside: Array) -> StepRows:
    return rows if inside.all() else rows.where(inside[rows.place])


def _unequal_places(
    a: Side, b: Side, left: StepRows, right: StepRows, partner: Array, places: list[int]
) -> Array:
    """The places of the steps with a pair that has to be compared by itself."""
    pairs = joined(left, right, partner)
    if pairs is None:
        return np.array(places, np.int64)
    i, j = pairs
    equal = equal_summaries(a.run, b.run, left.row[i], right.row[j])
    kept = a.run.catalog.column("kept", left.row[i]) & b.run.catalog.column("kept", right.row[j])
    return np.unique(left.place[i][~equal | kept])
