"""What two programs say differently at one place: constants and attributes of the nodes there."""

from __future__ import annotations

from ..provenance.operand import constant_text
from ..roles import roles_of
from .match import Matching

_IGNORED = ("T", "dtype", "Tin", "Tout", "DstT", "SrcT", "container", "shared_name")  # a dtype is told apart
_LONGEST = 60  # characters of a value that is quoted


def program_differences(matching: Matching, row: int) -> list[str]:
    """Sentences on a node of A and its partner: constants they take, attributes, nodes that B has more."""
    partner = matching.partner[row]
    return [*_constants(matching, row), *_attributes(matching, row, partner), *_added(matching, partner)]


def _constants(matching: Matching, row: int) -> list[str]:
    a, b = matching.a, matching.b
    found = []
    for source in dict.fromkeys(source for source, _, _ in roles_of(a).inputs(row)):
        partner = matching.partner.get(source)
        if partner is None or a.op_type[source] != "Const":
            continue
        left = constant_text(roles_of(a).attributes(source))
        right = constant_text(roles_of(b).attributes(partner))
        if left is not None and right is not None and left != right:
            found.append(f"The constant {a.names[source]} is {_short(left)} in A, {_short(right)} in B.")
    return found


def _attributes(matching: Matching, row: int, partner: int) -> list[str]:
    left, right = roles_of(matching.a).attributes(row), roles_of(matching.b).attributes(partner)
    return [
        f"Its attribute {name} is {_short(left[name])} in A, {_short(right[name])} in B."
        for name in sorted(left.keys() & right.keys())
        if left[name] != right[name] and not name.startswith(("_", "tensortap.")) and name not in _IGNORED
    ]


def _added(matching: Matching, partner: int) -> list[str]:
    graph = matching.b
    taken = dict.fromkeys(row for row, _, _ in roles_of(graph).inputs(partner))
    new = [row for row in taken if row not in matching.taken and graph.op_type[row] not in ("Cast", "Const")]
    return [f"In B it takes {graph.names[row]} ({graph.op_type[row]}), which A lacks." for row in new[:1]]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
