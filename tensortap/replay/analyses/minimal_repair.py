"""The minimal repair of a recorded step: the smallest change of the program that keeps it finite.

`RepairSearch` finds the smallest set of repairs in few runs of the step, by delta debugging (`minimize`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tensortap.core.errors import InvalidValueError, NotFoundError, TensortapError
from tensortap.core.progress import Notice, ignore_notice
from tensortap.core.records import Graph
from tensortap.core.text import counted
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import find_recordings

from ..execution.dtype_change import change_nodes_dtype
from ..execution.loaded_call import LoadedCall
from ..execution.node_selection import NodeKey
from ..execution.override import override
from ..execution.program_lines import ProgramLines
from ..locate import is_plain_file, open_recording
from .nonfinite_origins import (
    NodeOrigin,
    StepNodes,
    count_nonfinite,
    largest_magnitude,
    nonfinite_arguments,
    nonfinite_results,
    nonfinite_rows,
)
from .repairs import Repair, RepairProposals, combine_changes, is_gradient

_MOST_REPORTED = 10
_MAX_RECORDINGS = 50  # recordings of data that are not finite, one after another
MOST_TRIALS = 60
"""How often the whole step is run at most."""
_MOST_ALONE = 12  # repairs that are tried alone
_MOST_OTHERS = 4  # further ones that are tried alone, once one helped
_MOST_ROUNDS = 4  # each adds repairs for remaining non-finite tensors
_HALF = ("float16", "bfloat16")


def minimal_repair(
    recording: Recording, graph: Graph | None, progress: Notice = ignore_notice
) -> dict[str, Any]:
    """Answers the analysis `repair`.

    Args:
        graph: as it was recorded, with the program's lines; None: lines are unknown.
        progress: takes each origin and each trial at once.

    Returns:
        `bad` (what the step leaves that is not finite), `given` (what was not finite before it), `rows`
        (see `nonfinite_rows`), `origins` (see `NodeOrigin`, also where it reaches no result),
        `repair` (the smallest set of repairs; empty if none helps, or nothing is bad and half precision makes
        none of the origins), `alternatives` (other repairs of which
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
        progress("finding the origins")
        origins = search.nodes.origins()[0]
        for origin in origins[:_MOST_REPORTED]:
            progress(_origin_text(origin, lines))
        found, others = _searched(search, origins, bad=bool(bad)) if not given else ([], [])
    return {
        "bad": bad,
        "given": given,
        "rows": nonfinite_rows(recording),
        "origins": [
            {"node": b.node, "op_type": b.op_type, "count": b.count, **lines.of(b.node)} for b in origins
        ],
        "repair": [_record(repair, lines) for repair in found],
        "alternatives": [_record(repair, lines) for repair in others],
        "trials": search.trials,
        "cut": search.cut,
        "left": search.left if bad and not found else [],
        "largest": _largest(recording),
    }


def _searched(
    search: RepairSearch, origins: list[NodeOrigin], *, bad: bool
) -> tuple[list[Repair], list[Repair]]:
    """Repairs of `bad` results. If these are finite, repairs of non-finite half-precision tensors of the
    forward pass: an optimizer with a loss scale skips such a step, or a division by infinity hides it as a
    0."""
    if bad:
        return search.run(origins)
    half = search.origins_in_half(origins)
    return search.run(half, {each.node for each in origins if each not in half}) if half else ([], [])


def _origin_text(origin: NodeOrigin, lines: ProgramLines) -> str:
    where = lines.text_of(origin.node)
    line = f", {where}" if where else ""
    return f"origin: {origin.node} ({origin.op_type}, {origin.count:,} not finite){line}"


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


class EarlierRecording(NamedTuple):
    """Step of a recorded call, and which call of the step it is."""

    step: int
    call: int


def last_finite_recording(source: Path) -> EarlierRecording | None:
    """Finds a late recording of the same run, before `source`, with finite inputs and variables.

    Variables that are NaN mostly stay so: the last recording of finite ones is looked for by halving, and of
    a thousand recordings ten are read. Data come and go, so from there on the nearest one before whose data
    are finite, too, of at most 50. Where variables became finite again (restored, assigned) a later one may
    be missed. None if none is found, or `source` is a bundle.
    """
    if is_plain_file(source):
        return None
    places = find_recordings(source.parent.parent)
    names = [place.path.name for place in places]
    before = places[: names.index(source.name)] if source.name in names else []
    finite, bad = -1, len(before)
    while bad - finite > 1:
        # First the one just before it: a trigger recorded the step at which NaN appeared.
        middle = bad - 1 if bad == len(before) else (finite + bad) // 2
        given = _nonfinite_kinds(before[middle].path)
        if given is None:
            del before[middle]
            bad -= 1
        elif "variable" in given:
            bad = middle
        else:
            finite = middle
    nearest = reversed(before[max(finite + 1 - _MAX_RECORDINGS, 0) : finite + 1])
    return next(
        (
            EarlierRecording(place.step, place.call)
            for place in nearest
            if _nonfinite_kinds(place.path) == set()
        ),
        None,
    )


def _nonfinite_kinds(path: Path) -> set[str] | None:
    """Kinds of a recording's arguments that are not finite; None if it cannot be read."""
    try:
        arguments = open_recording(path).arguments
    except (TensortapError, OSError):
        return None
    return {argument.kind for argument in arguments if any(map(count_nonfinite, argument.arrays))}


class RepairSearch:
    """Tries repairs on one loaded call.

    Attributes:
        trials: how often the step was run with repairs.
        left: the non-finite results of the last of these runs.
        cut: the trials were used up before the answer was certain: a smaller set may do, or some other one.
    """

    def __init__(self, recording: Recording, call: LoadedCall, progress: Notice) -> None:
        self._recording, self._call, self._progress = recording, call, progress
        self.nodes = StepNodes(call)
        self._repairs = RepairProposals(self.nodes.chosen)
        self.trials = 0
        self.cut = False
        self.left: list[str] = []
        self._as_written = True
        self._expected: Collection[str] | None = None

    def run(
        self, origins: Sequence[NodeOrigin], expected: Collection[str] | None = None
    ) -> tuple[list[Repair], list[Repair]]:
        """(the smallest set of repairs, others that each help alone). Repairs of the first origin come first,
        because later origins mostly follow from it.

        The search runs without the graph optimizer, three times as fast. Found repairs are run together; if
        that does not help there, the search begins again with it.

        Args:
            meant: None: it is results that shall be finite. Else all numbers of the forward pass, but for
                those that these nodes make; gradients may overflow, as a loss scale is found that way.
        """
        self._expected = expected
        found, others = self._search(origins)
        self._as_written = False
        if (
            not found or self._expected is not None or self._is_confirmed(found)
        ):  # taps on all keep the optimizer off
            return found, others
        return self._search(origins)

    def _is_confirmed(self, repairs: Sequence[Repair]) -> bool:
        self._progress("replaying the step with the repair and the graph optimizer")
        nodes = repairs[0].nodes
        return self._is_good(self._in_float32(nodes) if nodes else self._repaired(repairs))

    def _search(self, origins: Sequence[NodeOrigin]) -> tuple[list[Repair], list[Repair]]:
        island = self._island([origin.key for origin in origins if origin.constant is None])
        candidates = self._repairs_of(origins)
        cut = self.cut
        alone = self._alone(candidates, found=island is not None)
        if island is not None or alone:
            self.cut = cut  # only alternatives were left untried
        if island is not None:  # what overflows in half precision is right in float32, clamped it is not
            return [island], alone
        if alone:
            return alone[:1], alone[1:]
        candidates = self._further(candidates)
        for chosen in (*_one_each(candidates), candidates):
            if chosen and self._helps(chosen):
                return minimize(chosen, self._helps), []
        return [], []

    def _alone(self, candidates: Sequence[Repair], *, found: bool) -> list[Repair]:
        """Repairs that help alone, the most likely first; few more are tried once there is one."""
        helping: list[Repair] = []
        others = _MOST_OTHERS
        for repair in candidates[:_MOST_ALONE]:
            if found or helping:
                others -= 1
            if others < 0:
                break
            if self._helps([repair]):
                helping.append(repair)
        return helping

    def _repairs_of(self, origins: Sequence[NodeOrigin]) -> list[Repair]:
        found: dict[tuple[str, str, str], Repair] = {}
        for origin in origins:
            for repair in self._repairs.of(origin):
                found.setdefault((repair.kind, repair.node, repair.instead), repair)
        return list(found.values())

    def _further(self, candidates: list[Repair]) -> list[Repair]:
        """Adds repairs of the origins that appear once these are made, and so on."""
        for _ in range(_MOST_ROUNDS):
            if not candidates:
                break
            self._report(candidates)
            try:
                changed = self._repaired(candidates)
            except (InvalidValueError, NotFoundError):
                break
            with LoadedCall(changed) as call:
                origins, again = self.nodes.origins(call)
                self.left = nonfinite_results(changed, again)
                origins = [] if not self.left else self._original(origins, call)
            known = {(each.kind, each.node, each.instead) for each in candidates}
            more = [
                each
                for each in self._repairs_of(origins)
                if (each.kind, each.node, each.instead) not in known
            ]
            if not more:
                break
            candidates = [*candidates, *more]
        return candidates

    def _original(self, origins: Sequence[NodeOrigin], changed: LoadedCall) -> list[NodeOrigin]:
        """Origins in a changed call, at the nodes of the recorded call."""
        names = {self._call.original(name): name for name in self._call.recorded.functions}
        found = []
        for origin in origins:
            function = names.get(changed.original(origin.key[0]))
            if function is not None and (function, origin.key[1]) in self.nodes.chosen.operations:
                found.append(replace(origin, key=(function, origin.key[1])))
        return found

    def _repaired(self, repairs: Sequence[Repair]) -> Recording:
        return override(self._recording, combine_changes(repairs), self._call)

    def _helps(self, repairs: Sequence[Repair]) -> bool:
        if self._is_exhausted():
            return False
        self._report(repairs)
        try:
            return self._is_good(self._repaired(repairs))
        except (InvalidValueError, NotFoundError):  # a tensor without consumers, or of another function
            return False

    def _is_exhausted(self) -> bool:
        over = self.trials >= MOST_TRIALS
        self.cut = self.cut or over
        return over

    def _report(self, repairs: Sequence[Repair]) -> None:
        self.trials += 1
        shown = ", ".join(f"{each.kind} at {each.node}: {each.instead}" for each in repairs[:2])
        more = f" and {len(repairs) - 2} more" if len(repairs) > 2 else ""
        self._progress(f"replay {self.trials}: trying {shown}{more}")

    def _is_good(self, recording: Recording) -> bool:
        with LoadedCall(recording) as changed:
            if self._expected is None:
                self.left = nonfinite_results(recording, changed.run(as_written=self._as_written))
            else:
                names = [origin.node for origin in self.nodes.origins(changed)[0] if not is_gradient(origin)]
                self.left = [name for name in names if name not in self._expected]
        return not self.left

    def _island(self, origins: Sequence[NodeKey]) -> Repair | None:
        """The fewest half-precision nodes that must run in float32; None if that does not help."""
        half = self._half()
        tried = None
        if not set(origins) <= set(half):  # one run shows whether the cause is elsewhere
            tried = half
            if not self._helps_in_float32(half):
                return None
        for near in self._around(half, origins):
            if near == tried or self._helps_in_float32(near):
                nodes = minimize(near, self._helps_in_float32)
                back = ", and back after" if self._is_read_in_half(nodes) else ""
                text = f"{counted(len(nodes), 'node')} in float32: tf.cast(x, 'float32') before{back}"
                first = next((key for key in origins if key in nodes), nodes[0])
                name = self.nodes.chosen.outputs(first)[0].rpartition(":")[0]
                return Repair("float32 island", name, text, nodes=tuple(nodes))
        return None

    def origins_in_half(self, origins: Sequence[NodeOrigin]) -> list[NodeOrigin]:
        """Origins that half precision causes in the forward pass."""
        operations = self.nodes.chosen.operations
        return [
            origin
            for origin in origins
            if origin.constant is None
            and not is_gradient(origin)
            and any(_is_half(tensor) for tensor in operations[origin.key].outputs)
        ]

    def _half(self) -> list[NodeKey]:
        """Nodes with half-precision inputs or outputs, in graph order. Casts to float32 are among them:
        they must read an island's outputs in float32, not rounded again."""
        return [
            key
            for key, operation in self.nodes.chosen.operations.items()
            if any(_is_half(tensor) for tensor in (*operation.inputs, *operation.outputs))
            and not _is_of_list(operation)
        ]

    @cached_property
    def _lists(self) -> list[NodeKey]:
        """Nodes of lists of half-precision tensors, in which loops store values for their gradients."""
        return [
            (name, node)
            for name, function in self._call.recorded.functions.items()
            for node, operation in function.operations.items()
            if _is_of_list(operation) and operation.get_attr("element_dtype").name in _HALF
        ]

    def _is_read_in_half(self, island: Sequence[NodeKey]) -> bool:
        inside = set(island)
        return any(
            _is_half(tensor) and (function, reader.name) not in inside
            for function, node in island
            for tensor in self.nodes.chosen.operations[function, node].outputs
            for reader in tensor.consumers()
        )

    def _around(self, half: list[NodeKey], origins: Sequence[NodeKey]) -> Iterator[list[NodeKey]]:
        """The nodes of `half` at most 1, 2, 4 … edges away from the origins, in graph order; then all."""
        chosen = self.nodes.chosen
        for distance in (1, 2, 4, 8):
            near = chosen.near(origins, distance)
            found = [key for key in half if key in near]
            if len(found) == len(half):
                break
            yield found
        if half:
            yield half

    def _helps_in_float32(self, nodes: Sequence[NodeKey]) -> bool:
        if not nodes or self._is_exhausted():
            return False
        self.trials += 1
        self._progress(f"replay {self.trials}: trying {counted(len(nodes), 'node')} in float32")
        return self._is_good(self._in_float32(nodes))

    def _in_float32(self, nodes: Sequence[NodeKey]) -> Recording:
        chosen: dict[str, list[str]] = {}
        for function, node in (*nodes, *self._lists):  # float32 is as correct for the items of a list
            chosen.setdefault(self._call.original(function), []).append(node)
        return change_nodes_dtype(self._recording, chosen, self._call)


def _is_of_list(operation: Any) -> bool:
    return "List" in operation.type and "element_dtype" in operation.node_def.attr


def _is_half(tensor: Any) -> bool:
    return tensor.dtype.name in _HALF


def _one_each(repairs: Sequence[Repair]) -> Iterator[list[Repair]]:
    """The preferred repair of each node, then the second one of each, where it has more."""
    by_node: dict[str, list[Repair]] = {}
    for repair in repairs:
        by_node.setdefault(repair.node, []).append(repair)
    for rank in range(2):
        yield [each[min(rank, len(each) - 1)] for each in by_node.values()]


Item = TypeVar("Item")


def minimize(items: Sequence[Item], passes: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A passing subset of `items` from which no single item can be removed.

    Skips ever smaller stretches (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing
    Input, 2002, reducing to complements). `items` themselves must pass.
    """
    found = list(items)
    length = max(len(found) // 2, 1)
    while True:
        shortened = False
        start = 0
        while start < len(found) and len(found) > 1:
            shorter = found[:start] + found[start + length :]
            if shorter and passes(shorter):
                found, shortened = shorter, True
            else:
                start += length
        if length == 1 and not shortened:
            return found
        length = length if shortened and length == 1 else max(length // 2, 1)
