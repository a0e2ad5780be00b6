"""Rules about weights: updates, size, and tensors that do not change, shrink or are zero."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.text import number_text

from ...model_graph.roles import TensorRole, updates_of
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import stored_values
from ...run_view.trained_variables import (
    WHY_OMITTED,
    is_ambiguous,
    is_omitted_from_gradients,
    is_trained_by_another_graph,
    steps_of_nonfinite_gradients,
    trained_gradients,
)
from ..finding import Evidence, Hit, Severity
from ..rule import MOSTLY, Limits, incremental_hits, rule
from ..unchanged_stretches import Stretch, Stretches
from ..variable_usage import is_between, random_initializer
from .activations import takes_nan
from .inputs import feeds_layer
from .updates import Updates


def layer_weights(view: RunView) -> list[TensorRole]:
    """Weights of layers, each variable once per graph: its first read. If several variables share a path, the
    trained one, if known."""

    def find() -> list[TensorRole]:
        found: dict[tuple[str, str], TensorRole] = {}
        for tensor in sorted(view.of_kind("weight"), key=lambda t: (is_ambiguous(view, t), t.order)):
            found.setdefault((tensor.graph, tensor.variable or tensor.name), tensor)
        return list(found.values())

    return view.cached("layer weights", find)


@rule(
    "WeightUpdateRatio",
    "updates that are too large or too small for their weights",
    thresholds={"largest": 10.0, "smallest": 1e-8},
    source="SageMaker Debugger (MindInsight: 1e-4 … 0.1)",
    help="Change the learning rate of the layer; a typical update is 1e-3 of the weight norm per step.",
    next_look="Check the history of the weights and of their gradient.",
)
def weight_update_ratio(view: RunView, limits: Limits) -> Iterable[Hit]:
    largest = limits["largest"]
    kernels = [tensor for tensor in layer_weights(view) if tensor.is_kernel]
    updates = view.incremental(("WeightUpdateRatio", largest), lambda: Updates(largest), kernels, Updates.add)
    for tensor in kernels:
        steps, ratio, of = updates.of(view.run, tensor.code)
        for fired, limit in (
            (ratio > largest, "largest"),
            ((ratio < limits["smallest"]) & (ratio > 0), "smallest"),
        ):
            if not fired.any():
                continue
            worst = int(np.argmax(np.where(fired, np.abs(np.log(np.maximum(ratio, 1e-300))), -1)))
            name = tensor.variable or tensor.name
            text = f"An update of {name} is {number_text(ratio[worst])} times the norm of the weights."
            if not np.isfinite(ratio[worst]):
                text = f"An update makes elements of {name} infinite that were finite before."
            name = "norm(update)/norm(weight)"
            evidence = Evidence(int(steps[worst]), name, float(ratio[worst]), limits[limit])
            yield Hit.at(steps[fired], of, tensor, text, evidence)


@rule(
    "UnchangedTensor",
    "weights that do not change",
    thresholds={"rtol": 1e-5, "atol": 1e-8, "steps": 3},
    source="SageMaker Debugger",
    help="Check whether the layer is frozen on purpose (trainable=False), and whether the learning rate "
    "is large enough.",
    next_look="Check its gradient in the list of variables with zero gradient.",
)
def unchanged_tensor(view: RunView, limits: Limits) -> Iterable[Hit]:
    trained = {(t.graph, t.variable): t for t in trained_gradients(view)}
    graphs = {graph for graph, _ in trained}
    least, rtol, atol = max(int(limits["steps"]), 2), limits["rtol"], limits["atol"]
    stretches = view.incremental(
        ("UnchangedTensor", least, rtol, atol),
        lambda: Stretches(least, rtol, atol),
        layer_weights(view),
        Stretches.add,
    )
    for tensor in layer_weights(view):
        same, steps = stretches.of(tensor.code)
        if same is None or tensor.graph not in graphs or np.isnan(same.l2) or is_ambiguous(view, tensor):
            continue  # weights that turned NaN do not rest; those of a target network may
        if is_trained_by_another_graph(view, tensor) or _is_constant(view, tensor, trained):
            continue  # according to that graph; they should not change
        ends = _first_and_last_value(view, same)
        if ends and not np.allclose(ends[0], ends[1], rtol, atol, equal_nan=True):
            continue  # few elements change: the ledger reports lost updates
        gradient = trained.get((tensor.graph, tensor.variable))
        if gradient is not None and _is_skipped(view, tensor.graph, same):
            continue  # a loss scale that is still too large
        zero = gradient is not None and _is_zero(view, gradient, same)
        severity, why = _at_rest(view, tensor, gradient, zero=zero)
        is_set = same.steps < steps and why.startswith(_NOT_ASKED)  # as a target network, by copying
        if is_set or (zero and same.steps < MOSTLY * steps):
            continue  # the latter: a part of the model that these batches do not use
        if same.steps < MOSTLY * steps:
            severity = "low"  # a schedule that begins at 0, or gradients that are accumulated, do that
        text = _unchanged(tensor, same, steps, bool(ends), why)
        evidence = [Evidence(same.last, "l2", same.l2)]
        hit = Hit(tensor.code, text, evidence, same.first, same.last, same.steps, steps, severity)
        hit = replace(hit, unless=("DeadGradient",) if zero else ("AbsorbedUpdate", "VanishingGradient"))
        hit = replace(hit, help=_ADVICE.get(why, ""))
        if why == _OMITTED:
            hit = replace(hit, next_look=_ASKING, explains=("LossNotDecreasing",))
        elif why.startswith(_LIKE_RANDOM):
            hit = replace(hit, help=_NOT_LOADED, explains=("LossNotDecreasing",))
        yield hit


def _is_constant(view: RunView, tensor: TensorRole, trained: Collection[tuple[str, str]]) -> bool:
    """Whether it was created with `trainable=False`, or is a moving mean or variance of a layer without
    trained weights."""
    if not tensor.is_statistic:
        return tensor.variable in view.roles(tensor.graph).constant
    layer = tensor.graph, tensor.variable.rpartition("/")[0]
    return not any((graph, other.rpartition("/")[0]) == layer for graph, other in trained)


_OMITTED = f"and {WHY_OMITTED}"
_NOT_AVERAGED = "although its layer is trained: call the model with training=True"
_KEPT_AVERAGE = "although each step sets it: check momentum (1.0 keeps the initial value)"
_AVERAGE = "Batch normalization uses it at inference: with its initial value, results are wrong there."
_FORGOTTEN = (
    "Add it to the variables passed to tape.gradient and to the optimizer. If it should not be "
    "trained, set trainable=False or compute it outside the tape."
)
_NOT_ASKED = "and the step does not request its gradient"
_LIKE_RANDOM = f"{_NOT_ASKED}: its values are distributed like random ones from"
_BETWEEN = ", although trained layers get their gradient through it"
_NOT_LOADED = (
    "To train it, set trainable=True before compile(). If it should be pretrained, or a copy of another "
    "layer, load or copy its weights: these look like those of an initializer."
)
_ON_PURPOSE = "Check that the step should not train it, such as a frozen layer or a target network."
_ADVICE = {
    _NOT_AVERAGED: _AVERAGE,
    _KEPT_AVERAGE: _AVERAGE,
    _OMITTED: _FORGOTTEN,
    _NOT_ASKED: _ON_PURPOSE,
}
_ASKING = "Check the variables passed to tape.gradient."


def _at_rest(
    view: RunView, tensor: TensorRole, gradient: TensorRole | None, *, zero: bool
) -> tuple[Severity, str]:
    """The severity of an unchanged weight, and what is known about its gradient."""
    if gradient:
        if zero:
            return "low", "because its gradient is exactly 0"
        return "high" if tensor.is_kernel else "medium", "although it has a gradient"
    if tensor.is_statistic:
        is_set = bool(updates_of(view.roles(tensor.graph), tensor.row))
        return "high", _KEPT_AVERAGE if is_set else _NOT_AVERAGED
    if is_omitted_from_gradients(view, tensor):
        return "high" if tensor.is_kernel else "medium", _OMITTED
    if view.roles(tensor.graph).trainable.get(tensor.variable) is False:
        is_new = tensor.is_kernel and not _has_trained_bias(view, tensor)
        initializer = random_initializer(view, tensor) if is_new else ""
        if initializer:
            trained = [each.variable for each in trained_gradients(view) if each.is_kernel]
            if is_between(view.roles(tensor.graph), tensor.variable, trained):
                return "high", f"{_LIKE_RANDOM} {initializer}{_BETWEEN}"
            return "medium", f"{_LIKE_RANDOM} {initializer}"
        return "low", _NOT_ASKED
    is_requested = view.roles(tensor.graph).trainable.get(tensor.variable) is True
    severity: Severity = "high" if is_requested and tensor.is_kernel else "medium"
    return severity, "and the step computes no gradient for it"


def _has_trained_bias(view: RunView, kernel: TensorRole) -> bool:
    """Whether the bias of a kernel's layer differs from 0 and 1, with which initializers fill biases."""
    bias = f"{kernel.variable.rpartition('/')[0]}/bias"
    rows = view.rows([t for t in layer_weights(view) if t.graph == kernel.graph and t.variable == bias])
    return len(rows) > 0 and rows["abs_max"][0] not in (0, 1)


