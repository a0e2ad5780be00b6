"""The one snapshot that a person means; where several fit, they are asked to say more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import AmbiguousError, NotFoundError
from tensortap.core.text import counted
from tensortap.index.catalog.catalog import Catalog
from tensortap.index.query.resolve_names import select_rows, tensor_codes
from tensortap.index.query.step_range import StepRange
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, nearest_steps, take


def pick(
    run: RunIndex, tensor: str, step: int | None, visit: int | None, worker: str | None, graph: str | None
) -> Snapshot:
    """The only snapshot that fits; a negative step counts from the tensor's last one.

    Raises:
        NotFoundError: none fits. AmbiguousError: several do; the hint says how to choose.
    """
    catalog = run.catalog
    codes = tensor_codes(catalog, tensor, graph)
    if len(codes) > 1 and step is not None and step >= 0:
        codes = _captured_at(catalog, codes, step) or codes[:1]
    if len(codes) > 1:
        graphs = [catalog.tensors.graph_of(code) for code in codes]
        raise _ambiguous(tensor, "graphs", "graph", graphs)
    rows = select_rows(catalog, catalog.rows_of_tensor(codes[0]), StepRange(), worker)
    rows = _at_step(catalog, tensor, rows, step)
    rows = _only(tensor, "visits", "visit", rows, catalog.column("visit", rows).tolist(), visit)
    workers = [catalog.workers[code] for code in catalog.column("worker", rows).tolist()]
    rows = _only(tensor, "workers", "worker", rows, workers, worker)
    return take(catalog, rows[-1:])[0]


def _captured_at(catalog: Catalog, codes: Sequence[int], step: int) -> list[int]:
    """Of one name's tensors in several graphs those that were captured at a step."""
    return [code for code in codes if step in catalog.column("step", catalog.rows_of_tensor(code))]


def _at_step(catalog: Catalog, tensor: str, rows: Array, step: int | None) -> Array:
    values = catalog.column("step", rows)
    steps = np.unique(values)
    if step is None:
        if len(steps) > 1:
            raise AmbiguousError(
                f"{tensor!r} has snapshots at {len(steps)} steps, from {steps[0]} to {steps[-1]}.",
                f"Say which with step={steps[-1]}; step=-1 means the last.",
            )
        step = -1
    if step < 0:
        if -step > len(steps):
            raise NotFoundError(
                f"{tensor!r} has no step {step} from the end.", f"It has {counted(len(steps), 'step')}."
            )
        step = int(steps[step])
    found: Array = rows[values == step]
    if not len(found):
        raise NotFoundError(f"{tensor!r} has no snapshot at step {step}.", nearest_steps(catalog, rows, step))
    return found


def _only(tensor: str, several: str, argument: str, rows: Array, values: list[Any], wanted: Any) -> Array:
    distinct = sorted(set(values))
    if wanted is None:
        if len(distinct) > 1:
            raise _ambiguous(tensor, several, argument, distinct)
        return rows
    found: Array = rows[np.array([value == wanted for value in values], np.bool_)]
    if not len(found):
        known = ", ".join(map(repr, distinct[:10]))
        raise NotFoundError(f"{tensor!r} has no {argument} {wanted!r} there.", f"It has {known}.")
    return found


def _ambiguous(tensor: str, several: str, argument: str, values: list[Any]) -> AmbiguousError:
    named = ", ".join(map(repr, values[:5])) + (", …" if len(values) > 5 else "")
    return AmbiguousError(
        f"{tensor!r} was captured in {len(values)} {several} there: {named}.",
        f"Say which with {argument}={values[-1]!r}.",
    )
