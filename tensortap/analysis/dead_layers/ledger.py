"""The ledger of dead layers: which gradients are exactly zero, where along the backward pass the zeros begin,
and which updates vanish in the rounding of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tensortap.core.progress import Advance, ignore_advance
from tensortap.index.run_index import RunIndex

from ..model_graph.gradient_cuts import find_gradient_cut, is_unused
from ..model_graph.roles import Roles, TensorRole
from ..run_view.hit_counts import ZeroCounts, Zeros, snapshot_counts_of
from ..run_view.incremental_state import memory_of
from ..run_view.run_view import RunView
from ..run_view.snapshot_rows import SnapshotRows, stored_values
from ..run_view.trained_variables import (
    WHY_OMITTED,
    is_ambiguous,
    is_omitted_from_gradients,
    steps_of_nonfinite_gradients,
    trained_gradients,
)
from .zero_origin import ZeroOrigin, find_zero_origin

_INTEGERS = ("int", "uint", "bool")
UNUSED = "the loss does not depend on it"
# Why a variable has no gradient although no op blocks it, by whether the step requests one.
_WHY_NONE = {
    None: (
        "the step computes no gradient for it, because it is not trainable or the loss does not depend on it"
    ),
    False: "the step does not request its gradient: it is frozen, a copy, or trained elsewhere",
    True: "the step requests its gradient, but gets None",
}


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One trained variable, or one that should be.

    Attributes:
        variable, tensor, node, graph, layer: of the gradient, or of the weight if there is no gradient.
        steps, zero_steps: steps with the gradient, and those where all of it was exactly 0; first_zero_step.
        zero_share: share of exact zeros among all elements, of all steps together.
        dead_since, dead_steps: where all of it is 0 at the last captured step, since which one without a
            break, and over how many; else None and 0.
        passing_steps: over how many the longest stretch of zeros was behind which the gradient came back.
        reason: `dead activation`, `saturated activation`, `cast`, `mask`, `dead input`, `zero weights`,
            `cancelled`, `underflow`, `disconnected`, or empty, `unknown` where too little was captured to
            tell, `not explained` where it was but no reason is known; why: a sentence; begins: the tensor
            at which the zeros begin, as far as they could be followed.
        cut_by: type of the op that lets no gradient, or only zeros, through to a disconnected variable, or
            empty.
        absorbed: share of the elements with a gradient that did not change although they were updated
            (w + update == w in the dtype of w), None if unknown; absorbed_steps: over how many
            pairs of neighbouring steps, absorbed_of: of how many whose values were kept; absorbed_at: the
            first step of each pair at which some were.
    """

    variable: str
    tensor: str
    node: str
    graph: str
    layer: str
    steps: int
    zero_steps: int
    first_zero_step: int | None
    zero_share: float
    reason: str
    why: str
    begins: str
    absorbed: float | None
    absorbed_steps: int
    cut_by: str = ""
    dead_since: int | None = None
    dead_steps: int = 0
    passing_steps: int = 0
    absorbed_of: int = 0
    absorbed_at: tuple[int, ...] = ()


def dead_layer_ledger(
    run: RunIndex, view: RunView | None = None, advance: Advance = ignore_advance
) -> list[LedgerEntry]:
    """One entry per layer variable in graphs that compute gradients, most affected first.

    Args:
        view: an existing view of the run.
        advance: called with the progress; an exception in it stops the work.
    """
    if view is None:
        with memory_of(run) as memory:
            return dead_layer_ledger(run, RunView(run, memory), advance)
    gradients = trained_gradients(view)
    sure = [weight for weight in view.of_kind("weight") if not is_ambiguous(view, weight)]
    weights = {(weight.graph, weight.variable): weight for weight in reversed(sure)}
    entries = []
    zeros = view.incremental("zeros", Zeros, gradients, Zeros.add)
    for number, tensor in enumerate(gradients):
        advance(number, len(gradients), tensor.variable)
        weight = weights.get((tensor.graph, tensor.variable))
        entries.append(_entry(view, tensor, zeros.of(tensor.code), weight))
    graphs = {tensor.graph for tensor in gradients}
    known = {(tensor.graph, tensor.variable) for tensor in gradients}
    reported: set[tuple[str, str]] = set()
    for weight in sorted(view.of_kind("weight"), key=lambda weight: weight.order):  # as it is read first
        key = (weight.graph, weight.variable)
        roles = view.roles(weight.graph)
        known_to_be = weight.layer or roles.trainable.get(weight.variable)  # trained, or meant to be
        wanted = known_to_be and weight.variable.rpartition("/")[2] and weight.graph in graphs
        wanted = wanted and weight.variable not in roles.trained  # by a gradient that was not captured
        wanted = wanted and not _is_integer(roles, weight)
        if wanted and key not in known | reported and not weight.is_statistic:
            reported.add(key)
            entries.append(_disconnected(view, weight))
    return sorted(entries, key=lambda entry: (not entry.reason, -entry.zero_share, entry.variable))


def _is_integer(roles: Roles, weight: TensorRole) -> bool:
    """Whether a variable has integers, e.g. the state of a seed. Such variables have no gradient and are not
    trained."""
    texts = roles.graph.slot_texts(weight.row) if weight.row >= 0 else []
    dtype = texts[weight.slot][0] if weight.slot < len(texts) else ""
    return dtype.startswith(_INTEGERS)