def _is_zero(view: RunView, gradient: TensorRole, same: Stretch) -> bool:
    """Whether a gradient is all zeros while the weights are unchanged. The gradient at their last step
    changes them only later."""
    rows = view.rows([gradient])
    rows = rows.part((rows.step >= same.first) & (rows.step < same.last))
    return len(rows) > 0 and bool(np.all(rows["zero"] == rows["size"]))


def _is_skipped(view: RunView, graph: str, same: Stretch) -> bool:
    """Whether a gradient of a graph is not finite at each step of a stretch, because the program skips such
    steps."""
    rows = view.rows([tensor for tensor in view.of_kind("gradient") if tensor.graph == graph][:1])
    within = {step for step in rows.steps.tolist() if same.first <= step < same.last}
    return bool(within) and within <= steps_of_nonfinite_gradients(view, graph)


def _unchanged(tensor: TensorRole, same: Stretch, steps: int, by_values: bool, why: str) -> str:
    whole = same.steps == steps
    where = f"all {steps}" if whole else f"{same.steps} of {steps}"
    span = "" if whole else f" ({same.first} to {same.last})"
    what = "is the same" if by_values else "has the same statistics"
    return f"{tensor.variable or tensor.name} {what} at {where} captured steps{span}, {why}."


def _first_and_last_value(view: RunView, same: Stretch) -> list[Array]:
    """The first and the last stored value of a stretch, float64; none if they cannot be read or compared."""
    if same.kept < 2:
        return []
    found = stored_values(view.run, [same.first_kept, same.last_kept])
    ends = [value.astype(np.float64) for _, value in found]
    return ends if len(ends) == 2 and ends[0].shape == ends[1].shape else []


