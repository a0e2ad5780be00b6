"""Whether there is anything left to learn: a loss that is 0, or next to nothing, asks for no gradients."""

from __future__ import annotations

import numpy as np

from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import Rows

_LEFT = 1e-6  # of the largest loss: then gradients are small, as they are to be


def is_fitted(view: RunView, graph: str, step: int, share: float = 1.0) -> bool:
    """Whether the loss is exactly 0 (a hinge loss) at such a share of the steps from one on."""
    rows = _losses(view, graph)
    rows = rows.part(rows.step >= step)
    return len(rows) > 0 and float(np.mean(rows["zero"] == rows["size"])) >= share


def has_converged(view: RunView, graph: str, step: int) -> bool:
    """Whether the loss has fallen to a millionth of its largest, in the median from a step on."""
    rows = _losses(view, graph)
    later = rows.part(rows.step >= step)["abs_max"]
    largest = np.nanmax(rows["abs_max"], initial=0.0)
    return bool(len(later)) and bool(np.nanmedian(later) <= _LEFT * largest)


def _losses(view: RunView, graph: str) -> Rows:
    return view.rows([tensor for tensor in view.of_kind("loss") if tensor.graph == graph])
