"""Aligns two sequences of eager ops, in the order in which they ran, as `diff` aligns the lines of two files.

Names of eager ops are only numbered: `Sub_3` is another op if the program subtracts once more before it.
Python's `difflib` prefers long blocks, and so shifts the repeated ops of training by whole steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensortap.core.dtypes import is_real_floating
from tensortap.core.names import EAGER
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.query.source_lines import source_lines

_MOST_EDITS = 1500  # additional ops of both sides together; more take over a second
Pair = tuple[int, int]
Gap = tuple[int, int, int, int]  # rows of A from, to; rows of B from, to
Key = tuple[object, ...]


def is_eager(graph: GraphIndex) -> bool:
    """Whether a graph holds the ops of eager code, in the order in which they ran."""
    return graph.name == EAGER and set(graph.functions) == {EAGER}


def aligned_ops(a: GraphIndex, b: GraphIndex) -> list[Pair]:
    """Pairs of eager ops (rows of A and B), ascending on both sides.

    Ops of one type, shape, layer and source line are paired first; between them those of one type and shape,
    then those of one type.
    """
    found = list[Pair]()
    for key in (_written, _shaped, _typed):
        of_a, of_b = key(a), key(b)
        found = sorted(
            found
            + [pair for gap in _gaps(found, len(a), len(b)) for pair in common_subsequence(of_a, of_b, gap)]
        )
    return found


def _typed(graph: GraphIndex) -> list[Key]:
    dtypes = map(is_real_floating, graph.dtype.to_list())
    return list(zip(graph.op_type.to_list(), dtypes, strict=True))


def _shaped(graph: GraphIndex) -> list[Key]:
    return list(zip(_typed(graph), graph.shape.to_list(), strict=True))


def _written(graph: GraphIndex) -> list[Key]:
    return list(zip(_shaped(graph), graph.layer.to_list(), _lines(graph), strict=True))


def _lines(graph: GraphIndex) -> list[str]:
    """For each op the text of the innermost line of user code, or its function where the dump has no text."""
    sources = {file: source_lines(text) for file, text in graph.about.get("sources", {}).items()}
    stacks = []
    for stack in graph.about.get("stacks", []):
        file, line, function = stack[-1] if stack else ("", 0, "")
        lines = sources.get(file, [])
        stacks.append(lines[line - 1].strip() if 0 < line <= len(lines) else function)
    numbers = [] if graph.table is None else graph.table.column("stack").to_pylist()
    texts = [stacks[at] if at is not None and 0 <= at < len(stacks) else "" for at in numbers]
    return texts + [""] * (len(graph) - len(texts))


def _gaps(pairs: Sequence[Pair], rows_a: int, rows_b: int) -> list[Gap]:
    """Where both sides have rows between two pairs."""
    gaps, at_a, at_b = list[Gap](), 0, 0
    for row, partner in [*pairs, (rows_a, rows_b)]:
        if row > at_a and partner > at_b:
            gaps.append((at_a, row, at_b, partner))
        at_a, at_b = row + 1, partner + 1
    return gaps


def common_subsequence(a: Sequence[Key], b: Sequence[Key], gap: Gap) -> list[Pair]:
    """The longest common subsequence of a gap (Myers 1986); empty if it takes more than `_MOST_EDITS`."""
    begin_a, end_a, begin_b, end_b = gap
    reached = list[list[int]]()  # by edits: the row of A that each diagonal (row of A - row of B) reaches
    for edits in range(min(end_a - begin_a + end_b - begin_b, _MOST_EDITS) + 1):
        reached.append([])
        for place in range(edits + 1):
            row = _start(reached, edits, place, begin_a)
            partner = row - begin_a - (2 * place - edits) + begin_b
            while row < end_a and partner < end_b and a[row] == b[partner]:
                row, partner = row + 1, partner + 1
            reached[edits].append(row)
            if row >= end_a and partner >= end_b:
                return _backtraced(reached, place, gap)
    return []


def _start(reached: list[list[int]], edits: int, place: int, begin: int) -> int:
    """The row of A at which a diagonal begins: from the furthest of its neighbours with an edit less."""
    if not edits:
        return begin
    before = reached[edits - 1]
    skips_a = before[place - 1] + 1 if place else -1
    return max(skips_a, before[place] if place < edits else -1)


def _backtraced(reached: list[list[int]], place: int, gap: Gap) -> list[Pair]:
    begin_a, _, begin_b, _ = gap
    pairs = list[Pair]()
    for edits in range(len(reached) - 1, -1, -1):
        start, shift = _start(reached, edits, place, begin_a), begin_b - begin_a - (2 * place - edits)
        pairs += [(row, row + shift) for row in range(start, reached[edits][place])]
        if edits and place and reached[edits - 1][place - 1] + 1 == start:
            place -= 1
    return pairs
