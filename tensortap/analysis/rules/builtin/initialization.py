"""The rule about initial weights: whether the variance of each kernel fits its fan-in and fan-out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.text import counted, number_text

from ...model_graph.roles import TensorRole
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows, distinct
from ...run_view.trained_variables import trained_gradients
from ..finding import Evidence, Hit
from ..rule import Limits, rule
from ..variable_usage import is_factor, is_last_factor, is_lookup_table, kernel_fans
from .activations import share_beyond
from .weights import layer_weights

# Consequences of a kernel that starts too small or too large.
_FOLLOWS = ("ExplodingGradient", "VanishingGradient", "SaturatedActivation")
_MIN_ELEMENTS = 16  # with fewer elements the variance is unreliable
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The initial state of a kernel: its shape, fan-in and fan-out, and its variance at a step. Initializers
    choose a variance of 1 divided by the mean of fan-in and fan-out (Glorot & Bengio 2010), by one of them
    (LeCun; He et al. 2015: twice that), or by the larger one (orthogonal)."""

    tensor: TensorRole
    step: int
    variance: float
    shape: tuple[int, ...]
    fans: tuple[int, ...]

    @property
    def most(self) -> float:
        """The largest variance that fits."""
        return 1 / min(self.fans)

    @property
    def least(self) -> float:
        """The smallest variance that fits."""
        return 1 / max(self.fans)

    @property
    def above(self) -> float:
        """How many times the variance is the largest one."""
        return self.variance / self.most

    @property
    def below(self) -> float:
        """How many times the smallest one is the variance."""
        return self.least / self.variance


@rule(
    "PoorWeightInit",
    "initial weights with an unsuitable scale",
    thresholds={"variance_ratio": 10.0, "far": 100.0, "gradient_range": 1e-3, "steps": 10},
    source="SageMaker Debugger; scale by fan-in and fan-out: Glorot & Bengio 2010, He et al. 2015; far: "
    "tensortap",
    help="Use the initializer for the activation: HeNormal for ReLU, GlorotUniform for tanh and sigmoid.",
    next_look="Check the histograms of the weights and of the layer output at the first step.",
)
def poor_weight_init(view: RunView, limits: Limits) -> Iterable[Hit]:
    # Embeddings have no fan-in that sets a variance; frozen weights may not come from an initializer.
    kernels = [tensor for tensor in layer_weights(view) if _is_initialised(view, tensor)]
    first = _first_steps(view, "weights", kernels, limits)
    begins = [int(steps[0]) for tensor in kernels if len(steps := first.of(tensor.code))]
    if not begins:
        return
    # Trained weights do not show their initial values.
    scales = _scales(view, _rows_at(view, kernels, min(begins)))
    large = [scale for scale in scales if scale.above > limits["variance_ratio"]]
    small = [scale for scale in scales if scale.below > limits["variance_ratio"]]
    if large:
        yield _hit(max(large, key=lambda scale: scale.above), len(large), limits)
    # Heads that begin near 0 are expected, mostly.
    small = [
        scale for scale in small if not is_last_factor(view.roles(scale.tensor.graph), scale.tensor.variable)
    ]
    narrow = next(_narrow_gradients(view, limits), None) if small else None
    if narrow is None:  # none the worse for it: a residual connection, or a normalization
        small = [scale for scale in small if scale.below > limits["far"]]
    if small:
        yield _hit(max(small, key=lambda scale: scale.below), len(small), limits, narrow)


def _is_initialised(view: RunView, tensor: TensorRole) -> bool:
    roles, variable = view.roles(tensor.graph), tensor.variable
    if not tensor.is_kernel or roles.trainable.get(variable) is False:
        return False
    return is_factor(roles, variable) and not is_lookup_table(roles, variable)


