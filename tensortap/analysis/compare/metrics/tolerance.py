"""How large a difference rounding alone can make, by dtype and depth; what other tools would say."""

from __future__ import annotations

import math

from .distances import Metrics

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
    """The part of the scale beyond which nothing is taken for noise: sqrt(eps), as TorchLens bisects."""
    return math.sqrt(rtol)


def accepted(metrics: Metrics, dtype: str) -> dict[str, bool]:
    """Whether a tool would accept the tensor, by its published defaults; only those whose metrics are known.

    LiteRT's RMSE / scale is left out: its scale is the quantisation's, which a dump does not hold.
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
