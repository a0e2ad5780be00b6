"""Wrong pairs of nodes: their inputs do not correspond, while everything downstream agrees.

A framework numbers its nodes (`mul`, `mul_1`), so that after a refactoring one name is another product; and
two products may look alike to their neighbours. Such a pair differs, though nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from tensortap.core.dtypes import is_floating
from tensortap.core.text import counted
from tensortap.index.graph.graph_index import GraphIndex

from ...model_graph.roles import Slot, roles_of
from ..matching.node_matching import Matching
from ..tensor_pairs import PairDistance
from .difference_flow import DIFFERENCE_VERDICTS, ClassifiedTensor, DifferenceFlow

DIFFER = ("diverges", "amplified", "inherited")
_PASS_ON = ("Cast", "Identity", "StopGradient")
_MAX_PATH = 8  # nodes of that kind, one after the other


def unpair_mismatches(
    matching: Matching,
    found: dict[Slot, list[PairDistance]],
    follow: Callable[[dict[Slot, list[PairDistance]]], DifferenceFlow],
) -> DifferenceFlow:
    """Undo wrong pairs, and return the verdicts without them.

    Args:
        found: of a step, without unpaired pairs. follow: gives the verdicts.
    """
    found = {slot: measures for slot, measures in found.items() if slot[0] in matching.partner}
    flow = follow(found)
    suspicious = suspicious_pairs(matching, _verdicts(flow.classified))
    if not suspicious:
        return flow
    rest = follow({slot: measures for slot, measures in found.items() if slot[0] not in suspicious})
    wrong = wrong_pairs(matching, _verdicts(rest.classified), suspicious)
    for row in wrong:
        matching.part(row)
    if wrong:
        _forget_renames(matching)
    return unpair_mismatches(matching, found, follow) if wrong else flow


def unpaired_notes(matching: Matching) -> Iterator[str]:
    """A sentence on the pairs that were unpaired."""
    count = len(matching.unpaired)
    if count:
        row, partner = matching.unpaired[0]
        a, b = matching.a.names[row], matching.b.names[partner]
        which = a if a == b else f"{a} and {b}"
        were = "was" if count == 1 else "were"
        their = "its inputs" if count == 1 else "their inputs"
        yield (
            f"{counted(count, 'matched pair')} of nodes {were} not compared ({which}): {their} "
            "differ, but tensors downstream agree. To compare a pair, match it manually "
            "(--matches)."
        )


def _forget_renames(matching: Matching) -> None:
    """Drops scope renames that only unpaired pairs suggested."""
    renamed = [
        (matching.a.names[row], matching.b.names[partner])
        for row, partner in matching.partner.items()
        if matching.how[row] in ("structure", "scope")
    ]
    matching.renames = [
        (old, new, count)
        for old, new, count in matching.renames
        if any(a.startswith(f"{old}/") and b.startswith(f"{new}/") for a, b in renamed)
    ]


def _verdicts(classified: Iterable[ClassifiedTensor]) -> dict[Slot, str]:
    """The worst verdict of each tensor; none for sums that cancel, because only rounding is left of them."""
    found: dict[Slot, str] = {}
    for entry in classified:
        if entry.cancels and entry.verdict == "noise":
            continue
        known = found.get(entry.slot, DIFFERENCE_VERDICTS[-1])
        found[entry.slot] = min(known, entry.verdict, key=DIFFERENCE_VERDICTS.index)
    return found


def suspicious_pairs(matching: Matching, verdicts: Mapping[Slot, str]) -> set[int]:
    """Rows of A with different tensors and inputs that do not correspond, and their downstream rows.

    Args:
        verdicts: of the compared tensors. Manual pairs are never suspicious.
    """
    found: set[int] = set()
    rows = {
        row for (row, _), verdict in verdicts.items() if verdict in DIFFER and matching.how[row] != "hand"
    }
    for row in sorted(rows, key=lambda row: int(matching.a.order[row])):
        left = {_partner(matching, source, found) for source in sources(matching.a, row)}
        right = set(sources(matching.b, matching.partner[row]))
        if left != right:
            found.add(row)
    return found


def wrong_pairs(matching: Matching, verdicts: Mapping[Slot, str], suspicious: Collection[int]) -> list[int]:
    """Suspicious rows with an equal downstream node and no different one.

    Args:
        verdicts: of the tensors that were compared, without those of the suspicious_pairs rows.
    """
    by_row: dict[int, list[str]] = {}
    for (row, _), verdict in verdicts.items():
        by_row.setdefault(row, []).append(verdict)
    wrong: dict[int, bool] = dict.fromkeys(suspicious, False)
    for row in sorted(suspicious, key=lambda row: -int(matching.a.order[row])):
        wrong[row] = _agrees_downstream(matching.a, row, by_row, wrong)
    return [row for row in wrong if wrong[row]]


def _agrees_downstream(
    graph: GraphIndex, row: int, verdicts: Mapping[int, list[str]], wrong: Mapping[int, bool]
) -> bool:
    """Whether all paths from a node lead to equal tensors or to another wrong pair."""
    roles, seen, waiting, agrees = roles_of(graph), {row}, [row], False
    while waiting:
        for follower in roles.consumers(waiting.pop()):
            if follower in seen:
                continue
            seen.add(follower)
            own = verdicts.get(follower, [])
            if wrong.get(follower) is False or any(verdict in DIFFER for verdict in own):
                return False
            if follower in wrong or (own and is_floating(graph.dtype[follower])):
                agrees = True
            else:  # not compared, or whole numbers, which agree easily
                waiting.append(follower)
    return agrees


def _partner(matching: Matching, row: int, suspicious: Collection[int]) -> int:
    """The partner's row; -1 - row without a reliable partner (no row of B)."""
    partner = matching.partner.get(row)
    return -1 - row if partner is None or row in suspicious else partner


def sources(graph: GraphIndex, row: int) -> list[int]:
    """Inputs of a node, without constants and handles of variables. An op that a change of dtype adds is
    replaced by its own input."""
    roles = roles_of(graph)
    found = []
    for source, _, _ in roles.inputs(row):
        for _ in range(_MAX_PATH):
            before = roles.inputs(source)
            if graph.op_type[source] not in _PASS_ON or not before:
                break
            source = before[0][0]
        if graph.op_type[source] != "Const" and graph.dtype[source] != "resource":
            found.append(source)
    return found
