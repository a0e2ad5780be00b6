"""Rules about activations: dead ReLUs, saturated sigmoids and tanhs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import TensortapError
from tensortap.core.text import number_text
from tensortap.index.query.step_range import StepRange
from tensortap.index.series.histograms import histograms

from ...model_graph.op_types import REPLACING, SHAPES, constant_number, ops
from ...model_graph.roles import Roles, Slot, TensorRole
from ...run_view.hit_counts import hit_counts_of, snapshot_counts_of
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows, distinct, stored_values
from ..finding import Evidence, Hit, Severity
from ..rule import MOSTLY, Limits, incremental_hits, rule
from .losses import is_fitted

_RELUS = ("Relu", "Relu6")
# Their output is 0 where their first input is.
_KEEP_ZEROS = ops(
    "AvgPool AvgPool3D ExpandDims Identity Max MaxPool MaxPool3D Mean Reshape Squeeze Transpose"
)
_HIDE_NAN = REPLACING | SHAPES | ops("ArgMax ArgMin Relu Relu6")
_MAX_NODES = 500  # that are searched for NaN
_NEARLY_ALL = 0.9  # of the units: with more left, a model may still learn
_LOOKED_INTO = 8  # stored values of one tensor that are read, the latest
_HISTOGRAMS = 100  # of one tensor, evenly thinned


def _how_many(share: float) -> str:
    return "None" if share == 0 else f"Only {share:.2%}" if share >= 5e-5 else "Fewer than 0.01%"


def _dead(view: RunView, hit: Hit) -> str:
    """The share of the step with the fewest active elements; others may have more."""
    worst, name = hit.evidence[0], view.tensors[hit.tensor].name
    return f"{_how_many(worst.value)} of the elements of {name} are above 0 at step {worst.step}."


@rule(
    "DeadRelu",
    "ReLU units that are almost never active",
    title="Dead ReLU units",
    thresholds={"active": 0.01, "layer_share": 0.5},
    severity="high",
    source="SageMaker Debugger",
    help="Lower the learning rate, start biases at 0 or above, use LeakyReLU or GELU, or normalize the "
    "inputs.",
    next_look="Check the input of the ReLU: its histogram over steps shows when it went below 0.",
)
def dead_relu(view: RunView, limits: Limits) -> Iterable[Hit]:
    relus = view.where(lambda t: t.op_type in _RELUS and not t.backward)
    # If so few elements are positive, units must be dead, for any values.
    certain = limits["active"] * (1 - limits["layer_share"])
    found = list(
        incremental_hits(
            view,
            ("DeadRelu", certain),
            relus,
            lambda rows: (_active(rows) < certain, _active(rows)),
            "share of active elements",
            certain,
            share=MOSTLY,
            low=True,
        )
    )
    found = [replace(hit, text=_dead(view, hit)) for hit in found]
    found = [each for hit in found for each in _not_from_nan(view, hit)]
    for hit in found:  # a ReLU in a hinge loss that is mostly 0 has done its work
        fitted = is_fitted(view, view.tensors[hit.tensor].graph, hit.first_step, MOSTLY)
        yield replace(hit, severity="low") if fitted else hit
    known = {hit.tensor for hit in found}
    possible = limits["layer_share"] * limits["active"] + 1 - limits["layer_share"]
    whole = hit_counts_of(view, "whole ReLUs", relus, lambda rows: (~np.isnan(_active(rows)), _active(rows)))
    little = hit_counts_of(
        view, ("little active", possible), relus, lambda rows: (_active(rows) <= possible, _active(rows))
    )
    for code, active in sorted(little.by_tensor.items()):
        kept = view.run.catalog.tensors.kept.of(code)
        if code not in known and kept and active.rows >= MOSTLY * whole.by_tensor[code].rows:
            units = _dead_units(view, view.tensors[code], view.rows([view.tensors[code]]), limits)
            yield from (each for hit in units for each in _not_from_nan(view, hit))


def _not_from_nan(view: RunView, hit: Hit) -> Iterator[Hit]:
    """The hit, unless NaN made the zeros; if nothing before the ReLU was captured, it says that NaN may."""
    nan = takes_nan(view, hit)
    if not nan:
        yield hit if nan is not None else replace(hit, next_look=_NOT_CAPTURED)


_NOT_CAPTURED = "Capture the input of the ReLU: it was not captured, and a ReLU gives 0 for NaN, too."


def takes_nan(view: RunView, hit: Hit) -> bool | None:
    """Whether the input of a ReLU is NaN when its output, or what pooling or reshaping makes of it, is first
    0: TensorFlow's ReLU returns 0 for NaN. If it was not captured, the nearest captured tensors before it
    decide, as sums and products of NaN are NaN; None if there are none."""
    tensor = view.tensors[hit.tensor]
    if tensor.row < 0:
        return False
    roles, row = view.roles(tensor.graph), tensor.row
    inputs = roles.inputs(row)
    while inputs and roles.graph.op_type[row] in _KEEP_ZEROS:
        row = inputs[0][0]
        inputs = roles.inputs(row)
    if not inputs or roles.graph.op_type[row] not in _RELUS:
        return False
    waiting, seen, known = [inputs[0][:2]], set[Slot](), False
    while waiting and len(seen) < _MAX_NODES:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        source = view.tensor_at(tensor.graph, place)
        if source is None:
            hides = roles.graph.op_type[place[0]] in _HIDE_NAN
            waiting += [] if hides else [each[:2] for each in roles.inputs(place[0])]
            continue
        known, rows = True, view.rows([source])
        if (rows["nan"][rows.step == hit.first_step] > 0).any():
            return True
    return False if known else None


def _active(rows: SnapshotRows) -> Array:
    """The share of active elements; NaN if a NaN is among them, because then it is unknown."""
    return np.where(rows.finite == rows["size"], rows.share("positive"), np.nan)


def _dead_units(view: RunView, tensor: TensorRole, rows: SnapshotRows, limits: Limits) -> Iterator[Hit]:
    """Checks the last stored values: a unit is a position of the last dimension."""
    shares, steps, samples = [], [], 0
    finite = rows.finite == rows["size"]
    for snapshot, value in stored_values(view.run, rows.rows[finite & rows.kept][-_LOOKED_INTO:]):
        if value.ndim > 1 and value.shape == snapshot.shape:
            shares.append((value.reshape(-1, value.shape[-1]) > 0).mean(axis=0))
            steps.append(snapshot.step)
            samples += value.size // max(value.shape[-1], 1)
    if len(shares) < 2 or len({len(share) for share in shares}) > 1 or samples * limits["active"] < 1:
        return  # of so few samples a unit that is active enough may miss all
    active = np.mean(shares, axis=0)
    dead = active < limits["active"]
    if dead.mean() > limits["layer_share"]:
        text = f"{int(dead.sum())} of {len(dead)} units of {tensor.name} are almost never active."
        evidence = Evidence(steps[-1], "share of dead units", float(dead.mean()), limits["layer_share"])
        at = distinct(np.array(steps))
        of = view.run.catalog.tensors.kept.of(tensor.code)
        looked_at = f"checked values, of {of:,} stored"
        severity: Severity | None = None if dead.mean() >= _NEARLY_ALL else "medium"
        hit = Hit.at(at, len(at), tensor, text, evidence, severity=severity, looked_at=looked_at)
        yield replace(hit, explains=("LossNotDecreasing", "DeadGradient", "VanishingGradient"))


@rule(
    "SaturatedActivation",
    "saturated sigmoid or tanh units",
    thresholds={"tanh": 9.4999, "sigmoid_low": -23.0, "sigmoid_high": 16.99999, "layer_share": 0.5},
    severity="high",
    source="SageMaker Debugger",
    help="Normalize inputs, use smaller initial weights, add normalization layers, or lower the "
    "learning rate.",
    next_look="Check the input of the activation: its histogram over steps shows its range.",
)
def saturated_activation(view: RunView, limits: Limits) -> Iterable[Hit]:
    pairs = list(_activations(view))
    ends = ((limits["sigmoid_low"], limits["sigmoid_high"]), (-limits["tanh"], limits["tanh"]))
    beyond_at_all = [
        _beyond(view, [source for each, source in pairs if (each.op_type == "Tanh") is tanh], *end)
        for tanh, end in zip((False, True), ends, strict=True)
    ]
    for activation, source in pairs:
        tanh = activation.op_type == "Tanh"
        low, high = ends[tanh]
        if source.code not in beyond_at_all[tanh]:
            continue  # saves reading histograms
        steps, beyond = share_beyond(view, source, low, high)
        fired = beyond > limits["layer_share"]
        if len(steps) and fired.sum() >= max(1, MOSTLY * len(steps)):
            worst = int(np.argmax(beyond))
            text = f"{beyond[worst]:.0%} of the inputs of {activation.name} are outside {low:g}…{high:g}."
            share = float(beyond[worst])
            evidence = Evidence(int(steps[worst]), "share saturated", share, limits["layer_share"])
            of, captured = len(distinct(steps)), snapshot_counts_of(view).steps(source.code)
            looked_at = f"histograms, sampled evenly from {captured:,} steps" if of < captured else ""
            yield Hit.at(distinct(steps[fired]), of, activation, text, evidence, looked_at=looked_at)


def _beyond(view: RunView, sources: list[TensorRole], low: float, high: float) -> set[int]:
    """Codes of the tensors that ever had an element outside `low … high`."""

    def measure(rows: SnapshotRows) -> tuple[Array, Array]:
        return (rows["max"] > high) | (rows["min"] < low), rows["abs_max"]

    return set(hit_counts_of(view, ("SaturatedActivation", low, high), sources, measure).by_tensor)


def _activations(view: RunView) -> Iterator[tuple[TensorRole, TensorRole]]:
    """Sigmoid and tanh nodes of the forward pass, each with its captured input."""
    for tensor in view.where(lambda t: t.op_type in ("Tanh", "Sigmoid") and not t.backward):
        inputs = view.roles(tensor.graph).inputs(tensor.row)
        source = view.tensor_at(tensor.graph, inputs[0][:2]) if inputs else None
        if source is not None:
            yield tensor, source


def share_beyond(
    view: RunView, tensor: TensorRole, low: float, high: float, until: int | None = None
) -> tuple[Array, Array]:
    """(steps, share of the finite elements outside `low … high`) from histograms: a bucket that a limit cuts
    counts in part, evenly. `until`: the last step that is checked."""
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


@rule(
    "HighDropout",
    "a dropout rate close to 1",
    thresholds={"rate": 0.8, "high": 0.9},
    severity="medium",
    source="tensortap: the rate in the graph; Srivastava et al. 2014 use 0.2 to 0.5",
    help="Lower the rate: it is the share of elements to drop, not to keep.",
    next_look="Check the rate of the layer and the % zeros of its output.",
)
def high_dropout(view: RunView, limits: Limits) -> Iterable[Hit]:
    for graph in sorted({tensor.graph for tensor in view.of_kind("gradient")}):
        roles = view.roles(graph)
        for row in range(len(roles.graph)):
            name = roles.graph.names[row]
            if roles.graph.op_type[row] != "GreaterEqual" or "dropout/" not in name or roles.is_backward(row):
                continue
            bounds = [source for source, _, position in roles.inputs(row) if position == 1]
            rate = constant_number(roles.attributes(bounds[0])) if bounds else None
            if rate is not None and rate >= limits["rate"]:
                yield from _dropped(view, roles, row, rate, limits)


def _dropped(view: RunView, roles: Roles, row: int, rate: float, limits: Limits) -> Iterable[Hit]:
    outputs = set(roles.consumers(row))
    mine = [tensor for tensor in view.tensors if tensor.graph == roles.graph.id]
    tensor = next((t for t in mine if t.row in outputs), None) or next(
        (t for t in mine if t.kind == "loss"), None
    )
    rows = view.rows([tensor] if tensor else [])
    if tensor is not None and len(rows):
        layer = roles.graph.layer[row] or roles.graph.names[row].rpartition("/")[0]
        text = f"{layer} drops {number_text(rate)} of its input at each training step."
        severity: Severity | None = "high" if rate >= limits["high"] else None
        evidence = Evidence(int(rows.step[0]), "dropout rate", rate, limits["rate"])
        yield Hit.at(rows.steps, len(rows.steps), tensor, text, evidence, severity=severity)
