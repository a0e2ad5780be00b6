"""A graph's nodes folded into a tree of scopes: the rows of a timeline."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from operator import itemgetter
from typing import Literal

_Place = tuple[int, ...]  # last members of a row and of the scopes around it

_NAME_NUMBER = re.compile(r"(?<=.)_\d+$")
_REST = "…"
_CROWD = 40  # more rows than that right below the scope, or its only one, are not all listed at once
_MANY = 3  # ops that differ by a number share a row, and scopes are expanded


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope (`path`: the common path of its members), one node, the ops directly in a scope whose names
    differ by a number (`AddN …`), or the smallest of many rows (`net/…`). `members`: positions in the given
    paths; `depth`: number of open rows around it."""

    path: str
    members: list[int]
    kind: Literal["node", "scope", "numbered", "rest"]
    depth: int = 0
    is_open: bool = False


def scope_rows(
    paths: Sequence[str],
    scope: str,
    most: int,
    *,
    opened: Collection[str] = (),
    closed: Collection[str] = (),
) -> list[ScopeRow]:
    """Rows below a scope, expanded up to `most` rows: level by level, the largest scope first.

    Args:
        paths: display paths, `/` between scopes. scope: a path; empty for all.
        most: rows. Nodes right below the scope are there anyway, and not counted; beyond 40 rows there the
            smallest, or the last, are one.
        opened, closed: paths of rows that are always expanded, or always collapsed. Ops that differ by a
            number, and scopes of one or two, are one row until they are opened.

    Returns:
        Each expanded row, then its content; otherwise in the order of their last members: a scope is done
        with its last one, while its first may be a constant that could run at any time.
    """
    prefix = f"{scope}/" if scope else ""
    inside = [i for i, path in enumerate(paths) if path.startswith(prefix) or path == scope]
    rows: list[tuple[_Place, ScopeRow]] = []
    waiting: list[tuple[int, int, _Place, ScopeRow]] = []  # level by level, the largest first

    def add(parts: list[ScopeRow], place: _Place) -> None:
        for part in parts:
            where = (*place, part.members[-1])
            if part.kind == "node":
                rows.append((where, replace(part, depth=len(place))))
            else:
                heappush(waiting, (len(place), -len(part.members), where, part))

    top = _not_crowded(_children(paths, inside, len(prefix)), prefix)
    add(top, ())
    count, deepest = len(waiting), len(paths)
    while waiting:
        depth, _, place, row = heappop(waiting)
        parts = _parts(paths, row)
        alone = row.kind == "scope" and len(top) == 1 == len(place)
        if alone and row.path not in opened:
            parts = _not_crowded(parts, f"{row.path}/")
        worth_it = row.kind == "scope" and len(row.members) >= _MANY and depth <= deepest
        if worth_it and count + len(parts) > most:  # deeper rows would expand unpredictably
            worth_it, deepest = False, depth
        is_open = row.path in opened or ((worth_it or alone) and row.path not in closed)
        rows.append((place, replace(row, depth=depth, is_open=is_open)))
        if is_open:
            add(parts, place)
            count += 0 if row.path in opened else len(parts)
    return [row for _, row in sorted(rows, key=itemgetter(0))]


def _parts(paths: Sequence[str], row: ScopeRow) -> list[ScopeRow]:
    """Children of an open row."""
    if row.kind == "numbered":
        return [ScopeRow(paths[i], [i], "node") for i in row.members]
    if row.kind == "rest":
        return _children(paths, row.members, len(row.path) - len(_REST))
    return _children(paths, row.members, len(row.path) + 1)


def _not_crowded(rows: list[ScopeRow], prefix: str) -> list[ScopeRow]:
    """The rows below a scope, the smallest of too many as one; of equal ones those that come first stay."""
    if len(rows) <= _CROWD:
        return rows
    largest = sorted(rows, key=lambda row: (-len(row.members), row.members[-1]))
    rest = sorted(i for row in largest[_CROWD - 1 :] for i in row.members)
    return [*largest[: _CROWD - 1], ScopeRow(f"{prefix}{_REST}", rest, "rest")]


def _children(paths: Sequence[str], members: Sequence[int], start: int) -> list[ScopeRow]:
    """The scopes and nodes directly below a scope whose path ends before `start`. Chains of scopes are
    joined, and so are many nodes that differ by a number."""
    groups: dict[str, list[int]] = {}
    for i in members:
        groups.setdefault(paths[i][start:].partition("/")[0], []).append(i)
    rows, numbered = [], dict[str, list[ScopeRow]]()
    for label, group in groups.items():
        row = _row(paths, group, start)
        if row.kind == "node" and row.path[start:] == label:
            numbered.setdefault(_NAME_NUMBER.sub("", label), []).append(row)
        else:
            rows.append(row)
    for stem, alike in numbered.items():
        if len(alike) < _MANY:
            rows += alike
        else:
            path = f"{alike[0].path[:start]}{stem} …"
            rows.append(ScopeRow(path, sorted(i for row in alike for i in row.members), "numbered"))
    return rows


def _row(paths: Sequence[str], members: list[int], start: int) -> ScopeRow:
    first = paths[members[0]]
    if all(paths[i] == first for i in members):
        return ScopeRow(first, members, "node")
    end = _segment_end(first, start)
    while (further := _segment_end(first, end + 1)) > end and further < len(first):
        if not all(paths[i].startswith(first[: further + 1]) for i in members):
            break
        end = further
    return ScopeRow(first[:end], members, "scope")


def _segment_end(path: str, start: int) -> int:
    """Where the segment that begins at `start` ends."""
    found = path.find("/", start)
    return len(path) if found < 0 else found
