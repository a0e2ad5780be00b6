"""Finds the first divergence of two runs: the tensor, the reason, and the inputs of its node."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from tensortap.core.dtypes import is_floating
from tensortap.core.text import number_beside, number_text
from tensortap.index.catalog.tensor_table import NO_GRAPH
from tensortap.index.query.node_detail import FrameDetail, source_line
from tensortap.index.run_index import RunIndex

from ..model_graph.call_dataflow import dataflow_of
from ..model_graph.op_types import INPUTS, VARIABLE_READS, constant_text
from ..model_graph.roles import Roles, Slot, roles_of
from ..nonfinite.step_calls import StepCalls
from .comparison_records import FirstDivergence, TensorDifference
from .matching.node_matching import Matching
from .matching.program_diff import (
    extra_layer,
    first_change,
    gradient_cut,
    input_differences,
    own_differences,
    untrained,
)
from .matching.sequence_alignment import is_eager
from .propagation.conditioning import Flow, both, condition_text, differing_program, rounding_origin
from .propagation.earlier_calls import beginning_in_calls, comes_from_call

_RANDOM = ("Random", "StatelessRandom", "StatelessTruncated", "Multinomial", "ParameterizedTruncated")
_REPLAY_DTYPES = ("bfloat16", "float16", "float32", "float64")  # that a recorded step is replayed in
_ALIKE = {"float32", "bfloat16", "float16"}
_MAX_INPUTS = 8
_SLOT = 5  # the rank of an optimizer's moments


def first_divergence(
    runs: tuple[RunIndex, RunIndex],
    flows: list[Flow],
    tensors: list[TensorDifference],
    known: ComparedTensors,
    steps: int,
    calls: StepCalls,
) -> FirstDivergence | None:
    """Find where the difference begins; None if nothing diverges.

    Of several tensors that diverge, see `earliest`. Arguments computed by another call of the step are
    skipped where anything else diverges; where nothing else does, see `beginning_in_calls`.

    Args:
        known: what was compared, visit by visit. calls: those of the step of A.
    """
    found = [entry for entry in tensors if entry.verdict == "diverges"]
    from_calls = [entry for entry in found if comes_from_call(calls, entry)]
    later = [entry for entry in tensors if entry.verdict in ("amplified", "inherited")]
    if not found and not later:
        return None
    found = [entry for entry in found if entry not in from_calls]
    found = found or beginning_in_calls(from_calls, flows, tensors, calls)
    matching = {flow[0].a.id: flow for flow in flows}
    conditioned = next((entry for entry in later if entry.verdict == "amplified"), None)
    condition = (
        "" if found or conditioned is None else condition_text(matching[conditioned.graph], conditioned)
    )
    found = found or later
    if conditioned is not None and condition:
        origin = differing_program(matching[conditioned.graph], conditioned, tensors)
        condition, found = ("", [origin]) if origin else (condition, [conditioned])
    first = earliest(found, {graph: flow[0] for graph, flow in matching.items()}, known)
    graph = matching[first.graph][0].a
    other = first.other.rpartition(":")[0]
    frames = source_line(runs[0], first.node, first.graph), source_line(runs[1], other, first.other_graph)
    made, missing = compared_inputs(matching[first.graph][0], first, known)
    inputs = [known.at(first.graph, slot, visit) for slot, visit in made[:_MAX_INPUTS]]
    kind = roles_of(graph).kind.get(graph.rows[first.node], "")
    variable = roles_of(graph).variable.get(graph.rows[first.node], "")
    variable = variable if first.op_type in VARIABLE_READS else ""

    def line(side: str, node: str) -> FrameDetail | None:
        return source_line(runs["AB".index(side)], node, first.graph if side == "A" else first.other_graph)

    begins = first.verdict in ("diverges", "noise")
    others = input_differences(matching[first.graph][0], graph.rows[first.node], line) if begins else []
    text = _variable_text(matching[first.graph], first, variable, steps)
    text = text or (_FROM_CALL if first in from_calls else "")
    text = text or _text(
        first, kind, inputs, missing, steps, one_run=runs[0].path == runs[1].path, same_inputs=not others
    )
    if condition:
        source = rounding_origin(matching[first.graph], first, tensors)
        rounding = f"It amplifies rounding that starts at {source.tensor} ({source.op_type})."
        return FirstDivergence(first, f"{condition} {rounding}", inputs, *frames)
    if first.verdict == "diverges" and not missing:
        shown = _shown(matching[first.graph], first)
        text = shown if shown and first.before > 0 else " ".join(filter(None, [text, shown]))
    if begins:
        differences = [*own_differences(matching[first.graph][0], graph.rows[first.node]), *others]
        entry = rank(first, matching[first.graph][0]) in (0, _SLOT)
        if differences and missing and not entry:  # uncaptured tensors are known after all
            text = "Its captured inputs agree." if inputs else ""
        if entry and first.basis == "shapes":
            differences = []  # an attribute says the same
        text = " ".join(filter(None, [text, *differences]))
        if entry and steps > 1 and kind != "input":
            extra = first_change(matching[first.graph][0], line)
            text = " ".join(filter(None, [text, untrained(matching[first.graph][0]) if extra else ""]))
        else:
            row = graph.rows[first.node]
            extra = "" if entry else extra_layer(matching[first.graph][0], row)
            extra = extra or gradient_cut(matching[first.graph][0], row, line)
        return FirstDivergence(first, text, [] if others else inputs, *frames, extra, variable)
    return FirstDivergence(first, text, inputs, *frames, variable=variable)


_FROM_CALL = (
    "Another call of the step returned it, and no captured tensor of that call diverges. Capture more of that"
    " call."
)


_WITHOUT_GRAPH = (
    "It was stored without a graph, so its inputs are unknown, and another tensor may have diverged before "
    "it. A Tap stores the graph; with DumpWriter, pass graph=writer.graph(…)."
)


def _text(
    first: TensorDifference,
    kind: str,
    inputs: list[TensorDifference],
    missing: list[str],
    steps: int,
    *,
    one_run: bool,
    same_inputs: bool,
) -> str:
    """Args: same_inputs: whether its partner takes the same inputs."""
    metrics = first.metrics
    if kind == "input" or (first.op_type in INPUTS and not inputs):
        shapes = f"{_shape(first.shape_a)} in A and {_shape(first.shape_b)} in B"
        fed = f"The step was fed {shapes if first.basis == 'shapes' else 'other data'}"
        if one_run:
            return f"{fed}, as is usual for steps and workers of one run. This may explain all differences."
        return f"{fed}: compare runs with the same batches."
    if first.basis == "shapes":
        return f"Its shape is {_shape(first.shape_a)} in A and {_shape(first.shape_b)} in B."
    if first.op_type in VARIABLE_READS or kind == "weight":
        if steps > 1:
            return "This variable already differed after the previous steps: compare those."
        return (
            "This variable differs at the start of the step: different initial values, checkpoint "
            "or earlier steps."
        )
    if first.op_type.startswith(_RANDOM):
        return _random_numbers(first, inputs, missing, same_inputs=same_inputs)
    if first.op_type == "Const":
        return "A constant of the program differs."
    if metrics.nonfinite_a or metrics.nonfinite_b:
        some = "At least " if first.basis in ("summaries", "sample") else ""
        if metrics.nonfinite_b:
            return f"{some}{metrics.nonfinite_b:,} of its elements are NaN or infinite in B only."
        return f"{some}{metrics.nonfinite_a:,} of its elements are NaN or infinite in A only."
    return _computed(first, inputs, missing, same_inputs=same_inputs)


def _variable_text(flow: Flow, first: TensorDifference, variable: str, steps: int) -> str:
    """Describe a variable: its name in the program, and both numbers of a scalar (a learning rate)."""
    if not variable or first.basis == "shapes":
        return ""
    pairing, left, right = flow
    row, what = pairing.a.rows[first.node], f"The variable {variable}"
    if first.shape_a == first.shape_b == ():
        in_a = left.snapshot((row, int(first.tensor.rpartition(":")[2])))
        in_b = right.snapshot((pairing.partner[row], int(first.other.rpartition(":")[2])))
        what += f" is {number_text(in_a.mean)} in A and {number_beside(in_b.mean, in_a.mean)} in B"
        return f"{what}: compare the previous steps." if steps > 1 else f"{what}."
    if steps > 1:
        return f"{what} already differed after the previous steps: compare those."
    return f"{what} differs at the start of the step: different initial values, checkpoint or earlier steps."


def _random_numbers(
    first: TensorDifference, inputs: list[TensorDifference], missing: list[str], *, same_inputs: bool
) -> str:
    """Explains different random numbers by the seed or the dtype. One seed gives other numbers in another
    dtype, except that normal numbers of 32 and of 16 bits agree within rounding."""
    stateless = first.op_type.startswith("Stateless")
    given = stateless and first.verdict == "diverges" and bool(inputs) and not missing
    dtypes = {first.dtype_a, first.dtype_b}
    if len(dtypes) > 1 and not ("Normal" in first.op_type and dtypes <= _ALIKE):
        seed = "the same seed (its inputs agree)" if given else "the same seed"
        others = f"Random numbers: {first.dtype_b} draws different numbers than {first.dtype_a} from {seed}."
        keeps = (
            "To compare dtypes with the same random numbers, replay a recorded step of A: tensortap replay A"
        )
        return f"{others} {keeps} --dtype {first.dtype_b}." if first.dtype_b in _REPLAY_DTYPES else others
    if given:
        return _computed(first, inputs, missing, same_inputs=same_inputs)
    return "Random numbers: set the same seed in both runs (keras.utils.set_random_seed)."


def _computed(
    first: TensorDifference, inputs: list[TensorDifference], missing: list[str], *, same_inputs: bool
) -> str:
    if first.verdict == "noise" and first.metrics.relative <= first.limit:
        return ""  # the programs differ here
    if first.verdict == "noise":
        return "It differs by more than rounding, but by less than ten times the difference of its inputs."
    if first.verdict != "diverges":
        return "No single op stands out: the difference grew gradually upstream."
    if inputs and not missing:
        if not same_inputs:
            return ""  # their difference is described instead
        worst = max(entry.metrics.relative if entry.metrics.relative >= 0 else 0.0 for entry in inputs)
        if worst == 0:
            return "All its inputs are equal, so the op itself computes something different."
        apart = f"All its inputs differ by at most {number_text(worst)} of their scale"
        return f"{apart}: the op computes something different, or is ill-conditioned here."
    if missing:
        agree = "Its captured inputs agree" if inputs else "None of its inputs was captured in both runs"
        named = " and ".join(missing[:2]) + (", …" if len(missing) > 2 else "")
        return f"{agree}; the difference may start upstream: also capture {named}."
    if not math.isfinite(first.before):
        return "Its inputs already differ."
    if first.graph == NO_GRAPH:
        return _WITHOUT_GRAPH
    return "The graph lists no inputs of this node."


def _shown(flow: Flow, first: TensorDifference) -> str:
    """Which side is wrong, by computing the op again from its stored inputs; empty if unknown."""
    sides = both(flow, first)
    if sides is None:
        return ""
    wrong = [name for name, side in zip("AB", sides, strict=True) if side.wrong]
    text = f"Recomputing {first.op_type} from the stored inputs does not reproduce {' and '.join(wrong)}"
    others = [name for name, side in zip("AB", sides, strict=True) if side.right]
    return f"{text}{f'; {others[0]} is reproduced' if others else ''}." if wrong else ""


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def earliest(
    found: Iterable[TensorDifference],
    matchings: Mapping[str, Matching],
    known: ComparedTensors,
) -> TensorDifference:
    """The tensor where the difference begins. Several candidates may not depend on each other; data flow
    order alone would choose whichever node is listed first.

    What enters the step (data, weights) comes first, then the forward pass before the backward one, and in
    both numbers that are computed with before the whole numbers that shapes are worked out with. Tensors with
    only equal inputs come before those with uncaptured ones. A loop is placed where its caller is, and of its
    nodes an earlier visit comes first. Eager ops are placed in the order in which they ran, which is known.

    Args:
        found: in data flow order, at least one. matchings: by the id of A's graph. known: what was compared.
    """
    found = list(found)
    graphs = list(matchings)

    def unsure(entry: TensorDifference) -> bool:
        matching = matchings[entry.graph]
        return not is_eager(matching.a) and bool(compared_inputs(matching, entry, known)[1])

    def key(entry: TensorDifference) -> tuple[int, bool, int, int]:
        matching = matchings[entry.graph]
        outer = dataflow_of(matching.a).outermost(matching.a.rows[entry.node])
        place = outer if is_eager(matching.a) else int(matching.a.order[outer])
        return rank(entry, matching), unsure(entry), graphs.index(entry.graph), place

    first = min(found, key=key)
    if first.visits < 2:
        return first
    function = _function(matchings[first.graph], first)
    loop = [
        entry
        for entry in found
        if entry.graph == first.graph
        and entry.visits > 1
        and _function(matchings[first.graph], entry) == function
    ]
    return min(loop, key=lambda entry: (entry.visit, unsure(entry), entry.order))


def rank(entry: TensorDifference, matching: Matching) -> int:
    """Rank for ties: 0 for inputs of the step; forward before backward; floats before integers; optimizer
    state last, because it follows from gradients."""
    roles, row = roles_of(matching.a), matching.a.rows[entry.node]
    if entry.op_type in VARIABLE_READS and _is_moment(roles, row):
        return _SLOT
    called = entry.op_type == "_Arg" and bool(roles.inputs(row))
    begins = entry.op_type in VARIABLE_READS | INPUTS and not called
    if begins or roles.kind.get(row) in ("input", "weight"):
        return 0
    return 1 + 2 * roles.is_backward(row) + (not is_floating(entry.dtype_a))


def _is_moment(roles: Roles, row: int) -> bool:
    """Whether a node reads the state of an optimizer, except its learning rate."""
    path = roles.variable.get(row, "")
    return bool(path) and roles.kind.get(row) != "weight" and not path.endswith("learning_rate")


def _function(matching: Matching, entry: TensorDifference) -> str:
    return matching.a.function[matching.a.rows[entry.node]]


_MAX_PATH = 1000  # arguments and calls, one behind the other


class InputTensor(NamedTuple):
    """An input of a node. `visit`: the visit that produced it; None where visits are not comparable."""

    slot: Slot
    visit: int | None


class ComparedTensors(Protocol):
    """The tensors that were compared at a step."""

    def captured(self, graph: str, slot: Slot) -> bool:
        """Whether both sides captured a tensor of a graph of A."""

    def at(self, graph: str, slot: Slot, visit: int | None) -> TensorDifference:
        """A captured tensor at a visit; without one, or if it was not captured then, at its worst."""


def compared_inputs(
    matching: Matching, entry: TensorDifference, known: ComparedTensors
) -> tuple[list[InputTensor], list[str]]:
    """Inputs of a tensor of A: those that both sides captured, and the names of the others.

    Arguments of functions are followed to the passed tensors, those of a loop also to the results of the
    previous iteration. Constants that both graphs write out alike need no capture.
    """
    graph, row = matching.a, matching.a.rows[entry.node]
    waiting = deque(
        InputTensor((source, slot), _visit(matching, source, row, entry.visit))
        for source, slot, _ in roles_of(graph).inputs(row)
    )
    found, missing = dict[InputTensor, None](), dict[str, None]()
    seen = set[InputTensor]()
    while waiting and len(seen) < _MAX_PATH:
        at = waiting.popleft()
        if at in seen:
            continue
        seen.add(at)
        if known.captured(graph.id, at.slot):
            found[at] = None
            continue
        further = list(_passed(matching, at))
        waiting += further
        if not further and not _same_constant(matching, at.slot[0]):
            missing[f"{graph.names[at.slot[0]]}:{at.slot[1]}"] = None
    return list(found), list(missing)


def _visit(matching: Matching, source: int, row: int, visit: int | None) -> int | None:
    """Visits are comparable within a loop's function only."""
    function = matching.a.function
    inside = function.codes[source] == function.codes[row]
    return visit if inside and dataflow_of(matching.a).in_a_loop(function[row]) else None


def _passed(matching: Matching, at: InputTensor) -> Iterator[InputTensor]:
    """Tensors passed as an argument, or returned by the function that a node calls."""
    passing = dataflow_of(matching.a)
    if matching.a.op_type[at.slot[0]] == "_Arg":
        yield from (InputTensor(*passed) for passed in passing.passed(at.slot[0], at.visit))
    else:
        yield from (InputTensor(slot, None) for slot in passing.returned(at.slot))


def _same_constant(matching: Matching, row: int) -> bool:
    """Whether a node is a constant with the same elements in both graphs."""
    partner = matching.partner.get(row)
    if partner is None or matching.a.op_type[row] != "Const":
        return False
    text = constant_text(roles_of(matching.a).attributes(row))
    return text is not None and text == constant_text(roles_of(matching.b).attributes(partner))
