"""Rules about weights: initialization, updates, size, and tensors that do not change or are zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..kept_values import kept_values
from ..rows import Rows
from ..view import RunView, TensorRole
from .activations import share_beyond
from .finding import Evidence, Hit, Severity
from .gradients import MOSTLY
from .rule import Limits, hits, rule

Array = np.ndarray[Any, np.dtype[Any]]
_PAIRS = 6  # pairs of neighbouring steps that are compared by their values
_STATISTICS = ("min", "max", "mean", "std", "l2", "abs_max")


def layer_weights(view: RunView) -> list[TensorRole]:
    """Weights of layers, each variable once a graph (where it is read several times, as it was first)."""

    def find() -> list[TensorRole]:
        found: dict[tuple[str, str], TensorRole] = {}
        for tensor in sorted(view.of_kind("weight"), key=lambda tensor: tensor.order):
            found.setdefault((tensor.graph, tensor.variable or tensor.name), tensor)
        return list(found.values())

    return view.once("layer weights", find)


@rule(
    "PoorWeightInit",
    "initial weights that are hard to train",
    thresholds={"variance_ratio": 10.0, "gradient_range": 1e-3, "steps": 10},
    source="SageMaker Debugger",
    help="The initializer that fits the activation: HeNormal for ReLU, GlorotUniform for tanh and sigmoid.",
    next_look="The histograms of the weights at the first steps, side by side.",
)
def poor_weight_init(view: RunView, limits: Limits) -> Iterable[Hit]:
    rows = view.rows(tensor for tensor in layer_weights(view) if tensor.is_kernel)
    steps = np.unique(rows.step)[: int(limits["steps"])]
    if not len(steps):
        return
    early = Rows(view.run, rows.rows[rows.step <= steps[-1]])  # of a long run, few
    spread = _spread(
        view, early, int(steps[0])
    )  # what training makes of weights says nothing of how they began
    if spread is None or spread[2] <= limits["variance_ratio"]:
        return
    narrow = next(_narrow_gradients(view, limits), None)
    if narrow is None:
        return
    one, other, ratio = spread
    text = (
        f"The variance of {other.variable or other.name} is {ratio:.3g} times that of "
        f"{one.variable or one.name} at step {steps[0]}, and 90 % of the first gradients of "
        f"{narrow.variable} lie within {limits['gradient_range']:g}."
    )
    by_step = [(step, _spread(view, early, step)) for step in steps.tolist()]
    fired = np.array([step for step, found in by_step if found and found[2] > limits["variance_ratio"]])
    evidence = Evidence(int(steps[0]), "variance ratio", ratio, limits["variance_ratio"])
    yield Hit.at(fired, len(steps), one, text, evidence)


def _spread(view: RunView, rows: Rows, step: int) -> tuple[TensorRole, TensorRole, float] | None:
    """The kernels of the least and of the largest variance at the first visit of a step, and the ratio; None
    without two."""
    at = np.flatnonzero(rows.step == step)
    at = at[np.append(True, rows.tensor[at][1:] != rows.tensor[at][:-1])[: len(at)]]
    variance = rows["std"][at] ** 2
    known = np.isfinite(variance) & (variance > 0)
    at, variance = at[known], variance[known]
    if len(at) < 2:
        return None
    low, high = int(np.argmin(variance)), int(np.argmax(variance))
    codes = rows.tensor[at]
    return view.tensors[codes[low]], view.tensors[codes[high]], float(variance[high] / variance[low])


def _narrow_gradients(view: RunView, limits: Limits) -> Iterator[TensorRole]:
    """Gradients of kernels of which 90 % lie within a range, at the first steps."""
    half, many = limits["gradient_range"] / 2, int(limits["steps"])
    for tensor, rows in view.each(tensor for tensor in view.of_kind("gradient") if tensor.is_kernel):
        first = rows.steps[:many]
        if len(first):
            _, beyond = share_beyond(view, tensor, -half, half, until=int(first[-1]))
            if len(beyond) and np.median(beyond) < 0.1:  # 5 % at either end
                yield tensor


@rule(
    "WeightUpdateRatio",
    "updates that are too large, or too small, for their weights",
    thresholds={"largest": 10.0, "smallest": 1e-8},
    source="SageMaker Debugger (MindInsight: 1e-4 … 0.1)",
    help="Change the learning rate of that layer: about 1e-3 of the weights' norm a step is usual.",
    next_look="The weights' history, and the gradient that belongs to them.",
)
def weight_update_ratio(view: RunView, limits: Limits) -> Iterable[Hit]:
    for tensor, rows in view.each(tensor for tensor in layer_weights(view) if tensor.is_kernel):
        steps, ratio = _ratios(view, rows, limits["largest"])
        for fired, limit in (
            (ratio > limits["largest"], "largest"),
            ((ratio < limits["smallest"]) & (ratio > 0), "smallest"),
        ):
            if not fired.any():
                continue
            worst = int(np.argmax(np.where(fired, np.abs(np.log(np.maximum(ratio, 1e-300))), -1)))
            name = tensor.variable or tensor.name
            text = f"An update of {name} is {ratio[worst]:.3g} times the weights' norm."
            name = "norm(update)/norm(weight)"
            evidence = Evidence(int(steps[worst]), name, float(ratio[worst]), limits[limit])
            yield Hit.at(steps[fired], len(steps), tensor, text, evidence)


def _ratios(view: RunView, rows: Rows, largest: float) -> tuple[Array, Array]:
    """(steps, norm(update)/norm(weight) a step) between neighbouring captured steps: from kept values, else
    the difference of the norms, which is a lower bound (so only `largest` can be broken)."""
    first = np.flatnonzero(np.append(True, rows.step[1:] != rows.step[:-1]))[: len(rows) or None]
    if len(first) < 2:
        return np.zeros(0, np.int64), np.zeros(0)
    kept = rows.kept[first]
    step, norm = rows.step[first], rows["l2"][first]
    between = np.maximum(np.diff(step), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.abs(np.diff(norm)) / norm[:-1] / between
    ratio = np.where(np.isfinite(bound) & (bound > 0), bound, np.nan)
    ratio[ratio <= largest] = np.nan  # as a lower bound it proves nothing about small updates
    pairs = np.flatnonzero(kept[:-1] & kept[1:])
    for pair in pairs[np.unique(np.linspace(0, len(pairs) - 1, min(_PAIRS, len(pairs))).astype(int))]:
        exact = _exact(view, rows.rows[first[pair]], rows.rows[first[pair + 1]])
        ratio[pair] = np.nan if exact is None else exact / between[pair]
    return step[1:], ratio


def _exact(view: RunView, before: int, after: int) -> float | None:
    """norm(after - before) / norm(before) from the values themselves."""
    found = [value.astype(np.float64) for _, value in kept_values(view.run, [before, after])]
    if len(found) < 2:
        return None
    old, new = found
    norm = float(np.linalg.norm(old))
    return float(np.linalg.norm(new - old)) / norm if norm > 0 and old.shape == new.shape else None


@rule(
    "UnchangedTensor",
    "weights that do not change",
    thresholds={"rtol": 1e-5, "atol": 1e-8, "steps": 3},
    source="SageMaker Debugger",
    help="Is the layer meant to be frozen (trainable=False)? Is the learning rate large enough?",
    next_look="The gradient that belongs to it, in the ledger of dead layers.",
)
def unchanged_tensor(view: RunView, limits: Limits) -> Iterable[Hit]:
    trained = {(t.graph, t.variable) for t in view.of_kind("gradient")}
    graphs = {graph for graph, _ in trained}
    for tensor, rows in view.each(layer_weights(view)):
        steps, least = rows.steps, max(int(limits["steps"]), 2)
        if tensor.graph not in graphs or len(steps) < least:
            continue
        first = np.flatnonzero(np.append(True, rows.step[1:] != rows.step[:-1]))
        columns = np.stack([rows[name][first] for name in _STATISTICS])
        begin, stop = longest_stretch(columns, least, limits["rtol"], limits["atol"])
        if stop == begin:
            continue
        ends = _kept_ends(view, rows.rows[first][begin:stop][rows.kept[first][begin:stop]])
        if ends and not np.allclose(ends[0], ends[1], limits["rtol"], limits["atol"], equal_nan=True):
            continue  # few elements move: the ledger tells of updates that are lost
        whole, same = stop - begin == len(steps), steps[begin:stop]
        has_gradient = (tensor.graph, tensor.variable) in trained
        where = f"all {len(steps)}" if whole else f"{len(same)} of {len(steps)}"
        span = "" if whole else f" ({same[0]} to {same[-1]})"
        why = "although it has a gradient" if has_gradient else "and the step computes no gradient for it"
        what = "is the same" if ends else "has the same statistics"
        text = f"{tensor.variable or tensor.name} {what} at {where} captured steps{span}, {why}."
        evidence = Evidence(int(same[-1]), "l2", float(columns[_STATISTICS.index("l2"), stop - 1]))
        severity: Severity = "high" if has_gradient and tensor.is_kernel else "medium"
        if len(same) < MOSTLY * len(steps):
            severity = "low"  # a schedule that begins at 0, or gradients that are accumulated, do that
        yield Hit.at(same, len(steps), tensor, text, evidence, severity=severity)


def _kept_ends(view: RunView, kept: Array) -> list[Array]:
    """The first and the last of some kept values, float64; none if they cannot be read or compared."""
    if len(kept) < 2:
        return []
    ends = [value.astype(np.float64) for _, value in kept_values(view.run, kept[[0, -1]])]
    return ends if len(ends) == 2 and ends[0].shape == ends[1].shape else []


def longest_stretch(columns: Array, least: int, rtol: float, atol: float) -> tuple[int, int]:
    """(begin, stop) of the longest stretch of at least `least` columns that are close to its own first one,
    the latest of equals; (0, 0) without one. Stretches are told apart from the left: each begins where the
    one before ended. Close is as in `numpy.isclose`, NaN being equal.

    Args:
        columns: float64[statistics, snapshots].
    """
    count = columns.shape[1]
    begins = np.ones(max(count - least + 1, 0), np.bool_)
    for ahead in range(1, least):
        begins &= _close(columns[:, ahead : ahead + len(begins)], columns[:, : len(begins)], rtol, atol)
    best, at = (0, 0), 0
    starts = np.flatnonzero(begins)
    while (place := int(np.searchsorted(starts, at))) < len(starts):
        begin = int(starts[place])
        at, size = begin + least, least
        while at < count:  # in pieces that grow, so that a short stretch costs little
            piece = columns[:, at : at + size]
            far = np.flatnonzero(~_close(piece, columns[:, begin : begin + 1], rtol, atol))
            at += int(far[0]) if len(far) else piece.shape[1]
            if len(far):
                break
            size *= 2
        if at - begin >= best[1] - best[0]:
            best = (begin, at)
    return best


def _close(a: Array, b: Array, rtol: float, atol: float) -> Array:
    """Which columns of `a` are close to those of `b` in every statistic."""
    return np.logical_and.reduce(np.asarray(np.isclose(a, b, rtol, atol, equal_nan=True)))  # type: ignore[no-any-return]


@rule(
    "AllZero",
    "tensors that hold nothing but zeros",
    thresholds={"zeros": 1.0, "steps": 3},
    source="SageMaker Debugger",
    help="Look where the zeros begin: a dead activation, a mask, a disconnected branch, or an initializer.",
    next_look="The ledger of dead layers says why a gradient is zero.",
)
def all_zero(view: RunView, limits: Limits) -> Iterable[Hit]:
    rows = view.rows(view.of_kind("output", "gradient", "weight"))
    zeros = rows.share("zero")
    yield from hits(
        view,
        rows,
        zeros >= limits["zeros"],
        zeros,
        "share of zeros",
        limits["zeros"],
        share=0.9,
        least=int(limits["steps"]),
        text=lambda t, _: f"{_what(t)} is all zeros.",
        severity=lambda t: "high" if t.kind == "gradient" and t.is_kernel else None,
    )


def _what(tensor: TensorRole) -> str:
    names = {"gradient": f"The gradient of {tensor.variable}", "output": f"The output of {tensor.layer}"}
    return names.get(tensor.kind, tensor.variable) or tensor.name


@rule(
    "LargeWeights",
    "weights far from zero",
    thresholds={"abs_max": 5.0},
    severity="low",
    source="AutoTrainer",
    help="Weight decay, a lower learning rate, or a smaller initializer.",
)
def large_weights(view: RunView, limits: Limits) -> Iterable[Hit]:
    rows = view.rows([tensor for tensor in layer_weights(view) if tensor.is_kernel])
    yield from hits(
        view,
        rows,
        rows["abs_max"] > limits["abs_max"],
        rows["abs_max"],
        "abs max",
        limits["abs_max"],
        share=MOSTLY / 5,
        text=lambda t, value: f"{t.variable or t.name} reaches {value:.3g}.",
    )


WEIGHT_RULES = (poor_weight_init, weight_update_ratio, unchanged_tensor, all_zero, large_weights)
