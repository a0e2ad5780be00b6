"""Two workers of one run: where copies that data-parallel training keeps equal differ first.

Workers process batches of their own, so most of their tensors differ at each step. Weights and all-reduced
gradients must not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensortap.core.text import counted
from tensortap.index.query.node_detail import source_line
from tensortap.index.run_index import RunIndex

from ..run_view.run_view import RunView
from .comparison_records import FirstDivergence, TensorDifference
from .matching.row_alignment import joined, step_rows
from .metrics.summary_bounds import SUMMARY_COLUMNS
from .side import Side

_TOLERANCE = 1e-12  # relative: kernels of different processors add in different orders


@dataclass(frozen=True, slots=True)
class WorkerDrift:
    """What differs first. `copies`: number of tensors that workers hold alike. `place`: index of the step, -1
    if they are equal at all steps. `tensors`: (graph, name) of those that differ then."""

    copies: int
    place: int = -1
    tensors: frozenset[tuple[str, str]] = frozenset()

    def first(self, run: RunIndex, step: int, tensors: Sequence[TensorDifference]) -> FirstDivergence | None:
        """The first of them, in data flow order, which `tensors` have; None if they are not compared."""
        found = [entry for entry in tensors if (entry.graph, entry.tensor) in self.tensors]
        if not found:
            return None
        name = found[0].variable or found[0].tensor
        text = f"The workers' copies of {name} differ at step {step}"
        text += (
            f"; they are equal at {counted(self.place, 'earlier step')}." if self.place else ", the first."
        )
        if len(self.tensors) > 1:
            text += f" So do {counted(len(self.tensors) - 1, 'other weight or all-reduced gradient')}."
        frame = source_line(run, found[0].node, found[0].graph)
        return FirstDivergence(found[0], text, [], frame, frame, variable=found[0].variable)


def find_drift(a: Side, b: Side, steps: Sequence[int]) -> WorkerDrift | None:
    """Where two workers of one run drift; None for other sides, and without tensors that workers hold alike.

    Args:
        steps: that both have, ascending.
    """
    if a.run is not b.run or a.worker == b.worker or a.step is not None or b.step is not None:
        return None
    view, catalog = RunView(a.run), a.run.catalog
    copies = np.array([tensor.code for tensor in view.where(lambda each: each.is_replicated)], np.int64)
    if not len(copies):
        return None
    at = np.array(steps, np.int64)
    left, right = (
        rows.where(np.isin(rows.tensor, copies)) for rows in (step_rows(side, at)[0] for side in (a, b))
    )
    partner = np.full(len(view.tensors), -1, np.int64)
    partner[copies] = copies
    pairs = joined(left, right, partner)
    if pairs is None:
        return None
    rows_a, rows_b = left.row[pairs[0]], right.row[pairs[1]]
    differs = np.zeros(len(rows_a), np.bool_)
    for name in ("size", *SUMMARY_COLUMNS):
        columns = catalog.column(name, rows_a), catalog.column(name, rows_b)
        differs |= ~np.isclose(*columns, rtol=_TOLERANCE, atol=0.0, equal_nan=True)
    if not differs.any():
        return WorkerDrift(len(copies))
    places, tensors = left.place[pairs[0]][differs], left.tensor[pairs[0]][differs]
    first = int(places.min())
    found = [view.tensors[code] for code in np.unique(tensors[places == first]).tolist()]
    return WorkerDrift(len(copies), first, frozenset((tensor.graph, tensor.name) for tensor in found))
