"""A graph's nodes folded into a few scopes: the rows of a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from operator import itemgetter

_Place = tuple[int, ...]  # last members of a row and of the scopes around it


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope (`path`: what its members share), or one node. `members`: positions in the paths given."""

    path: str
    members: list[int]
    leaf: bool


def scope_rows(paths: Sequence[str], scope: str, most: int) -> list[ScopeRow]:
    """What lies below a scope, opened as far as `most` rows hold it: the largest scope is opened first.

    Args:
        paths: display paths, `/` between scopes. scope: a path; empty for all.

    Returns:
        Rows of one scope next to each other, otherwise in the order of their last members: a scope is done
        with its last one, while its first may be a constant that could run at any time. More than `most` only
        where the scope itself, or the only one in it, holds more.
    """
    prefix = f"{scope}/" if scope else ""
    inside = [i for i, path in enumerate(paths) if path.startswith(prefix) or path == scope]
    rows: list[tuple[_Place, ScopeRow]] = []
    closed: list[tuple[int, _Place, ScopeRow]] = []  # scopes, the largest first
    count, parts = 0, _children(paths, inside, len(prefix))
    place: _Place = ()
    while True:
        count += len(parts)
        for part in parts:
            where = (*place, part.members[-1])
            if part.leaf:
                rows.append((where, part))
            else:
                heappush(closed, (-len(part.members), where, part))
        if not closed:
            break
        _, place, row = heappop(closed)
        parts = _children(paths, row.members, len(row.path) + 1)
        count -= 1
        if count and count + len(parts) > most:
            rows.append((place, row))
            parts, count = [], count + 1
    return [row for _, row in sorted(rows, key=itemgetter(0))]


def _children(paths: Sequence[str], members: Sequence[int], start: int) -> list[ScopeRow]:
    """The scopes and nodes right below a scope whose path ends before `start`; chains of scopes are one."""
    groups: dict[str, list[int]] = {}
    for i in members:
        groups.setdefault(paths[i][start:].partition("/")[0], []).append(i)
    return [_row(paths, group, start) for group in groups.values()]


def _row(paths: Sequence[str], members: list[int], start: int) -> ScopeRow:
    first = paths[members[0]]
    if all(paths[i] == first for i in members):
        return ScopeRow(first, members, True)
    end = _segment_end(first, start)
    while (further := _segment_end(first, end + 1)) > end and further < len(first):
        if not all(paths[i].startswith(first[: further + 1]) for i in members):
            break
        end = further
    return ScopeRow(first[:end], members, False)


def _segment_end(path: str, start: int) -> int:
    """Where the segment that begins at `start` ends."""
    found = path.find("/", start)
    return len(path) if found < 0 else found
