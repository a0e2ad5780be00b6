"""Rules about the inputs of a loss: logits or probabilities, reachable targets, and its sign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from tensortap.core.text import number_text

from ...model_graph.op_types import constant_number, ops
from ...model_graph.roles import Roles, Slot, TensorRole
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows, stored_values
from ..finding import Evidence, Hit
from ..forward_sources import (
    CROSS_ENTROPIES,
    SIGMOID_LOSS,
    captured_tensor,
    forward_rows,
    source_of,
    sources_of,
    trained_graphs,
)
from ..reinforcement import is_policy_gradient
from ..rule import MOSTLY, Limits, rule
from .losses import has_rivals

_RELUS = ops("Relu Relu6")
_AVERAGING = ops("Sum Mean DivNoNan RealDiv Identity Cast Reshape ExpandDims Squeeze Neg Mul")
_RANGES = {
    "Relu": (0.0, np.inf),
    "Relu6": (0.0, 6.0),
    "Elu": (-1.0, np.inf),
    "Softplus": (0.0, np.inf),
    "Sigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
}
_MOST_CLASSES = 1000
_LOOKED_INTO = 10  # stored targets
_MAX_NODES = 2000  # nodes that are followed from one cross-entropy


@rule(
    "LossInputMismatch",
    "a loss that expects logits but gets probabilities, ReLU or tanh outputs, or the reverse",
    severity="high",
    source="tensortap: ops and values between the model output and the loss",
    help="Use from_logits=True if the model has no final activation (more precise), from_logits=False "
    "if it ends in a softmax or sigmoid.",
    next_look="Check the activation of the last layer, and from_logits of the loss.",
)
def loss_input_mismatch(view: RunView, limits: Limits) -> Iterable[Hit]:
    del limits
    for roles in trained_graphs(view):
        yield from _probabilities_as_logits(view, roles)
        yield from _logits_as_probabilities(view, roles)


def _probabilities_as_logits(view: RunView, roles: Roles) -> Iterator[Hit]:
    graph = roles.graph
    for row in forward_rows(roles, CROSS_ENTROPIES.__contains__):
        sources = sources_of(roles, row)
        if sources and graph.op_type[sources[0][0]] == "Softmax":
            yield from _mismatch(view, roles, sources[0], row, "softmax")
        elif sources and graph.op_type[sources[0][0]] in (*_RELUS, "Tanh"):
            kind = "tanh" if graph.op_type[sources[0][0]] == "Tanh" else "ReLU"
            yield from _mismatch(view, roles, sources[0], row, kind)
    scopes: dict[str, int] = {}
    for row in forward_rows(roles, "Log1p".__eq__):
        scope, found, _ = graph.names[row].rpartition(f"{SIGMOID_LOSS}/")
        if found:
            scopes.setdefault(scope + found, row)
    for row in forward_rows(roles, ("Sigmoid", *_RELUS).__contains__) if scopes else ():
        for user in roles.consumers(row):
            scope = next((each for each in scopes if graph.names[user].startswith(each)), "")
            if scope:
                activation = "sigmoid" if graph.op_type[row] == "Sigmoid" else "ReLU"
                yield from _mismatch(view, roles, (row, 0), scopes[scope], activation)
                break


def _mismatch(view: RunView, roles: Roles, output: Slot, loss: int, activation: str) -> Iterator[Hit]:
    tensor = captured_tensor(view, roles, output)
    if tensor is None:
        return
    names = roles.graph.names
    text = f"{names[output[0]]} is a {activation}, and the loss ({names[loss]})"
    if activation == "ReLU":
        text += " expects logits: ReLU outputs are never negative, and zeros get no gradient."
    elif activation == "tanh":
        text += " expects logits: between -1 and 1, no class is more than e² times as likely as another."
    else:
        text += " applies another one: it expects logits but gets probabilities, so gradients become small."
    steps = view.rows([tensor]).steps
    if len(steps):
        count = 1.0 if activation in ("ReLU", "tanh") else 2.0
        evidence = Evidence(int(steps[0]), "activations before the loss", count, count - 1)
        yield Hit.at(steps, len(steps), tensor, text, evidence)


def _logits_as_probabilities(view: RunView, roles: Roles) -> Iterator[Hit]:
    """Keras clips probabilities to just inside 0 … 1 before it takes the logarithm."""
    graph = roles.graph
    for row in forward_rows(roles, "Log".__eq__):
        clipped, bounds = row, list[float]()
        for _ in range(2):
            sources = sources_of(roles, clipped)
            if not sources or graph.op_type[sources[0][0]] not in ("Maximum", "Minimum"):
                break
            clipped = sources[0][0]
            bounds += [
                number for each, _ in sources_of(roles, clipped)[1:] for number in _constants(roles, each)
            ]
        if len(bounds) != 2 or not (0 <= min(bounds) < 0.01 and 0.99 < max(bounds) <= 1):
            continue
        output = sources_of(roles, clipped)[0]
        tensor = captured_tensor(view, roles, output, exactly=True)
        rows = view.rows([tensor] if tensor else [])
        outside = (rows["min"] < -0.01) | (rows["max"] > 1.01)
        if tensor is None or np.count_nonzero(outside) < max(1, MOSTLY * len(rows)):
            continue
        first = int(np.flatnonzero(outside)[0])
        low, high = float(rows["min"][first]), float(rows["max"][first])
        text = (
            f"The loss expects probabilities, but {tensor.name} ranges from {number_text(low)} to "
            f"{number_text(high)}: values outside 0 … 1 are clipped and get no gradient."
        )
        steps = np.unique(rows.step[outside])
        beyond = ("min", low, 0.0) if low < 0 and -low > high - 1 else ("max", high, 1.0)
        evidence = Evidence(int(rows.step[first]), *beyond)
        yield Hit.at(steps, len(rows.steps), tensor, text, evidence)


def _constants(roles: Roles, row: int) -> list[float]:
    number = constant_number(roles.attributes(row)) if roles.graph.op_type[row] == "Const" else None
    return [] if number is None else [number]


@rule(
    "TargetOutOfRange",
    "targets outside the range of the output activation, or of the loss",
    thresholds={"share": 0.5},
    severity="high",
    source="tensortap: the range of the activation and of the targets",
    help="Scale the targets to this range; for a squared error, removing the last activation helps, too.",
    next_look="Compare the histograms of the targets and of the output.",
)
def target_out_of_range(view: RunView, limits: Limits) -> Iterable[Hit]:
    for roles in trained_graphs(view):
        for row in forward_rows(roles, ("Sub", "SquaredDifference").__contains__):
            sources = sources_of(roles, row)
            for output, target in (sources, sources[::-1]) if len(sources) == 2 else ():
                op_type = roles.graph.op_type[output[0]]
                limit = f"the output {roles.graph.names[output[0]]} ({op_type}) can only be"
                yield from _beyond(view, roles, target, _RANGES.get(op_type), limit, limits["share"])
        for target in dict.fromkeys(_binary_targets(roles)):
            limit = "a binary cross-entropy expects"
            yield from _beyond(view, roles, target, _RANGES["Sigmoid"], limit, limits["share"])
        yield from _counted_from_one(view, roles)


def _beyond(
    view: RunView, roles: Roles, target: Slot, bounds: tuple[float, float] | None, limit: str, share: float
) -> Iterator[Hit]:
    """A hit if targets are beyond bounds at this share of the steps. `limit`: what has these bounds."""
    tensor = captured_tensor(view, roles, target, exactly=True)
    if bounds is None or tensor is None or roles.kind.get(target[0]) != "input":
        return
    rows = view.rows([tensor], floats=False)
    beyond = (rows["min"] < bounds[0] - 0.01) | (rows["max"] > bounds[1] + 0.01)
    if np.count_nonzero(beyond) < max(1, share * len(rows)):
        return
    low, high = float(np.nanmin(rows["min"])), float(np.nanmax(rows["max"]))
    reach = f"{bounds[0]:g} or more" if np.isinf(bounds[1]) else f"{bounds[0]:g} … {bounds[1]:g}"
    span = f"range from {number_text(low)} to {number_text(high)}"
    text = f"The targets {tensor.name} {span}, but {limit} {reach}."
    end = low if low < bounds[0] else high
    evidence = Evidence(int(rows.step[beyond][0]), "furthest target", end, bounds[low >= bounds[0]])
    hit = Hit.at(np.unique(rows.step[beyond]), len(rows.steps), tensor, text, evidence)
    yield replace(hit, help=_CLASSES) if _may_be_classes(view, rows) else hit


def _counted_from_one(view: RunView, roles: Roles) -> Iterator[Hit]:
    """Labels 1 … n of a one-hot encoding with n classes, for which it counts from 0."""
    for row in forward_rows(roles, "OneHot".__eq__):
        labels, depth = (*sources_of(roles, row), (row, 0), (row, 0))[:2]
        classes = next(iter(_constants(roles, depth[0])), None)
        tensor = captured_tensor(view, roles, labels, exactly=True)
        rows = view.rows([tensor] if tensor else [], floats=False)
        if tensor is None or not len(rows) or roles.kind.get(labels[0]) != "input":
            continue
        low, high = float(rows["min"].min()), float(rows["max"].max())
        if low == 1 and high == classes:
            text = (
                f"The labels {tensor.name} range from 1 to {high:g}, but {roles.graph.names[row]} counts "
                f"{classes:g} classes from 0: {high:g} becomes zeros, which add nothing to the loss."
            )
            steps = np.unique(rows.step[rows["max"] == classes])
            evidence = Evidence(int(steps[0]), "largest label", high, classes - 1)
            hit = Hit.at(steps, len(rows.steps), tensor, text, evidence)
            advice = "Subtract 1 from the labels, or encode one more class."
            yield replace(hit, help=advice, source_node=roles.graph.names[row])


def is_class_label(roles: Roles, label: TensorRole) -> bool:
    """Whether a cross-entropy takes an input as its labels, as it is or one-hot encoded. Flags of a batch and
    indices of chosen values are none."""
    rows = list(forward_rows(roles, CROSS_ENTROPIES.__contains__))
    taken = [sources[1] for row in rows if len(sources := sources_of(roles, row)) == 2]
    for row in forward_rows(roles, "Mul".__eq__):
        sources = sources_of(roles, row)
        for target, other in (sources, sources[::-1]) if len(sources) == 2 else ():
            taken += [target] if roles.graph.op_type[other[0]] in ("Log", "LogSoftmax") else []
    origin = source_of(roles, (label.row, label.slot))
    return origin in {_encoded(roles, place) for place in (*taken, *_binary_targets(roles))}


def _encoded(roles: Roles, place: Slot) -> Slot:
    """What a one-hot encoding or a part of a tensor was made of; other places as they are."""
    while roles.graph.op_type[place[0]] in ("OneHot", "StridedSlice") and (
        sources := sources_of(roles, place[0])
    ):
        place = sources[0]
    return place


def _binary_targets(roles: Roles) -> Iterator[Slot]:
    """The targets of binary cross-entropies: y in y * log(p) + (1 - y) * log(1 - p), or in x - x * y + …"""
    complements = {
        source
        for row in forward_rows(roles, "Sub".__eq__)
        for source in sources_of(roles, row)[1:]
        if _constants(roles, sources_of(roles, row)[0][0]) == [1.0]
    }
    for row in forward_rows(roles, "Mul".__eq__):
        sources = sources_of(roles, row)
        for target, other in (sources, sources[::-1]) if len(sources) == 2 else ():
            is_binary = target in complements and roles.graph.op_type[other[0]] == "Log"
            if is_binary or f"{SIGMOID_LOSS}/" in roles.graph.names[row]:
                yield target


_CLASSES = (
    "The targets are whole numbers. If they name classes, use SparseCategoricalCrossentropy, or one-hot "
    "targets (keras.utils.to_categorical) with this loss; otherwise remove the activation of the last layer."
)


def _may_be_classes(view: RunView, rows: SnapshotRows) -> bool:
    """Whether targets are few whole numbers from 0, by their dtype or their stored values."""
    codes, names = view.dtypes(rows)
    low, high = np.nanmin(rows["min"]), np.nanmax(rows["max"])
    if low < 0 or high > _MOST_CLASSES or low % 1 or high % 1:
        return False
    if all(names[code].lstrip("u").startswith("int") for code in set(codes.tolist())):
        return True
    found = [value for _, value in stored_values(view.run, rows.rows[rows.kept][:_LOOKED_INTO])]
    return bool(found) and all(bool(np.all(value % 1 == 0)) for value in found)


@rule(
    "NegatedLoss",
    "a cross-entropy that is maximized, or a loss that falls without bound",
    thresholds={"fall": 1e4},
    severity="high",
    source="tensortap: the ops between the cross-entropy and the loss; fall: beside the first loss",
    help="Minimize the cross-entropy itself: remove the minus sign.",
    next_look="Check the line that computes the loss.",
)
def negated_loss(view: RunView, limits: Limits) -> Iterable[Hit]:
    """Where a graph has one loss, and that is a cross-entropy but for averages, constants and its sign.

    Of two models that compete one may maximize what the other minimizes; their graph has several losses.
    """
    for roles in trained_graphs(view):
        loss = roles.loss
        if loss is None or len(roles.of_kind("loss")) > 1:
            continue
        found = [_sign_at(roles, row, loss) for row in forward_rows(roles, CROSS_ENTROPIES.__contains__)]
        tensor = captured_tensor(view, roles, (loss, 0), exactly=True)
        rows = view.rows([tensor] if tensor else [])
        if {sign for sign, _ in found} == {-1} and tensor is not None and rows.finite.any():
            lowest = float(np.nanmin(rows["min"]))
            text = (
                f"The loss is the negative of a cross-entropy ({number_text(rows['mean'][0])} at step "
                f"{rows.step[0]}, down to {number_text(lowest)}): training makes the predictions worse."
            )
            evidence = Evidence(int(rows.step[0]), "loss", lowest, 0.0)
            hit = Hit.at(rows.steps, len(rows.steps), tensor, text, evidence)
            yield replace(hit, source_node=roles.graph.names[found[0][1]])
        elif tensor is not None and not has_rivals(view, tensor) and not is_policy_gradient(view, roles):
            yield from _unbounded(tensor, rows, limits["fall"])


def _unbounded(tensor: TensorRole, rows: SnapshotRows, fall: float) -> Iterator[Hit]:
    """A loss far below its first one, and below 0, that is lowest in the end."""
    loss = rows["mean"][np.isfinite(rows["mean"])]
    if len(loss) > 2 and loss[-1] == loss.min() and -loss[-1] > fall * max(1.0, abs(loss[0])):
        text = (
            f"The loss falls without bound, from {number_text(loss[0])} to {number_text(loss[-1])}: a term "
            "of it has the wrong sign."
        )
        last = int(rows.step[np.isfinite(rows["mean"])][-1])
        hit = Hit.at(rows.steps, len(rows.steps), tensor, text, Evidence(last, "loss", float(loss[-1])))
        yield replace(hit, help="Check the sign of each term of the loss.")


def _sign_at(roles: Roles, row: int, loss: int) -> tuple[int, int]:
    """(the sign of a cross-entropy in a loss, the last node that changes it). The sign is 0 if the loss uses
    it in another way, or not at all."""
    waiting, seen = [(row, 1, row)], set[int]()
    while waiting and len(seen) < _MAX_NODES:
        row, sign, changed = waiting.pop()
        if row == loss:
            return sign, changed
        if row in seen:
            continue
        seen.add(row)
        for user in roles.consumers(row):
            op_type = roles.graph.op_type[user]
            if op_type not in _AVERAGING or roles.is_backward(user):
                continue
            factor = -1 if op_type == "Neg" else 1
            if op_type in ("Mul", "RealDiv", "DivNoNan"):
                mine = source_of(roles, (row, 0))[0]
                others = [each for each, _ in sources_of(roles, user) if each != mine]
                constants = [number for each in others for number in _constants(roles, each)]
                if op_type == "Mul" and len(constants) != len(others):
                    continue  # of a weight that the data give, as in a policy gradient
                factor = -1 if any(number < 0 for number in constants) else 1
            waiting.append((user, sign * factor, user if factor < 0 else changed))
    return 0, row