@rule(
    "AllZero",
    "tensors that are all zeros",
    title="All zeros",
    thresholds={"zeros": 1.0, "steps": 3},
    source="SageMaker Debugger",
    help="Find where the zeros start: a dead activation, a mask, a disconnected branch, or an initializer.",
    next_look="Check the list of variables with zero gradient for the cause.",
)
def all_zero(view: RunView, limits: Limits) -> Iterable[Hit]:
    found = incremental_hits(
        view,
        ("AllZero", limits["zeros"]),
        [
            *(t for t in view.of_kind("output", "weight") if _may_hold_more(view, t)),
            *(features := [t for t in view.of_kind("input") if feeds_layer(view, t)]),
            *trained_gradients(view),
        ],
        lambda rows: (rows.share("zero") >= limits["zeros"], rows.share("zero")),
        "% zeros",
        limits["zeros"],
        share=0.9,
        least=int(limits["steps"]),
        text=lambda t, _: f"{_subject(t)} is all zeros.",
        severity=lambda t: _zero_severity(view, t),
    )
    found = [hit for hit in found if not takes_nan(view, hit)]
    zero = {hit.tensor for hit in found}
    for hit in found:
        tensor = view.tensors[hit.tensor]
        if tensor.kind == "input":  # one of several may be an initial state
            alone = all(each.code in zero for each in features if each.graph == tensor.graph)
            hit = replace(hit, severity="high" if alone else "low", help=_NO_INPUT)
        elif tensor.kind == "weight" and tensor.is_kernel:
            hit = replace(hit, explains=("DeadGradient",))
        elif tensor.kind == "weight":
            hit = replace(hit, unless=_WHY_STILL_ZERO)
        yield hit


