"""Steps at which nothing differs, found in the columns of both catalogs, not tensor by tensor."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tensortap.core.dtypes import Array

from .matching.graph_pairs import Matcher
from .matching.row_alignment import StepRows, graphs_by_place, joined, merged, step_rows
from .metrics.summary_bounds import equal_summaries
from .side import Side

_MOST_GROUPS = 64  # sets of graphs captured together; of further ones nothing is said


def equal_steps(matcher: Matcher, a: Side, b: Side, steps: list[int]) -> Array:
    """bool[steps]: at which steps all pairs of tensors have equal summaries, and no pair has both values.

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