def _disconnected(view: RunView, weight: TensorRole) -> LedgerEntry:
    steps = snapshot_counts_of(view).steps(weight.code)
    roles, begins = view.roles(weight.graph), weight.name
    asked = roles.trainable.get(weight.variable)
    cut = None if asked is False else find_gradient_cut(view.run, roles, weight.variable)
    why = UNUSED if asked and is_unused(roles, weight.variable) else _WHY_NONE[asked]
    why = WHY_OMITTED if is_omitted_from_gradients(view, weight) else why
    if cut is not None:
        why, begins = cut.why, f"{cut.node}:0"
    op_type = "" if cut is None else cut.op_type
    place = (weight.variable, weight.name, weight.node, weight.graph, weight.layer)
    return LedgerEntry(*place, steps, 0, None, 0.0, "disconnected", why, begins, None, 0, op_type)


def _entry(view: RunView, tensor: TensorRole, zeros: ZeroCounts, weight: TensorRole | None) -> LedgerEntry:
    begin, cut = find_zero_origin(view, tensor, zeros.last) if zeros.steps else ZeroOrigin("", "", ""), None
    steps = snapshot_counts_of(view).steps(tensor.code)
    if begin.reason in ("unknown", "not explained") and zeros.steps == steps:  # as that of Sign always is
        cut = find_gradient_cut(view.run, view.roles(tensor.graph), tensor.variable)
    if cut is not None:
        begin = ZeroOrigin("disconnected", cut.why, f"{cut.node}:0")
    absorbed = count_lost_updates(view, tensor, weight)
    return LedgerEntry(
        variable=tensor.variable,
        tensor=tensor.name,
        node=tensor.node,
        graph=tensor.graph,
        layer=tensor.layer,
        steps=steps,
        zero_steps=zeros.steps,
        first_zero_step=zeros.first if zeros.steps else None,
        zero_share=zeros.share,
        reason=begin.reason,
        why=begin.why,
        begins=begin.begins,
        absorbed=absorbed.share,
        absorbed_steps=absorbed.pairs,
        absorbed_of=absorbed.of,
        absorbed_at=absorbed.at,
        cut_by="" if cut is None else cut.op_type,
        dead_since=zeros.since,
        dead_steps=zeros.lasting,
        passing_steps=zeros.passing,
    )


# Pairs of neighbouring steps whose values are compared, a variable: all of a short run's small tensors,
# elsewhere some, chosen evenly.
_FEWEST, _MOST = 4, 32
_ELEMENTS = 1 << 16  # that are compared where that takes more than the fewest pairs


class LostUpdates(NamedTuple):
    """Elements with a non-zero gradient whose weight is unchanged one step later.

    Attributes:
        share: of all of them; None if unknown.
        pairs, of: number of compared pairs of neighbouring steps, of all with stored values.
        at: the first step of each pair at which some were, ascending.
    """

    share: float | None
    pairs: int
    of: int
    at: tuple[int, ...]


def count_lost_updates(view: RunView, tensor: TensorRole, weight: TensorRole | None) -> LostUpdates:
    """Count the lost updates of a weight. A step at which nothing changes, before another at which most
    elements do, has no update.

    Needs values of the weight at neighbouring steps, and of the gradient at the first of them.
    """
    kept = view.run.catalog.tensors.kept
    if weight is None or not kept.of(tensor.code) or not kept.of(weight.code):
        return LostUpdates(None, 0, 0, ())
    gradient_rows = view.rows([tensor])
    grads, weights = _stored_rows_by_step(gradient_rows), _stored_rows_by_step(view.rows([weight]))
    pairs = [step for step in grads if step in weights and step + 1 in weights]
    if pairs:
        skipped = steps_of_nonfinite_gradients(view, tensor.graph)
        pairs = [step for step in pairs if step not in skipped]
    same, all_of = dict[int, int](), dict[int, int]()
    for step in _chosen(pairs, int(gradient_rows["size"].max(initial=1))):
        wanted = [grads[step], weights[step], weights[step + 1]]
        values = [value for _, value in stored_values(view.run, wanted)]
        if len(values) == 3 and len({value.shape for value in values}) == 1:
            gradient_value, before, after = values
            pushed = gradient_value != 0
            same[step] = int(np.count_nonzero(pushed & (before == after)))
            all_of[step] = int(np.count_nonzero(pushed))
    moving = max((step for step, count in same.items() if 2 * count < all_of[step]), default=-1)
    # Accumulated gradients: the program updates nothing at these steps.
    for step in [step for step, count in same.items() if step < moving and count == all_of[step]]:
        del same[step], all_of[step]
    at, pushes = tuple(step for step, count in same.items() if count), sum(all_of.values())
    return LostUpdates(sum(same.values()) / pushes if pushes else None, len(same), len(pairs), at)


def _chosen(pairs: list[int], size: int) -> list[int]:
    """Evenly spaced pairs to compare, of tensors with this number of elements."""
    most = max(_FEWEST, min(_MOST, _ELEMENTS // max(size, 1)))
    if len(pairs) <= most:
        return pairs
    return [pairs[place] for place in np.linspace(0, len(pairs) - 1, most).astype(int).tolist()]


def _stored_rows_by_step(rows: SnapshotRows) -> dict[int, int]:
    kept = rows.kept
    return dict(zip(rows.step[kept].tolist(), rows.rows[kept].tolist(), strict=True))
