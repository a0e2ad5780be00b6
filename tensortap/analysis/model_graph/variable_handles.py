"""Which variable a read is of, where several have one path: networks that one function made, as that which is
trained and its target."""

from __future__ import annotations

from ..run_view.run_view import RunView
from .node_roles import Roles
from .tensor_role import TensorRole

_DEEP = 20  # calls that a handle is passed on by


def first_input(roles: Roles, row: int) -> int:
    """What a node takes first: of an update or a read, the variable; the node itself if it takes nothing."""
    return next((source for source, _, position in roles.inputs(row) if position == 0), row)


def is_unsure(view: RunView, tensor: TensorRole) -> bool:
    """Whether another variable has the path of a weight, and may be the one that its gradient belongs to."""
    found = view.once(f"unsure reads {tensor.graph}", lambda: _unsure_reads(view.roles(tensor.graph)))
    return tensor.row in found


def _unsure_reads(roles: Roles) -> set[int]:
    """Rows of the reads of variables whose path another variable of the graph has, too; but for those of the
    one that the graph updates, if it updates one alone: to that its gradient belongs."""
    unsure = set[int]()
    for rows in roles.reads.values():
        handles: dict[int, list[int]] = {}
        for row in rows:
            if roles.inputs(row):
                handles.setdefault(_handle(roles, row), []).append(row)
        if len(handles) > 1:
            updated = [handle for handle in handles if _is_updated(roles, handle)]
            sure = handles[updated[0]] if len(updated) == 1 else []
            unsure |= {row for same in handles.values() for row in same} - set(sure)
    return unsure


def _handle(roles: Roles, row: int) -> int:
    """The variable itself that a read is of, through casts and calls."""
    for _ in range(_DEEP):
        row, before = first_input(roles, row), row
        if row == before:
            break
    return row


def _is_updated(roles: Roles, handle: int) -> bool:
    users = roles.consumers(handle)
    return any(roles.is_update(user) and first_input(roles, user) == handle for user in users)
