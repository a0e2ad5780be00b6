"""Rules about gradients: vanishing, exploding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.text import number_text

from ...model_graph.roles import TensorRole
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows
from ...run_view.trained_variables import changes, trained_gradients
from ..finding import Evidence, Hit, Severity
from ..rule import MOSTLY, Limits, incremental_hits, rule
from ..variable_usage import is_lookup_table
from .losses import has_converged

SPIKE = 10.0  # times the limit: an explosion that worries at a single step, too


def _for_kernels(tensor: TensorRole) -> Severity | None:
    """Gradients of biases before a normalization, and of attention keys' biases, are zero by mathematics."""
    return None if tensor.is_kernel else "low"


@rule(
    "VanishingGradient",
    "gradients too small to train with",
    thresholds={"mean_abs": 1e-7, "first_last_ratio": 1e-3, "first_norm": 1e-4},
    severity="high",
    source="mean_abs: SageMaker Debugger (MindInsight: 1e-9); first_last_ratio, first_norm: AutoTrainer",
    help="Use ReLU-like activations, residual connections, normalization layers, or He initialization.",
    next_look="Compare the gradients layer by layer: where in the backward pass do they shrink?",
)
def vanishing_gradient(view: RunView, limits: Limits) -> Iterable[Hit]:
    def measure(rows: SnapshotRows) -> tuple[Array, Array]:
        bound = _mean_abs_bound(rows)
        return (bound < limits["mean_abs"]) & (rows["abs_max"] > 0), bound

    found = incremental_hits(
        view,
        ("VanishingGradient", limits["mean_abs"]),
        trained_gradients(view),
        measure,
        "upper bound of the mean absolute value",
        limits["mean_abs"],
        share=MOSTLY,
        least=2,
        low=True,
        text=lambda t, value: (
            f"The gradient of {t.variable or t.name} is {number_text(value)} "
            "(upper bound of the mean absolute value)."
        ),
        severity=_for_kernels,
    )
    for hit in found:
        tensor = view.tensors[hit.tensor]
        if has_converged(view, tensor.graph, hit.first_step):
            yield replace(hit, severity="low", help=_CONVERGED)
            continue
        if hit.severity == "low":
            yield replace(hit, help=_OF_BIAS)
            continue
        if _last_size(view, tensor.graph) < limits["mean_abs"]:
            moves = any(
                changes(view, weight)
                for weight in view.of_kind("weight")
                if (weight.graph, weight.variable) == (tensor.graph, tensor.variable)
            )
            has_adam = any("adam" in name.lower() for name in view.roles(tensor.graph).graph.names)
            advice = _OF_SMALL_LOSS + _EPSILON * has_adam
            hit = replace(hit, severity="medium" if moves else hit.severity, help=advice)
        yield _beside_earlier(view, hit, limits["mean_abs"])
    for first, last, steps, one, other in _ends(view, most_of_first=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = one / other
        fired = (ratio < limits["first_last_ratio"]) & (one < limits["first_norm"]) & (one > 0)
        for hit in _ratio_hit(first, last, steps, ratio, fired, limits["first_last_ratio"], low=True):
            yield _beside_earlier(view, hit, limits["mean_abs"])


def _beside_earlier(view: RunView, hit: Hit, mean_abs: float) -> Hit:
    """The hit; of low severity if a variable that the forward pass reads before, such as an embedding, gets
    gradients."""
    tensor = view.tensors[hit.tensor]
    before, size = _earliest(view, tensor.graph)
    if before is None or before is tensor or size < _ARRIVES * mean_abs:
        return hit
    text = f"{hit.text[:-1]}; that of {before.variable}, of an earlier layer, is {number_text(size)}."
    return replace(hit, severity="low", text=text, help=_LOCAL)


def _mean_abs_bound(rows: SnapshotRows) -> Array:
    """The mean of absolute values is not in a summary, but never above this (Cauchy-Schwarz)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rows["l2"] * np.sqrt(rows["negative"] + rows["positive"]) / rows.finite)


def _earliest(view: RunView, graph: str) -> tuple[TensorRole | None, float]:
    """The gradient of the variable that the forward pass reads first, and the median of its mean of absolute
    values (at most): whether gradients arrive there."""

    def find() -> tuple[TensorRole | None, float]:
        read = _reading_order(view, graph)
        tensors = [t for t in trained_gradients(view) if t.graph == graph and t.variable in read]
        first = min(tensors, key=lambda tensor: read[tensor.variable], default=None)
        rows = view.rows([first]) if first is not None else None
        return first, float(np.median(_mean_abs_bound(rows))) if rows is not None and len(rows) else 0.0

    return view.cached(f"earliest gradient of {graph}", find)


def _last_size(view: RunView, graph: str) -> float:
    """The median of the mean of absolute values (at most) of the last layer's gradient."""
    rows = view.rows(_in_forward_order(view, graph)[-1:])
    return float(np.median(_mean_abs_bound(rows))) if len(rows) else np.inf


_ARRIVES = 100.0  # times the limit: a gradient before it that is larger has not vanished
_OF_BIAS = (
    "No fix is needed for a bias before a normalization or for the key bias of attention: their "
    "gradient is always zero. You can remove it (use_bias=False)."
)
_LOCAL = (
    "Often no fix is needed: earlier layers get gradients through another path, and uniform "
    "attention gives queries and keys small ones. If it lasts, look for a saturated activation in "
    "this branch."
)
_OF_SMALL_LOSS = (
    "The last layer gets a gradient as small: it does not vanish on the way. Check the scale of the loss, "
    "and the last activation."
)
_EPSILON = " Beside such gradients Adam's epsilon (1e-7) is not small."
_CONVERGED = (
    "No fix is needed: the loss has fallen to less than a millionth of its largest value, and the "
    "gradients with it."
)


@rule(
    "ExplodingGradient",
    "gradients that grow towards the first layer",
    thresholds={"first_last_ratio": 70.0},
    severity="high",
    source="AutoTrainer",
    help="Clip gradients (clipnorm=1.0), lower the learning rate, or use gated or normalized recurrent "
    "layers.",
    next_look="Compare the gradients layer by layer: where in the backward pass do they grow?",
)
def exploding_gradient(view: RunView, limits: Limits) -> Iterable[Hit]:
    for first, last, steps, one, other in _ends(view):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = one / other
        fired = (ratio > limits["first_last_ratio"]) & (other > 0)
        yield from _ratio_hit(first, last, steps, ratio, fired, limits["first_last_ratio"], low=False)


_FIRST = 4  # This fraction of the kernels counts as the first layers.


def _ends(
    view: RunView, *, most_of_first: bool = False
) -> Iterator[tuple[TensorRole, TensorRole, Array, Array, Array]]:
    """For each graph: gradients of the first and last trained kernel in the forward pass, the steps with both
    captured, and their L2 norms.

    Args:
        most_of_first: of the first quarter of the kernels, the largest norm instead: what one branch of a
            block gets (the queries of an attention) gives no information about what arrives at the block.
    """
    for graph in sorted({tensor.graph for tensor in view.of_kind("gradient")}):
        kernels = _in_forward_order(view, graph)
        if len(kernels) < 2:
            continue
        firsts = kernels[: max(1, len(kernels) // _FIRST)] if most_of_first else kernels[:1]
        found = []
        for _, rows in view.each((*firsts, kernels[-1])):
            last_visit = np.append(rows.step[1:] != rows.step[:-1], True)[: len(rows)]
            found.append((rows.step[last_visit], rows["l2"][last_visit]))
        (steps, one), (last_steps, last) = found[0], found[-1]
        for more_steps, more in found[1:-1]:
            steps, left, right = np.intersect1d(steps, more_steps, return_indices=True)
            one = np.maximum(one[left], more[right])
        steps, left, right = np.intersect1d(steps, last_steps, return_indices=True)
        yield kernels[0], kernels[-1], steps, one[left], last[right]


def _in_forward_order(view: RunView, graph: str) -> list[TensorRole]:
    """Gradients of kernels; all as the backward pass computes them or all changed since, so that their sizes
    can be compared."""
    roles, read = view.roles(graph), _reading_order(view, graph)
    # Of a table only the rows of a batch get a gradient.
    kernels = [
        tensor
        for tensor in trained_gradients(view)
        if tensor.graph == graph and tensor.is_kernel and tensor.variable in read
        if not is_lookup_table(roles, tensor.variable)
    ]
    computed = [tensor for tensor in kernels if tensor.backward]
    changed = [tensor for tensor in kernels if not tensor.backward]  # clipped, or without the loss scale
    most = max(changed, computed, key=len)
    return sorted(most, key=lambda tensor: read[tensor.variable])


def _reading_order(view: RunView, graph: str) -> dict[str, int]:
    """Path of each weight -> where the forward pass first uses it."""
    roles = view.roles(graph)
    read: dict[str, int] = {}
    for row in roles.of_kind("weight"):
        path = roles.variable.get(row, "")
        read[path] = min(read.get(path, 2**31), int(roles.graph.order[_used(view, graph, row)]))
    return read


def _used(view: RunView, graph: str, row: int) -> int:
    """The first node of the forward pass that uses a variable. The read itself has no inputs, so its position
    gives no information."""
    roles = view.roles(graph)
    users = [user for user in roles.consumers(row) if not roles.is_backward(user)]
    return min(users, key=lambda user: int(roles.graph.order[user]), default=row)


def _ratio_hit(
    first: TensorRole, last: TensorRole, steps: Array, ratio: Array, fired: Array, limit: float, *, low: bool
) -> Iterator[Hit]:
    count = int(np.count_nonzero(fired))
    lasting = count >= MOSTLY * len(steps)
    if not count or (low and not lasting):
        return
    spike = not low and float(ratio[fired].max()) > SPIKE * limit
    worst = int(np.argmin(np.where(fired, ratio, np.inf)) if low else np.argmax(np.where(fired, ratio, 0.0)))
    text = (
        f"The gradient of the first layer ({first.variable}) is {number_text(ratio[worst])} times "
        f"that of the last ({last.variable})."
    )
    evidence = Evidence(int(steps[worst]), "first/last gradient norm", float(ratio[worst]), limit)
    severity: Severity | None = None if lasting or spike else "medium"
    yield Hit.at(steps[fired], len(steps), first, text, evidence, severity=severity)
