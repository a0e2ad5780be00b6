"""Rules of the ledger: gradients that are exactly zero, updates that are rounded away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ..cuts import STOPS
from ..fired import counted_of
from ..ledger import LedgerEntry, dead_layer_ledger
from ..tensor_role import TensorRole
from ..view import RunView
from .finding import Evidence, Hit
from .gradients import MOSTLY
from .rule import Limits, rule

_LASTING = 0.1  # share of the captured steps from which a gradient that has been 0 ever since is dead


@rule(
    "DeadGradient",
    "gradients that are exactly zero, and where the zeros begin",
    thresholds={"steps_share": MOSTLY, "last_steps": 5},
    severity="high",
    source="tensortap: exact zeros, followed back through the graph",
    help="A dead or saturated activation, a mask, or a dtype too narrow: look where the zeros begin.",
    next_look="The tensor at which the zeros begin, and its inputs.",
)
def dead_gradient(view: RunView, limits: Limits) -> Iterable[Hit]:
    for entry, tensor in _entries(view):
        often = entry.zero_steps >= limits["steps_share"] * entry.steps
        died = entry.dead_steps >= max(limits["last_steps"], entry.steps * _LASTING)
        if not entry.zero_steps or not (often or died):
            continue
        first, steps, since = entry.first_zero_step or 0, entry.zero_steps, ""
        if not often and entry.dead_since is not None:
            first, steps, since = entry.dead_since, entry.dead_steps, f" since step {entry.dead_since}"
        text = f"The gradient of {entry.variable} is exactly 0{since}: {entry.why}."
        evidence = [Evidence(first, "share of exact zeros", 1.0, 1.0)]
        last = counted_of(view).last(tensor.code)
        learnt = not tensor.is_kernel or _is_fitted(view, tensor.graph, first)
        yield Hit(tensor.code, text, evidence, first, last, steps, entry.steps, "low" if learnt else None)
    yield from _cut_off(view)


def _is_fitted(view: RunView, graph: str, step: int) -> bool:
    """Whether the loss is exactly 0 from a step on (a hinge loss): then there is nothing left to learn."""
    losses = [tensor for tensor in view.of_kind("loss") if tensor.graph == graph]
    rows = view.rows(losses)
    rows = rows.part(rows.step >= step)
    return len(rows) > 0 and bool(np.all(rows["zero"] == rows["size"]))


_OTHER_OP = (
    "An op with a gradient there (softmax instead of argmax, a straight-through estimator); tf.stop_gradient "
    "if it is meant."
)


def _cut_off(view: RunView) -> Iterator[Hit]:
    """Variables of layers whose gradient an op takes that has none; who writes `stop_gradient` means it. Of
    low severity: a dump does not tell whether they are to be trained (a teacher that makes labels is not)."""
    weights = {(tensor.graph, tensor.name): tensor for tensor in view.of_kind("weight")}
    for entry in _ledger(view):
        tensor = weights.get((entry.graph, entry.tensor))
        if tensor is None or not entry.cut_by or entry.cut_by == STOPS:
            continue
        steps = view.rows([tensor]).steps
        if len(steps):
            text = f"{entry.variable} gets no gradient: {entry.why}. Fine if it is frozen."
            evidence = Evidence(int(steps[0]), "steps with a gradient", 0.0)
            hit = Hit.at(steps, len(steps), tensor, text, evidence, severity="low")
            yield replace(hit, help=_OTHER_OP)


def _ledger(view: RunView) -> list[LedgerEntry]:
    return view.once("ledger", lambda: dead_layer_ledger(view.run, view, view.advance))


@rule(
    "AbsorbedUpdate",
    "updates that are rounded away: w + update == w",
    thresholds={"share": 0.5},
    source="tensortap: counted in kept values of neighbouring steps",
    help="Keep a float32 copy of the weights (mixed precision), or a larger learning rate.",
    next_look="The weights' dtype, and the size of the update beside theirs.",
)
def absorbed_update(view: RunView, limits: Limits) -> Iterable[Hit]:
    for entry, tensor in _entries(view):
        if entry.absorbed is not None and entry.absorbed > limits["share"]:
            step = view.rows([tensor]).step
            text = f"{entry.absorbed:.0%} of the updates of {entry.variable} change nothing."
            evidence = [Evidence(int(step[-1]), "share of absorbed updates", entry.absorbed, limits["share"])]
            pairs = entry.absorbed_steps
            at = (int(step[0]), int(step[-1]), pairs, pairs)
            yield Hit(tensor.code, text, evidence, *at, looked_at="pairs of steps with kept values")


def _entries(view: RunView) -> Iterator[tuple[LedgerEntry, TensorRole]]:
    """The ledger's entries of variables with a gradient, each with that."""
    gradients = {(tensor.graph, tensor.name): tensor for tensor in view.of_kind("gradient")}
    for entry in _ledger(view):
        tensor = gradients.get((entry.graph, entry.tensor))
        if tensor is not None:
            yield entry, tensor


DEAD_RULES = (dead_gradient, absorbed_update)
