"""The minimal repair of a recorded step: the smallest change of the program that keeps it finite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tensortap.core.errors import TensortapError
from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import find_recordings

from ..locate import is_bundle, open_recording
from ..protocol import Progress, ignore_progress
from ..run.loaded_call import LoadedCall
from ..run.program_lines import ProgramLines
from .nonfinite_origins import (
    Origin,
    count_nonfinite,
    largest_magnitude,
    nonfinite_arguments,
    nonfinite_results,
    nonfinite_rows,
)
from .repair_search import RepairSearch
from .repairs import Repair

_MOST_TOLD = 10


def minimal_repair(
    recording: Recording, graph: Graph | None, progress: Progress = ignore_progress
) -> dict[str, Any]:
    """Answers the study `fix`.

    Args:
        graph: as it was recorded, with the program's lines; None: lines are not known.
        progress: takes each origin and each trial at once.

    Returns:
        `bad` (what the step leaves that is not finite), `given` (what was not finite before it), `rows`
        (see `nonfinite_rows`), `births` (see `Origin`, also where it reaches no result),
        `fix` (the smallest set of repairs; empty if none helps, or nothing is bad and half precision makes
        none of the births), `alternatives` (other repairs of which
        each alone helps), `trials` (how often the step was run), `left` (what stays non-finite if no set
        of repairs helps), `cut` (the trials were used up: a smaller set may do, or another one help),
        `largest` (`name` and `value` of the largest number of the variables and inputs that the step was
        given).
    """
    lines = ProgramLines(graph)
    with LoadedCall(recording) as call:
        bad = nonfinite_results(recording, call.run(as_written=True)) or nonfinite_results(
            recording, call.run()
        )
        given = nonfinite_arguments(recording)
        search = RepairSearch(recording, call, progress)
        progress("looking for the nodes where it is born")
        origins = search.nodes.origins()[0]
        for origin in origins[:_MOST_TOLD]:
            progress(_born(origin, lines))
        found, others = _searched(search, origins, bad=bool(bad)) if not given else ([], [])
    return {
        "bad": bad,
        "given": given,
        "rows": nonfinite_rows(recording),
        "births": [
            {"node": b.node, "op_type": b.op_type, "count": b.count, **lines.of(b.node)} for b in origins
        ],
        "fix": [_record(repair, lines) for repair in found],
        "alternatives": [_record(repair, lines) for repair in others],
        "trials": search.trials,
        "cut": search.cut,
        "left": search.left if bad and not found else [],
        "largest": _largest(recording),
    }


def _searched(search: RepairSearch, origins: list[Origin], *, bad: bool) -> tuple[list[Repair], list[Repair]]:
    """Repairs of `bad` results; where these are finite, of what half precision makes in the forward pass: an
    optimizer with a loss scale leaves such a step out, or a division by infinity hides it as a 0."""
    if bad:
        return search.run(origins)
    half = search.born_in_half(origins)
    return search.run(half, {each.node for each in origins if each not in half}) if half else ([], [])


def _born(origin: Origin, lines: ProgramLines) -> str:
    where = lines.text_of(origin.node)
    line = f", {where}" if where else ""
    return f"born at {origin.node} ({origin.op_type}, {origin.count:,} not finite){line}"


def _largest(recording: Recording) -> Mapping[str, Any]:
    sizes = {
        argument.name: max((largest_magnitude(array) for array in argument.arrays), default=0.0)
        for argument in recording.arguments
    }
    name = max(sizes, key=lambda each: sizes[each], default="")
    return {"name": name, "value": sizes.get(name, 0.0)}


def _record(repair: Repair, lines: ProgramLines) -> Mapping[str, Any]:
    return {
        "kind": repair.kind,
        "node": repair.node,
        "instead": repair.instead,
        "nodes": [node for _, node in repair.nodes],
        **lines.of(repair.node),
    }


_MOST = 50  # recordings of data that are not finite, one after another


class Earlier(NamedTuple):
    """Step of a recorded call, and which call of the step it is."""

    step: int
    call: int


def last_finite_recording(source: Path) -> Earlier | None:
    """Finds a late recording of the same run, before `source`, whose inputs and variables are finite.

    Variables that are NaN mostly stay so: the last recording of finite ones is looked for by halving, and of
    a thousand recordings ten are read. Data come and go, so from there on the nearest one before whose data
    are finite, too, of at most 50. Where variables became finite again (restored, assigned) a later one may
    be missed. None if none is found, or `source` is a bundle.
    """
    if is_bundle(source):
        return None
    places = find_recordings(source.parent.parent)
    names = [place.path.name for place in places]
    before = places[: names.index(source.name)] if source.name in names else []
    finite, bad = -1, len(before)
    while bad - finite > 1:
        # The one just before it first: a trigger recorded the step at which NaN appeared.
        middle = bad - 1 if bad == len(before) else (finite + bad) // 2
        given = _given(before[middle].path)
        if given is None:
            del before[middle]
            bad -= 1
        elif "variable" in given:
            bad = middle
        else:
            finite = middle
    nearest = reversed(before[max(finite + 1 - _MOST, 0) : finite + 1])
    return next((Earlier(place.step, place.call) for place in nearest if _given(place.path) == set()), None)


def _given(path: Path) -> set[str] | None:
    """Kinds of a recording's arguments that are not finite; None if it cannot be read."""
    try:
        arguments = open_recording(path).arguments
    except (TensortapError, OSError):
        return None
    return {argument.kind for argument in arguments if any(map(count_nonfinite, argument.arrays))}
