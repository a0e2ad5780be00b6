"""The smallest change of a program that keeps a recorded step from leaving NaN or infinite numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensortap.core.model import Graph
from tensortap.dump.recording.model import Recording

from ..protocol import Progress, ignore_progress
from ..run.rerun import LoadedCall
from ..run.source_lines import SourceLines
from .fix_search import FixSearch
from .nonfinite_nodes import Birth, bad_results, bad_rows, given_non_finite, size_of
from .repairs import Repair

_MOST_TOLD = 10


def fix(recording: Recording, graph: Graph | None, told: Progress = ignore_progress) -> dict[str, Any]:
    """Answers the study `fix`.

    Args:
        graph: as it was recorded, with the program's lines; None: lines are not known.
        told: is told of births and of each trial at once.

    Returns:
        `bad` (what the step leaves that is not finite), `given` (what was not finite before it), `rows`
        (see `bad_rows`), `births` (see `Birth`, also where it reaches no result),
        `fix` (the smallest set of repairs; empty if none helps, or nothing is bad and half precision makes
        none of the births), `alternatives` (other repairs of which
        each alone helps), `trials` (how often the step was run), `left` (what stays non-finite if no set
        of repairs helps), `cut` (the trials were used up: a smaller set may do, or another one help),
        `largest` (`name` and `value` of the largest number of the variables and inputs that the step was
        given).
    """
    lines = SourceLines(graph)
    with LoadedCall(recording) as call:
        bad = bad_results(recording, call.run(as_written=True)) or bad_results(recording, call.run())
        given = given_non_finite(recording)
        search = FixSearch(recording, call, told)
        told("looking for the nodes where it is born")
        births = search.nodes.births()[0]
        for birth in births[:_MOST_TOLD]:
            told(_born(birth, lines))
        found, others = _searched(search, births, bad=bool(bad)) if not given else ([], [])
    return {
        "bad": bad,
        "given": given,
        "rows": bad_rows(recording),
        "births": [
            {"node": b.node, "op_type": b.op_type, "count": b.count, **lines.of(b.node)} for b in births
        ],
        "fix": [_record(repair, lines) for repair in found],
        "alternatives": [_record(repair, lines) for repair in others],
        "trials": search.trials,
        "cut": search.cut,
        "left": search.left if bad and not found else [],
        "largest": _largest(recording),
    }


def _searched(search: FixSearch, births: list[Birth], *, bad: bool) -> tuple[list[Repair], list[Repair]]:
    """Repairs of `bad` results; where these are finite, of what half precision makes in the forward pass: an
    optimizer with a loss scale leaves such a step out, or a division by infinity hides it as a 0."""
    if bad:
        return search.run(births)
    half = search.born_in_half(births)
    return search.run(half, {each.node for each in births if each not in half}) if half else ([], [])


def _born(birth: Birth, lines: SourceLines) -> str:
    where = lines.of(birth.node)
    line = f", {where['file']}:{where['line']}  {where['text']}" if where["line"] else ""
    return f"born at {birth.node} ({birth.op_type}, {birth.count:,} not finite){line}"


def _largest(recording: Recording) -> Mapping[str, Any]:
    sizes = {
        argument.name: max((size_of(array) for array in argument.arrays), default=0.0)
        for argument in recording.arguments
    }
    name = max(sizes, key=lambda each: sizes[each], default="")
    return {"name": name, "value": sizes.get(name, 0.0)}


def _record(repair: Repair, lines: SourceLines) -> Mapping[str, Any]:
    return {
        "kind": repair.kind,
        "node": repair.node,
        "instead": repair.instead,
        "nodes": [node for _, node in repair.nodes],
        **lines.of(repair.node),
    }
