"""Rules about the loss and its causes: loss, overfitting, learning rate."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from tensortap.core.dtypes import Array, is_real_floating
from tensortap.core.text import number_beside, number_text
from tensortap.index.run_events import StepLogs

from ...model_graph.op_types import constant_number, ops
from ...model_graph.roles import Roles, TensorRole, first_input
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows
from ...run_view.trained_variables import changes
from ..finding import Evidence, Hit, Severity
from ..forward_sources import CROSS_ENTROPIES, SIGMOID_LOSS, forward_rows, shape_of
from ..reinforcement import has_moving_targets, is_policy_gradient
from ..rule import MOSTLY, Limits, incremental_hits, rule
from ..variable_usage import is_before

_REPLICA = re.compile(r"(^|(?<=/))replica_\d+/")
_FAR = 100.0  # times the largest usual learning rate: no optimizer's default (Adadelta's is 1.0) is beyond
# What weights do that steps of it take, and those that hardly move.
_BY_STEPS = ("DeadRelu", "SaturatedActivation", "DeadGradient", "LossNotDecreasing")
_BY_REST = ("UnchangedTensor", "AbsorbedUpdate", "LossNotDecreasing")
_JUMP = 2.0  # times the first loss, which all of the last third are above
_EXPLODED = 10.0  # times the first loss, from where one that does not come back explodes
_MIN_LOSSES = 30  # losses; with fewer, it is too early to tell whether they will fall
_LONG_PLATEAU = 100  # steps, captured or not; many sound trainings take fewer to begin to learn


def _losses(view: RunView) -> list[TensorRole]:
    """The losses. A tape differentiates a loss multiplied by a loss scale (mixed_float16), and a step returns
    a loss that it gets as an argument; neither is listed if the loss itself was captured."""
    found = view.of_kind("loss")
    places = {(tensor.graph, tensor.row) for tensor in found}
    return [
        tensor for tensor in found if not any((tensor.graph, row) in places for row in _before(view, tensor))
    ]


def _before(view: RunView, loss: TensorRole) -> list[int]:
    """The nodes that have the same number as a loss, or a multiple of it."""
    roles, row, found = view.roles(loss.graph), loss.row, list[int]()
    if loss.op_type == "Mul":
        return [source for source, _, _ in roles.inputs(row)]
    while row >= 0 and roles.graph.op_type[row] == "Identity" and len(found) < _MIN_LOSSES:
        row = first_input(roles, row)
        found.append(row)
    return found


def _training_losses(view: RunView) -> list[TensorRole]:
    """The losses of graphs that compute gradients."""
    trained = {tensor.graph for tensor in view.of_kind("gradient")}
    return [tensor for tensor in _losses(view) if tensor.graph in trained]


def has_rivals(view: RunView, loss: TensorRole) -> bool:
    """Whether there are several losses, so that one may grow while another falls (a GAN): in the step, or in
    another step that trains other variables and reads the ones trained here. The sign of a
    step that is never captured: the trained weights get outputs of other weights that change."""
    roles = view.roles(loss.graph)
    names = {_REPLICA.sub("", roles.graph.names[row]) for row in roles.of_kind("loss")}
    others = [view.roles(tensor.graph) for tensor in _training_losses(view) if tensor.graph != loss.graph]
    if len(names) > 1 or any(_compete(roles, other) for other in others):
        return True
    read = [t for t in view.of_kind("weight") if t.graph == loss.graph and not t.is_statistic]
    return any(
        each.variable not in roles.trained
        and changes(view, each)
        and is_before(roles, each.variable, roles.trained)
        for each in read
    )


def _compete(one: Roles, other: Roles) -> bool:
    read = [{each.variable.get(row) for row in each.of_kind("weight")} for each in (one, other)]
    trained = [set(each.trained) for each in (one, other)]
    return trained[0].isdisjoint(trained[1]) and bool(read[0] & trained[1] and read[1] & trained[0])


def _error(*parts: Array) -> float:
    """Standard error of the difference of medians of normal numbers: sqrt(pi / 2) times that of their means.
    Numbers that correlate with the next count as fewer, (1 - r) / (1 + r) (Bayley & Hammersley 1946)."""
    return float(np.sqrt(np.pi / 2 * sum(part.var(ddof=1) / (len(part) * _share(part)) for part in parts)))


def _share(part: Array) -> float:
    """The share of numbers that are independent, by the correlation of each with the next."""
    off = part - part.mean()
    square = float(np.sum(off**2))
    correlation = float(np.sum(off[1:] * off[:-1])) / square if square > 0 else 0.0
    return (1 - correlation) / (1 + correlation) if correlation > 0 else 1.0


def _by_step(rows: SnapshotRows) -> tuple[Array, Array]:
    """(steps, mean of the finite losses of each)."""
    finite = np.isfinite(rows["mean"])
    step, loss = rows.step[finite], rows["mean"][finite]
    if not len(step):
        return np.zeros(0, np.int64), np.zeros(0)
    steps, starts = np.unique(step, return_index=True)
    return steps, np.add.reduceat(loss, starts) / np.diff(np.append(starts, len(step)))


def _clear(loss: Array, third: int) -> bool:
    """Whether a plateau is clear: its losses do not differ by half from the first loss (from which they
    may have fallen within the first third), and mostly not from each other. Single outliers are allowed
    (small batches)."""
    usual = float(np.quantile(loss, 0.75))
    return bool(loss[-third:].min() > 0 and np.quantile(loss[-third:], 0.25) > 0.5 * max(loss[0], usual))


@rule(
    "LossNotDecreasing",
    "a loss that stagnates or grows",
    thresholds={"percent": 0.1, "steps": 10, "most_percent": 10.0},
    severity="high",
    source="percent, steps: SageMaker Debugger; most_percent: tensortap",
    help="Try a tenth or ten times the learning rate; check labels, loss and the last activation.",
    next_look="Check the history of the loss, and findings about gradients.",
)
def loss_not_decreasing(view: RunView, limits: Limits) -> Iterable[Hit]:
    for tensor in _training_losses(view):
        steps, loss = _by_step(view.rows([tensor]))
        span = float(steps[-1] - steps[0]) if len(steps) else 0.0
        if len(steps) < 6 or span < limits["steps"] or limits["steps"] <= 0:
            continue
        yield from _stagnation(view, tensor, steps, loss, limits) if loss.any() else _zeros(tensor, steps)


def _zeros(tensor: TensorRole, steps: Array) -> Iterator[Hit]:
    text = f"The loss is exactly 0 at all {len(steps)} captured steps: nothing is learned from it."
    hit = Hit.at(steps, len(steps), tensor, text, Evidence(int(steps[-1]), "largest |loss|", 0.0))
    yield replace(hit, help="Check the sample weights, masks and labels that the loss is computed from.")


def _stagnation(
    view: RunView, tensor: TensorRole, steps: Array, loss: Array, limits: Limits
) -> Iterator[Hit]:
    """A hit if a loss does not fall as much as it should."""
    span = float(steps[-1] - steps[0])
    third = max(len(steps) // 3, 2)
    begin, end = float(np.median(loss[:third])), float(np.median(loss[-third:]))
    # `percent` per `steps` steps, compounded; capped, because the loss of a long run levels off.
    pieces = (span * 2 / 3) / limits["steps"]
    wanted = min(1 - max(1 - limits["percent"] / 100, 0.0) ** pieces, limits["most_percent"] / 100)
    fallen = (begin - end) / abs(begin) if begin else 0.0
    scatter = 2 * _error(loss[:third], loss[-third:])
    clearly = begin - end > scatter or fallen >= limits["most_percent"] / 100
    jumped = 0 < _JUMP * loss[0] < loss[-third:].min()  # immediately and permanently
    classes = 0 if jumped or len(steps) < _MIN_LOSSES else classes_guessed(view.roles(tensor.graph), end)
    fell = fallen >= wanted and clearly and not jumped
    if fell and not classes:
        return
    # One that explodes scatters more than it grows, by orders of magnitude.
    apart = np.quantile(loss[-third:], 0.25) > np.quantile(loss[:third], 0.75)
    grew = jumped or (apart and end - begin > min(scatter, abs(begin)))
    # The noise may hide a decrease.
    hidden = end - begin < scatter and fallen + scatter / abs(begin or 1.0) > limits["most_percent"] / 100
    how = "grew" if grew else "fell little" if fell else "stayed within its noise" if hidden else "stayed"
    how = f"grew from {number_text(loss[0])} at the first step" if jumped else how
    rivals = has_rivals(view, tensor)
    which = f"The loss {tensor.name}" if rivals else "The loss"
    text = (
        f"{which} {how}: its median was {number_text(begin)} over the first third "
        f"of the steps and is {number_beside(end, begin)} over the last."
    )
    if classes and not grew:
        guess = number_text(math.log(classes))
        text = (
            f"{text} Guessing among {classes} classes gives {guess}: check that the labels belong "
            "to the inputs."
        )
    if scattered := fallen >= wanted and not clearly and not jumped:
        text = f"{text} The decrease is smaller than the noise."
        wanted = min(scatter / abs(begin), limits["most_percent"] / 100) if begin else wanted
    severity: Severity | None = None if grew or _clear(loss, third) else "low"
    exploded = jumped and loss[-third:].min() > _EXPLODED * loss[0]
    unsure = scattered or fell or (not grew and (hidden or span < _LONG_PLATEAU))
    if not exploded and (len(steps) < _MIN_LOSSES or unsure):
        severity = severity or "medium"
    roles = view.roles(tensor.graph)
    if rivals:
        severity = "low"
    elif is_policy_gradient(view, roles):
        severity = "low"
        text = f"{text} The loss of a policy gradient need not decrease: watch the reward."
    elif has_moving_targets(view, roles):
        severity = severity or "medium"
        text = f"{text} A network computes its targets, so they change, too: watch the reward or a metric."
    yield Hit.at(
        *(steps, len(steps), tensor, text),
        Evidence(int(steps[-1]), "relative decrease", fallen, wanted),
        Evidence(int(steps[0]), "median of the first third", begin),
        Evidence(int(steps[-1]), "median of the last third", end),
        severity=severity,
    )


_GUESS = 0.97  # of ln(classes): a cross-entropy from there on is not below that of guessing
_FAR_ABOVE = 1.1  # of ln(classes): a loss further away has another cause, or is not only a cross-entropy


def classes_guessed(roles: Roles, loss: float) -> int:
    """The number of classes for which a guess is as good as the model's only cross-entropy; 0 if the model is
    better."""
    found = set[int]()
    for row in forward_rows(roles, CROSS_ENTROPIES.__contains__):
        logits = next((place[:2] for place in roles.inputs(row) if place[2] == 0), (row, 0))
        found.add((shape_of(roles, logits) or (None,))[-1] or 0)
    names = roles.graph.names
    if not found and any(SIGMOID_LOSS in names[row] for row in forward_rows(roles, "Log1p".__eq__)):
        found = {2}
    classes = found.pop() if len(found) == 1 else 0
    return classes if classes > 1 and _GUESS <= loss / math.log(classes) < _FAR_ABOVE else 0


@rule(
    "LargeLoss",
    "a huge loss",
    thresholds={"loss": 1e3},
    source="AutoTrainer",
    help="Normalize inputs and targets, lower the learning rate, or use the mean instead of the sum in "
    "the loss.",
    next_look="Check the history of the loss.",
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
        text=lambda t, value: f"The loss reaches {number_text(value)}.",
    )


@rule(
    "Overfit",
    "a validation loss clearly above the training loss",
    title="Overfitting",
    thresholds={"ratio": 0.1, "steps": 10},
    source="SageMaker Debugger; for logged epochs the generalization loss of Prechelt 1998",
    help="Use more data, augmentation, dropout, weight decay, a smaller model, or early stopping.",
    next_look="Compare both losses over steps.",
)
def overfit(view: RunView, limits: Limits) -> Iterable[Hit]:
    training = _training_losses(view)
    others = [tensor for tensor in _losses(view) if tensor not in training]
    epochs = _validated_epochs(view)
    if epochs:
        yield from _overfit_epochs(epochs, (others or training)[:1], limits)
        return
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
            above = f"{ratio:.0%}" if ratio < 3 else f"{number_text(ratio)} times"
            text = (
                f"The validation loss is {number_text(other)}, {above} above "
                f"the training loss of {number_text(one)}."
            )
            evidence = Evidence(int(steps[-1]), "(validation - training)/training", ratio, limits["ratio"])
            yield Hit.at(steps, len(steps), tensor, text, evidence)


_VALIDATION = frozenset(("loss", "val_loss"))


def _validated_epochs(view: RunView) -> list[StepLogs]:
    """Logs of the epochs of the last `fit` with validation, from one worker (all workers have the same)."""
    found = {logs.step: logs for logs in view.run.events.logs if logs.phase == "epoch"}
    epochs = [found[step] for step in sorted(found) if found[step].values.keys() >= _VALIDATION]
    begins = [at for at in range(1, len(epochs)) if epochs[at].epoch <= epochs[at - 1].epoch]
    return epochs[begins[-1] if begins else 0 :]


def _overfit_epochs(epochs: list[StepLogs], tensors: list[TensorRole], limits: Limits) -> Iterable[Hit]:
    """The epochs since the lowest validation loss, if it has risen since while the training loss fell."""
    train, validation = (np.array([logs.values[name] for logs in epochs]) for name in ("loss", "val_loss"))
    if not (np.isfinite(train).all() and np.isfinite(validation).all()):
        return
    best, last = int(np.argmin(validation)), len(epochs) - 1
    lowest, highest = (float(validation[at]) for at in (best, last))
    rise = (highest - lowest) / lowest if lowest > 0 else 0.0
    if rise > limits["ratio"] and train[last] < train[best] and highest > train[last]:
        since = (
            f"{number_text(lowest)} (epoch {epochs[best].epoch + 1}) "
            f"to {number_text(highest)} (epoch {epochs[last].epoch + 1})"
        )
        fell = f"from {number_text(train[best])} to {number_text(train[last])}"
        text = f"The validation loss has risen from {since}, while the training loss fell {fell}."
        evidence = Evidence(epochs[last].step, "validation loss/lowest - 1", rise, limits["ratio"])
        steps = np.array([logs.step for logs in epochs[best + 1 :]])
        for tensor in tensors:
            yield Hit.at(steps, len(epochs), tensor, text, evidence, looked_at="epochs")


@rule(
    "LearningRate",
    "an unusual learning rate",
    thresholds={"largest": 0.01, "smallest": 1e-7},
    source="UMLAUT",
    help="Start with 1e-3 for Adam or 1e-2 for SGD.",
    next_look="Check the loss over steps.",
)
def learning_rate(view: RunView, limits: Limits) -> Iterable[Hit]:
    rates = learning_rates(view)
    largest, smallest = limits["largest"], limits["smallest"]

    def above(rows: SnapshotRows) -> tuple[Array, Array]:
        return rows["max"] > largest, rows["max"]

    def below(rows: SnapshotRows) -> tuple[Array, Array]:
        return rows["max"] < smallest, rows["max"]

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
            text=lambda t, value: f"The learning rate is {number_text(value)}.",
        )
        for hit in found:
            tensor, value = view.tensors[hit.tensor], hit.evidence[0].value
            if low:
                constant = hit.steps == hit.of >= _FEWEST and np.all(view.rows([tensor])["max"] == value)
                mostly = hit.of >= _MIN_LOSSES and hit.steps >= _MOSTLY_TINY * hit.of
                severity: Severity | None = "high" if constant or mostly else None
                yield replace(hit, explains=_BY_REST, severity=severity)
            elif explodes(view, tensor.graph):
                text = f"{hit.text[:-1]}{_scaled(view.roles(tensor.graph))}."
                yield replace(hit, text=text, explains=(*_BY_STEPS, "ExplodingTensor"))
            else:
                yield replace(hit, explains=_BY_STEPS if value > _FAR * limit else ())


def _scaled(roles: Roles) -> str:
    """Says by what constant a loss is multiplied before the tape differentiates it."""
    products = [row for row in roles.of_kind("loss") if roles.graph.op_type[row] == "Mul"]
    sources = [source for row in products for source, _, _ in roles.inputs(row)]
    numbers = (constant_number(roles.attributes(row)) for row in sources)
    factors = [number for number in numbers if number is not None]
    return f", and the tape differentiates the loss times {number_text(max(factors))}" if factors else ""


def explodes(view: RunView, graph: str) -> bool:
    """Whether a loss of a graph grows to many times the first one, and stays there or turns non-finite."""
    for tensor in _training_losses(view):
        if tensor.graph == graph:
            rows = view.rows([tensor])
            broken = rows.step[rows.finite < rows["size"]]
            steps, loss = _by_step(rows)
            loss = np.abs(loss[steps < broken[0]]) if len(broken) else np.abs(loss)
            last = loss[-1:] if len(broken) else loss[-max(len(loss) // 3, 2) :]
            if len(loss) > 1 and 0 < _EXPLODED * loss[0] < last.min():
                return True
    return False


_FEWEST = 3  # steps with the same learning rate
_MOSTLY_TINY = 0.75  # of the steps: a warm-up is over before, and a decay ends there
_LEFT = 1e-6  # of the largest loss: then small gradients are expected


def is_fitted(view: RunView, graph: str, step: int, share: float = 1.0) -> bool:
    """Whether the loss is exactly 0 (a hinge loss) at this share of the steps, or more, from a step on. One
    that always was is not fitted: its weights or masks may be 0."""
    rows = _loss_rows(view, graph)
    zero = rows["zero"] == rows["size"]
    later = zero[rows.step >= step]
    return len(later) > 0 and float(np.mean(later)) >= share and not zero.all()


def has_converged(view: RunView, graph: str, step: int) -> bool:
    """Whether the loss has fallen to a millionth of its largest, in the median from a step on."""
    rows = _loss_rows(view, graph)
    later = rows.part(rows.step >= step)["abs_max"]
    largest = np.nanmax(rows["abs_max"], initial=0.0)
    return bool(len(later)) and bool(np.nanmedian(later) <= _LEFT * largest)


def _loss_rows(view: RunView, graph: str) -> SnapshotRows:
    return view.rows([tensor for tensor in view.of_kind("loss") if tensor.graph == graph])


_COUNTERS = ("iteration", "iterations", "global_step")
_WHOLE = ("int", "uint")
_SUMS = ops("Add AddV2")
_QUOTIENTS = ops("FloorDiv Minimum Maximum")
_NAME_NUMBER = re.compile(r"_\d+(?=/|$)")
_MAX_SCHEDULE_NODES = 200  # nodes that a schedule may have; an optimizer computes it for each weight
_DEEP = 4  # nodes between a constant and where it is used


def learning_rates(view: RunView) -> list[TensorRole]:
    """The learning rates of each graph, each once: variables of that name, and scalars that are computed from
    an optimizer's count of steps alone and that an update takes."""
    found: dict[tuple[str, str], TensorRole] = {}
    for tensor in view.where(lambda t: t.variable.endswith("learning_rate") and t.slot == 0):
        found.setdefault((tensor.graph, tensor.variable), tensor)  # read once for each weight
    computed = {graph: _scheduled(view.roles(graph)) for graph in {tensor.graph for tensor in view.tensors}}
    for tensor in view.where(lambda t: t.slot == 0 and t.row in computed[t.graph]):
        # An optimizer computes it for each weight.
        found.setdefault((tensor.graph, _NAME_NUMBER.sub("", tensor.node)), tensor)
    return list(found.values())


