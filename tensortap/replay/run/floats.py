"""Which arrays hold floats: NumPy's own, bfloat16 and the smaller ones of ml_dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_float(array: np.ndarray[Any, Any]) -> bool:
    """Whether its numbers can be NaN or infinite, or at least fractions; complex ones aside."""
    return str(array.dtype).startswith(("float", "bfloat"))