def _hit(scale: _Scale, count: int, limits: Limits, narrow: TensorRole | None = None) -> Hit:
    ratio, fits = max((scale.above, number_text(scale.most)), (scale.below, number_text(scale.least)))
    times = f"{number_text(ratio)} times" if scale.above > 1 else f"1/{number_text(ratio)} of"
    text = (
        f"The variance of {scale.tensor.variable} is {number_text(scale.variance)} at step {scale.step}, "
        f"{times} the expected value for shape {'×'.join(map(str, scale.shape))} ({fits})"
    )
    if narrow is not None:
        span = limits["gradient_range"]
        text += f", and 90 % of the first gradients of {narrow.variable} are within {span:g}"
    text += f". The same applies to {counted(count - 1, 'more kernel')}." if count > 1 else "."
    evidence = Evidence(scale.step, "variance ratio", ratio, limits["variance_ratio"])
    hit = Hit.at(np.array([scale.step]), 1, scale.tensor, text, evidence)
    return replace(hit, explains=_FOLLOWS)


def _scales(view: RunView, rows: SnapshotRows) -> list[_Scale]:
    """First snapshot of each tensor at a step; tensors of few or equal numbers are skipped."""
    shapes, codes = view.run.catalog.shapes.values, view.run.catalog.column("shape", rows.rows)
    variance = rows["std"] ** 2
    found = []
    for at in rows.starts.tolist():
        shape, spread = shapes[int(codes[at])], float(variance[at])
        if len(shape) > 1 and math.prod(shape) >= _MIN_ELEMENTS and math.isfinite(spread) and spread > 0:
            tensor, step = view.tensors[int(rows.tensor[at])], int(rows.step[at])
            found.append(_Scale(tensor, step, spread, shape, kernel_fans(view, tensor, shape)))
    return found


def _narrow_gradients(view: RunView, limits: Limits) -> Iterator[TensorRole]:
    """Gradients of kernels with 90 % of the elements within a narrow range, at the first steps."""
    half = limits["gradient_range"] / 2
    kernels = [tensor for tensor in trained_gradients(view) if tensor.is_kernel]
    known = _first_steps(view, ("gradients", half), kernels, limits)
    for tensor in kernels:
        first = known.of(tensor.code)
        if len(first) and tensor.code not in known.results:
            _, beyond = share_beyond(view, tensor, -half, half, until=int(first[-1]))
            if len(beyond):
                known.results[tensor.code] = bool(np.median(beyond) < 0.1)  # 5 % at either end
        if known.results.get(tensor.code):
            yield tensor


def _first_steps(view: RunView, of: Hashable, tensors: list[TensorRole], limits: Limits) -> FirstSteps:
    most = int(limits["steps"])
    return view.incremental(("PoorWeightInit", of, most), lambda: FirstSteps(most), tensors, FirstSteps.add)


def _rows_at(view: RunView, tensors: list[TensorRole], step: int) -> SnapshotRows:
    """The snapshots of some tensors at a step."""
    rows = view.rows_at(step, floats=True)
    wanted = np.zeros(len(view.tensors), np.bool_)
    wanted[[tensor.code for tensor in tensors]] = True
    return rows.part(wanted[rows.tensor])


class FirstSteps:
    """The first steps of each tensor, ascending, up to a maximum number.

    Attributes:
        results: by tensor, what callers computed of its snapshots up to the last of these steps; removed when
            more snapshots come there.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._steps: dict[int, Array] = {}
        self.results: dict[int, Any] = {}

    def of(self, code: int) -> Array:
        """The first steps of a tensor."""
        return self._steps.get(code, _NONE)

    def forget(self, code: int) -> None:
        """Drop the state of a tensor."""
        self._steps.pop(code, None)
        self.results.pop(code, None)

    def add(self, rows: SnapshotRows) -> None:
        """Adds snapshots, of each tensor behind those that were added before."""
        for code, part in rows.groups():
            known = self.of(code)
            if len(known) < self._most or rows.step[part.start] <= known[-1]:
                self._steps[code] = distinct(np.append(known, rows.step[part]))[: self._most]
                self.results.pop(code, None)