def _scheduled(roles: Roles) -> set[int]:
    """Rows of the scalars that schedules compute; empty if several different ones are candidates (Nadam
    computes its momentum from the count, too).

    Keras gives a schedule the count of steps, and corrects the bias of moments by that count + 1: a sum of
    whole numbers is not followed past a cast.
    """
    graph = roles.graph
    reads = [
        row for row in roles.variable if graph.op_type[row] == "ReadVariableOp" and _counts_steps(roles, row)
    ]
    if not reads:
        return set()
    clock = _computed_from(roles, reads)
    ends = {row for row in clock if is_real_floating(graph.dtype[row]) and _is_taken(roles, row, clock)}
    scopes: dict[str, set[str]] = {}
    for row in ends:
        name = _NAME_NUMBER.sub("", graph.names[row])
        scopes.setdefault(name.partition("/")[0], set()).add(name)
    return {row for row in ends if len(scopes[_NAME_NUMBER.sub("", graph.names[row]).partition("/")[0]]) == 1}


def _counts_steps(roles: Roles, row: int) -> bool:
    return roles.variable.get(row, "").rpartition("/")[2] in _COUNTERS


def _computed_from(roles: Roles, reads: list[int]) -> set[int]:
    """The scalars that are computed of a count and constants, through casts and floating point ops."""
    graph, found = roles.graph, set(reads)
    waiting = deque(reads)
    most = _MAX_SCHEDULE_NODES * len(reads)
    while waiting and len(found) < most:
        for row in roles.consumers(waiting.popleft()):
            sources = [source for source, _, _ in roles.inputs(row)]
            if row in found or graph.shape[row] != "scalar" or roles.is_backward(row):
                continue
            if graph.op_type[row] == "Cast":
                source = sources[0]
                skipped = graph.op_type[source] in _SUMS and graph.dtype[source].startswith(_WHOLE)
            else:
                skipped = graph.dtype[row].startswith(_WHOLE) and graph.op_type[row] not in _SUMS | _QUOTIENTS
            if skipped:
                continue
            if all(source in found or _is_constant(roles, source) for source in sources):
                found.add(row)
                waiting.append(row)
    return found


