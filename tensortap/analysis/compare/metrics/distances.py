"""How far two tensors are apart: every metric by its usual name, and the tolerance for equal ones.

Formulas are those of ONNX Runtime's, Polygraphy's and msprobe's comparisons; `a` is the reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array

from .ulp import common_dtype, equal_elements, subtracted, ulp_distance

NAN = math.nan
_SMALLEST, _LARGEST = 1e-140, 1e140  # magnitudes with squares in the range of float64
_OF_ZERO = 2.0**-52  # replaces |a| = 0 in `max_either`, as in Polygraphy


@dataclass(frozen=True, slots=True)
class Metrics:
    """Distances between a tensor of A and one of B. NaN: unknown, or undefined (a cosine of zeros).

    From values, over the elements that are finite in both; from summaries (see `Bounds`) `max_abs`,
    `rmse`, `l2` and what follows from them are lower bounds.

    Attributes:
        scale: largest magnitude in A or B. max_abs, mean_abs, rmse, l2: of A - B, in the tensor's own unit.
        max_rel, mean_rel: |a - b| / |a| where a is not 0. max_either: the largest over the elements of the
        smaller one of |a - b| and |a - b| / |a|: what Polygraphy tests. relative: max_abs / scale.
        cosine: of the flattened tensors. sqnr: 10 log10(sum a^2 / sum (a - b)^2), dB. psnr: of the range of A
        and the RMSE, dB. pass_1, pass_01, pass_001: share of elements with |a - b| <= 1 %, 0.1 %, 0.01 %
        of |a|. close: 1 if allclose(rtol 1e-5, atol 1e-8). max_ulp, mean_ulp: in the coarser dtype;
        ulp_1, ulp_32: share of elements farther apart than 1 and 32 ULP. kl: Kullback-Leibler divergence of
        the histograms, nats. nonfinite_a: elements that are NaN or infinite only in A; nonfinite_b: in B,
        and not the same in A. differing: share of elements that are not equal.
    """

    scale: float = NAN
    max_abs: float = NAN
    mean_abs: float = NAN
    max_rel: float = NAN
    mean_rel: float = NAN
    max_either: float = NAN
    relative: float = NAN
    rmse: float = NAN
    l2: float = NAN
    cosine: float = NAN
    sqnr: float = NAN
    psnr: float = NAN
    pass_1: float = NAN
    pass_01: float = NAN
    pass_001: float = NAN
    close: float = NAN
    max_ulp: float = NAN
    mean_ulp: float = NAN
    ulp_1: float = NAN
    ulp_32: float = NAN
    kl: float = NAN
    nonfinite_a: int = 0
    nonfinite_b: int = 0
    differing: float = NAN

    @property
    def nonfinite_mismatches(self) -> int:
        """Elements that are NaN or infinite on one side only, or differently; they count as further apart
        than finite ones."""
        return self.nonfinite_a + self.nonfinite_b


METRICS = tuple(Metrics.__dataclass_fields__)
LOWER_IS_WORSE = ("cosine", "sqnr", "psnr", "pass_1", "pass_01", "pass_001", "close")
LARGEST_DISTANCE = ("max_abs", "relative")  # no number where an element is NaN or infinite on one side only
OF_FINITE = tuple(
    name for name in METRICS if name not in ("scale", "kl", "nonfinite_a", "nonfinite_b", "differing")
)


def of_values(a: Array, b: Array, dtype_a: str, dtype_b: str) -> Metrics:
    """The metrics of two arrays of equal shape; of text, only `differing`."""
    if a.dtype == object or b.dtype == object:
        return Metrics(differing=float(np.mean(a != b)) if a.size else 0.0)
    if "c" in (a.dtype.kind, b.dtype.kind):
        a, b = _reals(a), _reals(b)
    a, b = _flat(a), _flat(b)
    if a.dtype == b.dtype and np.array_equal(a.view(np.uint8), b.view(np.uint8)):
        return _of_identical(a)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    finite_a, finite_b = np.isfinite(wide_a), np.isfinite(wide_b)
    same = equal_elements(a, b)
    both = finite_a & finite_b
    if not both.all():
        a, b, wide_a, wide_b = a[both], b[both], wide_a[both], wide_b[both]
    distance = ulp_distance(a, b, common_dtype(dtype_a, dtype_b))
    return Metrics(
        **_of_finite(wide_a, wide_b, np.abs(subtracted(a, b))),
        **_of_ulp(distance),
        nonfinite_a=int(np.count_nonzero(finite_b & ~finite_a)),
        nonfinite_b=int(np.count_nonzero(~finite_b & ~same)),
        differing=float(np.mean(~same)) if same.size else 0.0,
    )


def _of_identical(a: Array) -> Metrics:
    """Metrics of two arrays with the same bytes; most tensors of a comparison are."""
    wide = a.astype(np.float64)
    finite = wide if np.isfinite(wide).all() else wide[np.isfinite(wide)]
    if not finite.size:
        return Metrics(differing=0.0)
    scale = max(float(finite.max()), -float(finite.min()))
    ulp = dict.fromkeys(("max_ulp", "mean_ulp", "ulp_1", "ulp_32"), 0.0)
    return Metrics(**_of_equal(scale), **ulp, nonfinite_a=0, nonfinite_b=0, differing=0.0)


def _reals(values: Array) -> Array:
    """Each number as its two parts."""
    return np.stack([values.real, values.imag])


def _flat(values: Array) -> Array:
    return np.ascontiguousarray(values).reshape(-1)


def _of_finite(a: Array, b: Array, error: Array) -> dict[str, float]:
    if not a.size:
        return {}
    with np.errstate(all="ignore"):
        size = np.abs(a)
        largest_a, largest_b = float(size.max()), float(np.abs(b).max())
        scale, max_abs = max(largest_a, largest_b), float(error.max())
        if max_abs == 0:
            return _of_equal(scale)
        l2 = _norm(error, max_abs)
        rmse = l2 / math.sqrt(a.size)
        ratio = error / np.where(size > 0, size, _OF_ZERO)
        relative = ratio[size > 0]
        return {
            "scale": scale,
            "max_abs": max_abs,
            "mean_abs": float(error.mean()),
            "max_rel": float(relative.max()) if relative.size else NAN,
            "mean_rel": float(relative.mean()) if relative.size else NAN,
            "max_either": float(np.minimum(error, ratio).max()),
            "relative": max_abs / scale if scale else 0.0,
            "rmse": rmse,
            "l2": l2,
            "cosine": _cosine(a, b, largest_a, largest_b),
            "sqnr": decibel(_norm(a, largest_a), l2),
            "psnr": decibel(float(a.max() - a.min()), rmse),
            "pass_1": float(np.mean(error <= 1e-2 * size)),
            "pass_01": float(np.mean(error <= 1e-3 * size)),
            "pass_001": float(np.mean(error <= 1e-4 * size)),
            "close": float(np.all(error <= 1e-8 + 1e-5 * size)),
        }


def _of_equal(scale: float) -> dict[str, float]:
    zero = ("max_abs", "mean_abs", "max_rel", "mean_rel", "max_either", "relative", "rmse", "l2")
    one = ("cosine", "pass_1", "pass_01", "pass_001", "close")
    best = {"scale": scale, "sqnr": math.inf, "psnr": math.inf}
    return best | dict.fromkeys(zero, 0.0) | dict.fromkeys(one, 1.0)


def _of_ulp(distance: Array) -> dict[str, float]:
    if not distance.size:
        return {}
    return {
        "max_ulp": float(distance.max()),
        "mean_ulp": float(distance.mean()),
        "ulp_1": float(np.mean(distance > 1)),
        "ulp_32": float(np.mean(distance > 32)),
    }


def _norm(values: Array, largest: float) -> float:
    """The L2 norm, without overflow."""
    if not largest or not math.isfinite(largest):
        return largest
    values = values if _SMALLEST < largest < _LARGEST else values / largest
    return math.sqrt(_dot(values, values)) * (1 if _SMALLEST < largest < _LARGEST else largest)


def _cosine(a: Array, b: Array, largest_a: float, largest_b: float) -> float:
    if largest_a == 0 or largest_b == 0:
        return 1.0 if largest_a == largest_b else NAN
    if not (min(largest_a, largest_b) > _SMALLEST and max(largest_a, largest_b) < _LARGEST):
        a, b = a / largest_a, b / largest_b
    cosine = _dot(a, b) / math.sqrt(_dot(a, a)) / math.sqrt(_dot(b, b))
    return min(max(cosine, -1.0), 1.0)


def _dot(a: Array, b: Array) -> float:
    """The inner product in this thread: BLAS would wake up threads for each of thousands of tensors."""
    return float(np.einsum("i,i->", a, b))


def decibel(signal: float, noise: float) -> float:
    """20 log10(signal / noise), without overflow."""
    if noise == 0:
        return math.inf
    # Their quotient may be 0 or infinite in float64.
    return 20 * (math.log10(signal) - math.log10(noise)) if signal > 0 else -math.inf


# float16, bfloat16, float32: msprobe acc_check. The rest by its rule for float32: 8 spacings for float64, one
# half for the float8 formats, as for bfloat16.
RTOL = {
    "float64": 2.0**-49,
    "float32": 2.0**-20,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
GROWTH = 10.0  # msprobe warns where an output's error is ten times its inputs'


def noise_limit(rtol: float, depth: int) -> float:
    """The largest difference, as a part of the tensor's scale, that rounding explains.

    Args:
        rtol: `RTOL` of the coarsest dtype on the way; 0 for whole numbers, booleans and text.
        depth: roundings one after the other on the way here. Rounding errors add up like a
            random walk, with the square root of their number (Higham & Mary 2019, doi:10.1137/18M1226312).
    """
    return min(rtol * math.sqrt(1 + depth), noise_ceiling(rtol))


def noise_ceiling(rtol: float) -> float:
    """The part of the scale beyond which nothing counts as noise: sqrt(eps), as in TorchLens' bisection."""
    return math.sqrt(rtol)


def accepted_by_tools(metrics: Metrics, dtype: str) -> dict[str, bool]:
    """Whether tools would accept the tensor with their published defaults; only tools whose metrics are
    known.

    LiteRT's RMSE / scale is skipped: its scale is the quantization's, which a dump does not hold.
    """
    found: dict[str, bool] = {}
    if math.isnan(metrics.max_ulp):
        return found
    finite = not (metrics.nonfinite_a or metrics.nonfinite_b)
    if math.isfinite(metrics.cosine):
        found["msprobe"] = finite and metrics.cosine > 0.99 and metrics.max_abs < 1e-3
    if dtype in ("float16", "bfloat16"):
        found["acc_check"] = finite and metrics.ulp_1 < 1e-3
    elif dtype == "float32":
        found["acc_check"] = finite and (metrics.mean_ulp < 64 or metrics.ulp_32 < 0.05)
    found["Polygraphy"] = finite and not metrics.max_either > 1e-5  # NaN: no finite element
    found["TorchLens"] = finite and metrics.close == 1
    return found
