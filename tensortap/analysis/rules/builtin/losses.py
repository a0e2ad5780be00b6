"""Rules about the loss and what drives it: loss, overfitting, learning rate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tensortap.core.dtypes import Array

from ...model_graph.roles import Roles, TensorRole, first_input
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import Rows
from ..finding import Evidence, Hit, Severity
from ..rule import Limits, incremental_hits, rule
from .gradients import MOSTLY
from .learning_rates import learning_rates

_REPLICA = re.compile(r"(^|(?<=/))replica_\d+/")
_FAR = 100.0  # times the largest usual learning rate: no optimizer's default (Adadelta's is 1.0) is beyond
# What weights do that steps of it take, and those that hardly move.
_BY_STEPS = ("DeadRelu", "SaturatedActivation", "DeadGradient", "ExplodingTensor", "LossNotDecreasing")
_BY_REST = ("UnchangedTensor", "AbsorbedUpdate", "LossNotDecreasing")
_JUMP = 2.0  # times the first loss, which all of the last third are above
_FEW = 20  # losses, of which one does not know yet whether they will fall


def _losses(view: RunView) -> list[TensorRole]:
    """The losses. A gradient tape is given a loss that a loss scale has multiplied (mixed_float16), and a
    step returns one that it is given: these are none, if the one before was captured."""
    found = view.of_kind("loss")
    places = {(tensor.graph, tensor.row) for tensor in found}
    return [
        tensor for tensor in found if not any((tensor.graph, row) in places for row in _before(view, tensor))
    ]


def _before(view: RunView, loss: TensorRole) -> list[int]:
    """The nodes whose number a loss is, or a multiple of."""
    roles, row, found = view.roles(loss.graph), loss.row, list[int]()
    if loss.op_type == "Mul":
        return [source for source, _, _ in roles.inputs(row)]
    while row >= 0 and roles.graph.op_type[row] == "Identity" and len(found) < _FEW:
        row = first_input(roles, row)
        found.append(row)
    return found


def _training_losses(view: RunView) -> list[TensorRole]:
    """The losses of graphs that compute gradients."""
    trained = {tensor.graph for tensor in view.of_kind("gradient")}
    return [tensor for tensor in _losses(view) if tensor.graph in trained]


def _has_rivals(view: RunView, loss: TensorRole) -> bool:
    """Whether there are several losses, of which one may grow while another falls (a GAN): in the step, or
    that of a step that trains other variables, where each reads those that the other one trains."""
    roles = view.roles(loss.graph)
    names = {_REPLICA.sub("", roles.graph.names[row]) for row in roles.of_kind("loss")}
    others = [view.roles(tensor.graph) for tensor in _training_losses(view) if tensor.graph != loss.graph]
    return len(names) > 1 or any(_compete(roles, other) for other in others)


def _compete(one: Roles, other: Roles) -> bool:
    read = [{each.variable.get(row) for row in each.of_kind("weight")} for each in (one, other)]
    trained = [set(each.trained) for each in (one, other)]
    return trained[0].isdisjoint(trained[1]) and bool(read[0] & trained[1] and read[1] & trained[0])


def _error(*parts: Array) -> float:
    """Standard error of the difference of medians of independent numbers, normally distributed: sqrt(pi / 2)
    that of their means."""
    return float(np.sqrt(np.pi / 2 * sum(part.var(ddof=1) / len(part) for part in parts)))


def _by_step(rows: Rows) -> tuple[Array, Array]:
    """(steps, mean of the finite losses of each)."""
    finite = np.isfinite(rows["mean"])
    step, loss = rows.step[finite], rows["mean"][finite]
    if not len(step):
        return np.zeros(0, np.int64), np.zeros(0)
    steps, starts = np.unique(step, return_index=True)
    return steps, np.add.reduceat(loss, starts) / np.diff(np.append(starts, len(step)))


def _clear(loss: Array, third: int) -> bool:
    """Whether losses that stay do not differ by half from the first one, which they may have fallen from
    before the first third ended, nor mostly from each other; single ones may be far off (small batches)."""
    usual = float(np.quantile(loss, 0.75))
    return bool(loss[-third:].min() > 0 and np.quantile(loss[-third:], 0.25) > 0.5 * max(loss[0], usual))


@rule(
    "LossNotDecreasing",
    "a loss that stays where it is, or grows",
    thresholds={"percent": 0.1, "steps": 10, "most_percent": 10.0},
    severity="high",
    source="percent, steps: SageMaker Debugger; most_percent: tensortap",
    help="Another learning rate (try a tenth, and ten times); check labels, loss and the last activation.",
    next_look="The history of the loss, and the findings on gradients.",
)
def loss_not_decreasing(view: RunView, limits: Limits) -> Iterable[Hit]:
    for tensor in _training_losses(view):
        steps, loss = _by_step(view.rows([tensor]))
        span = float(steps[-1] - steps[0]) if len(steps) else 0.0
        if len(steps) < 6 or span < limits["steps"] or limits["steps"] <= 0:
            continue
        third = max(len(steps) // 3, 2)
        begin, end = float(np.median(loss[:third])), float(np.median(loss[-third:]))
        # So much per so many steps, compounded; of a long run, whose loss levels off, no more than the most.
        pieces = (span * 2 / 3) / limits["steps"]
        wanted = min(1 - max(1 - limits["percent"] / 100, 0.0) ** pieces, limits["most_percent"] / 100)
        fallen = (begin - end) / abs(begin) if begin else 0.0
        scatter = 2 * _error(loss[:third], loss[-third:])
        clearly = begin - end > scatter or fallen >= limits["most_percent"] / 100
        jumped = 0 < _JUMP * loss[0] < loss[-third:].min()  # at once, and it never came back
        if fallen >= wanted and clearly and not jumped:
            continue
        # One that explodes scatters more than it grows, by orders of magnitude.
        grew = jumped or end - begin > min(scatter, abs(begin))
        how = "grew" if grew else "stayed"
        text = (
            f"The loss {how}: its median was {begin:.4g} over the first third "
            f"of the steps and is {end:.4g} over the last."
        )
        if jumped:
            text = f"{text} It began with {loss[0]:.4g}."
        if scattered := fallen >= wanted and not jumped:
            text = f"{text} It fell by less than it scatters."
            wanted = min(scatter / abs(begin), limits["most_percent"] / 100) if begin else wanted
        severity: Severity | None = None if grew or _clear(loss, third) else "low"
        if not grew and (len(steps) < _FEW or scattered):
            severity = severity or "medium"
        if _has_rivals(view, tensor):
            severity = "low"
        yield Hit.at(
            *(steps, len(steps), tensor, text),
            Evidence(int(steps[-1]), "share that it fell", fallen, wanted),
            Evidence(int(steps[0]), "median of the first third", begin),
            Evidence(int(steps[-1]), "median of the last third", end),
            severity=severity,
        )


@rule(
    "LargeLoss",
    "a huge loss",
    thresholds={"loss": 1e3},
    source="AutoTrainer",
    help="Normalise inputs and targets; a lower learning rate; mean instead of sum in the loss.",
    next_look="The history of the loss.",
)
def large_loss(view: RunView, limits: Limits) -> Iterable[Hit]:
    yield from incremental_hits(
        view,
        ("LargeLoss", limits["loss"]),
        _losses(view),
        lambda rows: (rows["max"] >= limits["loss"], rows["max"]),
        "loss",
        limits["loss"],
        share=MOSTLY / 5,
        text=lambda t, value: f"The loss reaches {value:.4g}.",
    )


@rule(
    "Overfit",
    "a loss on other data that is clearly above the training's",
    thresholds={"ratio": 0.1, "steps": 10},
    source="SageMaker Debugger",
    help="More data or augmentation, dropout, weight decay, a smaller model, or stopping earlier.",
    next_look="Both losses over steps.",
)
def overfit(view: RunView, limits: Limits) -> Iterable[Hit]:
    training = _training_losses(view)
    others = [tensor for tensor in _losses(view) if tensor not in training]
    if not training or not others:
        return
    last = int(limits["steps"])
    _, train = _by_step(view.rows(training[:1]))
    for tensor in others:
        steps, loss = _by_step(view.rows([tensor]))
        if not len(loss) or not len(train):
            continue
        one, other = float(np.mean(train[-last:])), float(np.mean(loss[-last:]))
        if one > 0 and (other - one) / one > limits["ratio"]:
            ratio = (other - one) / one
            above = f"{ratio:.0%}" if ratio < 3 else f"{ratio:.3g} times"
            text = f"The loss without training is {other:.4g}, {above} above the training's {one:.4g}."
            evidence = Evidence(int(steps[-1]), "(validation - training)/training", ratio, limits["ratio"])
            yield Hit.at(steps, len(steps), tensor, text, evidence)


@rule(
    "LearningRate",
    "an unusual learning rate",
    thresholds={"largest": 0.01, "smallest": 1e-7},
    source="UMLAUT",
    help="1e-3 for Adam and 1e-2 for SGD are where most begin.",
    next_look="The loss over steps.",
)
def learning_rate(view: RunView, limits: Limits) -> Iterable[Hit]:
    rates = learning_rates(view)
    largest, smallest = limits["largest"], limits["smallest"]

    def above(rows: Rows) -> tuple[Array, Array]:
        return rows["max"] > largest, rows["max"]

    def below(rows: Rows) -> tuple[Array, Array]:
        return (rows["max"] < smallest) & (rows["max"] > 0), rows["max"]

    for measure, limit, low in ((above, largest, False), (below, smallest, True)):
        found = incremental_hits(
            view,
            ("LearningRate", limit, low),
            rates,
            measure,
            "learning rate",
            limit,
            low=low,
            share=MOSTLY / 5,  # a schedule that ends in 0 is below every limit at last
            text=lambda t, value: f"The learning rate is {value:.3g}.",
        )
        for hit in found:
            far = low or hit.evidence[0].value > _FAR * limit
            yield replace(hit, explains=(_BY_REST if low else _BY_STEPS) if far else ())