_NO_INPUT = "Check the input pipeline: decoding, casts to integers, masks, and padding."


def _may_hold_more(view: RunView, tensor: TensorRole) -> bool:
    """False for moving means, which begin at zero, and for ambiguous reads."""
    return not (is_ambiguous(view, tensor) or tensor.is_statistic)


_WHY_STILL_ZERO = ("UnchangedTensor", "AbsorbedUpdate", "DeadGradient")  # a bias that stays as it began


def _zero_severity(view: RunView, tensor: TensorRole) -> Severity | None:
    """Biases begin at zero, and stay zero if they are not trained; so do frozen layers."""
    if tensor.kind == "gradient" and tensor.is_kernel:
        return "high"
    frozen = view.roles(tensor.graph).trainable.get(tensor.variable) is False
    return "low" if tensor.kind == "weight" and (frozen or not tensor.is_kernel) else None


def _subject(tensor: TensorRole) -> str:
    names = {"gradient": f"The gradient of {tensor.variable}", "output": f"The output of {tensor.layer}"}
    names["input"] = f"The input {tensor.name}"
    return names.get(tensor.kind, tensor.variable) or tensor.name


@rule(
    "LargeWeights",
    "weights far from zero",
    thresholds={"abs_max": 5.0},
    severity="low",
    source="AutoTrainer",
    help="Use weight decay, a lower learning rate, or a smaller initializer.",
)
def large_weights(view: RunView, limits: Limits) -> Iterable[Hit]:
    yield from incremental_hits(
        view,
        ("LargeWeights", limits["abs_max"]),
        [tensor for tensor in layer_weights(view) if tensor.is_kernel],
        lambda rows: (rows["abs_max"] > limits["abs_max"], rows["abs_max"]),
        "max |x|",
        limits["abs_max"],
        share=MOSTLY / 5,
        text=lambda t, value: f"{t.variable or t.name} reaches {number_text(value)}.",
    )


@rule(
    "ShrinkingWeights",
    "kernels that shrink to a fraction of their first norm",
    thresholds={"share": 0.15, "steps": 10},
    severity="high",
    source="tensortap: the median norm over the last third of the steps",
    help="Lower weight_decay of the optimizer, or the factor of the layer's kernel_regularizer.",
    next_look="Check the history of its norm.",
)
def shrinking_weights(view: RunView, limits: Limits) -> Iterable[Hit]:
    trained = {(tensor.graph, tensor.variable) for tensor in trained_gradients(view)}
    for tensor in layer_weights(view):
        if not tensor.is_kernel or (tensor.graph, tensor.variable) not in trained:
            continue
        rows = view.rows([tensor])
        norm = rows["l2"]
        if len(rows.steps) < limits["steps"] or not np.isfinite(norm).all() or norm[0] == 0:
            continue
        share = float(np.median(norm[-(len(norm) // 3) :]) / norm[0])
        if share < limits["share"]:
            small = norm < limits["share"] * norm[0]
            text = (
                f"The norm of {tensor.variable or tensor.name} falls from {number_text(norm[0])} to "
                f"{number_text(norm[-1])}: something other than the data pulls it to 0."
            )
            evidence = Evidence(int(rows.step[-1]), "norm/first norm", share, limits["share"])
            yield Hit.at(np.unique(rows.step[small]), len(rows.steps), tensor, text, evidence)
