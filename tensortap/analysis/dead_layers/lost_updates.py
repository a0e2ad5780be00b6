"""Lost updates: rounding swallows them (w + update == w); counted in stored values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model_graph.roles import TensorRole
from ..run_view.run_view import RunView
from ..run_view.snapshot_rows import Rows
from ..run_view.stored_values import stored_values

# Pairs of neighbouring steps whose values are compared, a variable: all of a short run's small tensors,
# elsewhere some, chosen evenly.
_FEWEST, _MOST = 4, 32
_ELEMENTS = 1 << 16  # that are compared where that takes more than the fewest pairs


class LostUpdates(NamedTuple):
    """Of the elements whose gradient is not 0, those whose weight is the same a step later.

    Attributes:
        share: of all of them; None where it cannot be told.
        pairs, of: how many pairs of neighbouring steps were compared, of how many whose values were kept.
        at: the first step of each pair at which some were, ascending.
    """

    share: float | None
    pairs: int
    of: int
    at: tuple[int, ...]


def count_lost_updates(view: RunView, tensor: TensorRole, weight: TensorRole | None) -> LostUpdates:
    """Count the lost updates of a weight.

    Needs values of the weight at neighbouring steps, and of the gradient at the first of them.
    """
    kept = view.run.catalog.tensors.kept
    if weight is None or not kept.of(tensor.code) or not kept.of(weight.code):
        return LostUpdates(None, 0, 0, ())
    gradient_rows = view.rows([tensor])
    grads, weights = _kept_by_step(gradient_rows), _kept_by_step(view.rows([weight]))
    pairs = [step for step in grads if step in weights and step + 1 in weights]
    same, moved = dict[int, int](), 0
    for step in _chosen(pairs, int(gradient_rows["size"].max(initial=1))):
        wanted = [grads[step], weights[step], weights[step + 1]]
        values = [value for _, value in stored_values(view.run, wanted)]
        if len(values) == 3 and len({value.shape for value in values}) == 1:
            gradient_value, before, after = values
            pushed = gradient_value != 0
            same[step] = int(np.count_nonzero(pushed & (before == after)))
            moved += int(np.count_nonzero(pushed))
    at = tuple(step for step, count in same.items() if count)
    return LostUpdates(sum(same.values()) / moved if moved else None, len(same), len(pairs), at)


def _chosen(pairs: list[int], size: int) -> list[int]:
    """Those of the pairs that are compared, evenly, of tensors of so many elements."""
    most = max(_FEWEST, min(_MOST, _ELEMENTS // max(size, 1)))
    if len(pairs) <= most:
        return pairs
    return [pairs[place] for place in np.linspace(0, len(pairs) - 1, most).astype(int).tolist()]


def _kept_by_step(rows: Rows) -> dict[int, int]:
    kept = rows.kept
    return dict(zip(rows.step[kept].tolist(), rows.rows[kept].tolist(), strict=True))
