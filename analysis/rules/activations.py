"""Rules about activations: dead ReLUs, saturated sigmoids and tanhs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tensortap.dump import TensortapError
from tensortap.index import StepRange, histograms

from ..kept_values import kept_values
from ..rows import Rows, distinct
from ..view import RunView, TensorRole
from .finding import Evidence, Hit
from .gradients import MOSTLY
from .rule import Limits, hits, rule

Array = np.ndarray[Any, np.dtype[Any]]
_LOOKED_INTO = 8  # kept values of one tensor that are read, the latest
_HISTOGRAMS = 100  # of one tensor, evenly thinned


@rule(
    "DeadRelu",
    "ReLU units that hardly ever fire",
    thresholds={"active": 0.01, "layer_share": 0.5},
    severity="high",
    source="SageMaker Debugger",
    help="A lower learning rate, a bias that starts at 0 or above, LeakyReLU or GELU, or normalised inputs.",
    next_look="The input of the ReLU: its histogram over steps shows when it went below 0.",
)
def dead_relu(view: RunView, limits: Limits) -> Iterable[Hit]:
    relus = view.where(lambda t: t.op_type in ("Relu", "Relu6") and not t.backward)
    rows = view.rows(relus)
    active = np.where(rows.finite == rows["size"], rows.share("positive"), np.nan)
    # If so few elements are positive, that many units must be dead, whatever the values are.
    certain = active < limits["active"] * (1 - limits["layer_share"])
    found = list(
        hits(
            view,
            rows,
            certain,
            active,
            "share of active elements",
            limits["active"],
            share=MOSTLY,
            low=True,
            text=lambda t, value: f"Only {value:.2%} of the elements of {t.name} are above 0.",
        )
    )
    yield from found
    known = {hit.tensor for hit in found}
    possible = limits["layer_share"] * limits["active"] + 1 - limits["layer_share"]
    for code, part in rows.groups():
        whole = active[part][~np.isnan(active[part])]  # a step with NaN says nothing about who fires
        if code not in known and len(whole) and np.median(whole) <= possible:
            yield from _dead_units(view, view.tensors[code], rows.part(part), limits)


def _dead_units(view: RunView, tensor: TensorRole, rows: Rows, limits: Limits) -> Iterator[Hit]:
    """Looks into the last kept values: a unit is a position of the last dimension."""
    shares, steps = [], []
    finite = rows.finite == rows["size"]
    for snapshot, value in kept_values(view.run, rows.rows[finite & rows.kept][-_LOOKED_INTO:]):
        if value.ndim > 1 and value.shape == snapshot.shape:
            shares.append((value.reshape(-1, value.shape[-1]) > 0).mean(axis=0))
            steps.append(snapshot.step)
    if len(shares) < 2 or len({len(share) for share in shares}) > 1:
        return
    active = np.mean(shares, axis=0)
    dead = active < limits["active"]
    if dead.mean() > limits["layer_share"]:
        text = f"{int(dead.sum())} of {len(dead)} units of {tensor.name} hardly ever fire."
        evidence = Evidence(steps[-1], "share of dead units", float(dead.mean()), limits["layer_share"])
        at = distinct(np.array(steps))
        yield Hit.at(at, len(at), tensor, text, evidence)


@rule(
    "SaturatedActivation",
    "sigmoid or tanh units that are stuck at an end",
    thresholds={"tanh": 9.4999, "sigmoid_low": -23.0, "sigmoid_high": 16.99999, "layer_share": 0.5},
    severity="high",
    source="SageMaker Debugger",
    help="Normalised inputs, smaller initial weights, normalization layers, or a lower learning rate.",
    next_look="The input of the activation: its histogram over steps shows how far out it lies.",
)
def saturated_activation(view: RunView, limits: Limits) -> Iterable[Hit]:
    for activation, source in _activations(view):
        tanh = activation.op_type == "Tanh"
        low = -limits["tanh"] if tanh else limits["sigmoid_low"]
        high = limits["tanh"] if tanh else limits["sigmoid_high"]
        rows = view.rows([source])
        if not len(rows) or not np.any((rows["max"] > high) | (rows["min"] < low)):
            continue  # saves reading histograms
        steps, beyond = share_beyond(view, source, low, high)
        fired = beyond > limits["layer_share"]
        if len(steps) and fired.sum() >= max(1, MOSTLY * len(steps)):
            worst = int(np.argmax(beyond))
            text = f"{beyond[worst]:.0%} of the inputs of {activation.name} lie outside {low:g}…{high:g}."
            share = float(beyond[worst])
            evidence = Evidence(int(steps[worst]), "share saturated", share, limits["layer_share"])
            yield Hit.at(distinct(steps[fired]), len(distinct(steps)), activation, text, evidence)


def _activations(view: RunView) -> Iterator[tuple[TensorRole, TensorRole]]:
    """Sigmoid and tanh nodes of the forward pass, each with its captured input."""
    by_place = {(t.graph, t.row, t.slot): t for t in view.tensors if t.row >= 0}
    for tensor in view.where(lambda t: t.op_type in ("Tanh", "Sigmoid") and not t.backward):
        inputs = view.roles(tensor.graph).inputs(tensor.row)
        source = by_place.get((tensor.graph, *inputs[0][:2])) if inputs else None
        if source is not None:
            yield tensor, source


def share_beyond(
    view: RunView, tensor: TensorRole, low: float, high: float, until: int | None = None
) -> tuple[Array, Array]:
    """(steps, share of the finite elements outside `low … high`) from histograms: a bucket that a limit cuts
    counts in part, evenly. `until`: the last step that is looked at."""
    steps = None if until is None else StepRange(0, until + 1)
    try:
        series = histograms(view.run, tensor.name, graph=tensor.graph, steps=steps, limit=_HISTOGRAMS)
    except (TensortapError, OSError):
        return np.zeros(0, np.int64), np.zeros(0)
    left, right = np.asarray(series.edges[:-1]), np.asarray(series.edges[1:])
    counts = np.asarray(series.counts, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        width = right - left
        above = np.clip((right - high) / width, 0, 1)
        below = np.clip((low - left) / width, 0, 1)
        share = (counts * (above + below)).sum(axis=1) / counts.sum(axis=1)
    return np.asarray(series.step), np.nan_to_num(share)


ACTIVATION_RULES = (dead_relu, saturated_activation)
