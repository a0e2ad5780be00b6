"""Which variable a read belongs to, where several share one path: networks that one function built, such as a
trained network and its target."""

from __future__ import annotations

from functools import lru_cache

from .roles import GRAPHS, Roles

_MAX_DEPTH = 20  # casts and calls between a read and the variable's handle


def first_input(roles: Roles, row: int) -> int:
    """The first input of a node: of an update or a read, the variable; the node itself without inputs."""
    return next((source for source, _, position in roles.inputs(row) if position == 0), row)


def is_ambiguous_read(roles: Roles, row: int) -> bool:
    """Whether a node reads a variable whose path another one has too, which its gradient may belong to."""
    return row in _ambiguous_reads(roles)


@lru_cache(maxsize=GRAPHS)
def _ambiguous_reads(roles: Roles) -> set[int]:
    """Rows of the reads of variables whose path another variable of the graph has, too; without those of the
    one that the graph updates, if it updates only one: the gradient belongs to that."""
    ambiguous = set[int]()
    for rows in roles.reads.values():
        handles: dict[int, list[int]] = {}
        for row in rows:
            if roles.inputs(row):
                handles.setdefault(_handle(roles, row), []).append(row)
        if len(handles) > 1:
            updated = [handle for handle in handles if _is_updated(roles, handle)]
            known = handles[updated[0]] if len(updated) == 1 else []
            ambiguous |= {row for same in handles.values() for row in same} - set(known)
    return ambiguous


def _handle(roles: Roles, row: int) -> int:
    """The variable that a read belongs to, through casts and calls."""
    for _ in range(_MAX_DEPTH):
        row, before = first_input(roles, row), row
        if row == before:
            break
    return row


def _is_updated(roles: Roles, handle: int) -> bool:
    users = roles.consumers(handle)
    return any(roles.is_update(user) and first_input(roles, user) == handle for user in users)
