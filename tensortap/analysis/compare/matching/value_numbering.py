"""Which nodes of two graphs compute the same: one number for what has the same op and takes the same."""

from __future__ import annotations

from collections.abc import Callable

from tensortap.index.graph.graph_index import GraphIndex

from ...model_graph.op_types import constant_text
from ...model_graph.roles import roles_of
from .node_matching import Matching

Key = tuple[object, ...]


def numbering(matching: Matching) -> tuple[list[int], list[int]]:
    """The number of each node of A and of each of B (value numbering, Cocke 1970). A node of B has that of
    its partner; a constant has that of its elements, where the dump has them."""
    known: dict[Key, int] = {}
    back = {partner: row for row, partner in matching.partner.items()}
    of_a = _numbers(matching.a, known, lambda row: None)
    return of_a, _numbers(matching.b, known, lambda row: of_a[back[row]] if row in back else None)


def _numbers(graph: GraphIndex, known: dict[Key, int], partner: Callable[[int], int | None]) -> list[int]:
    numbers = [-1] * len(graph)
    roles = roles_of(graph)
    for row in sorted(range(len(graph)), key=graph.order.tolist().__getitem__):
        op_type = graph.op_type[row]
        text = constant_text(roles.attributes(row)) if op_type == "Const" else None
        paired = partner(row) if text is None else None
        if paired is not None:
            numbers[row] = paired
            continue
        taken = tuple((numbers[source], slot) for source, slot, _ in roles.inputs(row))
        unknown = not taken or any(number < 0 for number, _ in taken)  # a loop's body takes what follows it
        key = (op_type, graph.dtype[row], text or taken) if text or not unknown else (id(graph), row)
        numbers[row] = known.setdefault(key, len(known))
    return numbers