def _is_constant(roles: Roles, row: int, depth: int = _DEEP) -> bool:
    """Whether a node has the same output at every step: a constant, a result of constants, or a variable that
    is neither trained nor a step counter."""
    if roles.graph.op_type[row] == "ReadVariableOp":
        return roles.kind.get(row) != "weight" and not _counts_steps(roles, row)
    sources = roles.inputs(row)
    if not sources:
        return roles.graph.op_type[row] == "Const"
    return depth > 0 and all(_is_constant(roles, source, depth - 1) for source, _, _ in sources)


def _is_taken(roles: Roles, row: int, clock: set[int]) -> bool:
    """Whether something else than the schedule takes a scalar and changes trained weights by it, and the
    backward pass does not: that would be a weight of the loss."""
    takers = [user for user in roles.consumers(row) if user not in clock]
    return not any(map(roles.is_backward, takers)) and _trains(roles, takers)


def _trains(roles: Roles, takers: list[int]) -> bool:
    """Whether some nodes lead to an update of a variable that gets a gradient, also through other variables
    (momentum), but not through the loss, the backward pass or a comparison (an exploration rate)."""
    seen, waiting = set(takers), list(takers)
    while waiting:
        row = waiting.pop()
        if row == roles.loss or roles.is_backward(row) or roles.graph.dtype[row] == "bool":
            continue
        users = roles.consumers(row)
        if roles.is_update(row):
            handle = first_input(roles, row)
            of_handle = roles.consumers(handle)
            if any(roles.variable.get(each) in roles.trained for each in (handle, *of_handle)):
                return True
            users += [user for user in of_handle if roles.graph.op_type[user] == "ReadVariableOp"]
        waiting += [user for user in users if user not in seen]
        seen.update(users)
    return False
