"""Snapshots: rows of the catalog as records."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError

from .catalog.catalog import Catalog
from .catalog.decode import STATISTICS_COLUMNS
from .missing_values import no_value_codes
from .query.resolve_names import select_rows, tensor_codes
from .query.step_range import StepRange
from .run_index import RunIndex
from .unknown_counts import unknown_counts

PLAIN_COLUMNS = ("step", "visit", *STATISTICS_COLUMNS, "kept")
_TAKEN = (*PLAIN_COLUMNS, "pruned")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One tensor captured at one (step, visit). `row` is its row in the catalog of its run, `time` seconds
    since 1970, `graph` is `-` for none; counts and statistics as in `tensortap.dump.Summary`. `pruned`: its
    value was kept, and removed to save space. `no_value`: why the value is not there (`summary`, `source`,
    `pruned`, `refused`, `damaged`; see `no_value`), or empty. `unknown`: the counts (and `size`) that the
    source of an import did not tell: they are lower bounds at most."""

    row: int
    tensor: str
    node: str
    slot: int
    graph: str
    step: int
    visit: int
    worker: str
    time: float
    device: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    nan: int
    pos_inf: int
    neg_inf: int
    zero: int
    negative: int
    positive: int
    subnormal: int
    min: float
    max: float
    mean: float
    std: float
    l2: float
    abs_max: float
    kept: bool
    pruned: bool = False
    no_value: str = ""
    unknown: frozenset[str] = frozenset()


_TOLD = [field.name for field in fields(Snapshot) if field.name not in ("row", "unknown")]


def take(catalog: Catalog, rows: Array) -> list[Snapshot]:
    """The snapshots at some rows of a catalog, in that order."""
    tensors = catalog.tensors
    plain = zip(*(catalog.column(name, rows).tolist() for name in _TAKEN), strict=True)
    names = ("tensor", "worker", "time", "device", "dtype", "shape")
    coded = zip(*(catalog.column(name, rows).tolist() for name in names), strict=True)
    unknown = unknown_counts(catalog, rows)
    no_values = no_value_codes(catalog, rows)
    taken = []
    for place, (row, values, (tensor, worker, time, device, dtype, shape)) in enumerate(
        zip(rows.tolist(), plain, coded, strict=True)
    ):
        node, slot = tensors.node_and_slot(tensor)
        taken.append(
            Snapshot(
                row=row,
                tensor=tensors.names[tensor],
                node=node,
                slot=slot,
                graph=tensors.graph_of(tensor),
                worker=catalog.workers[worker],
                time=time / 1e6,
                device=catalog.devices[device],
                dtype=catalog.dtypes[dtype],
                shape=catalog.shapes.values[shape],
                **dict(zip(_TAKEN, values, strict=True)),
                no_value=no_values[place],
                unknown=frozenset(name for name, mask in unknown.items() if mask[place]),
            )
        )
    return taken


def as_fields(snapshot: Snapshot) -> dict[str, Any]:
    """What others are told of a snapshot, by name: counts that are not known are None."""
    return {name: getattr(snapshot, name) for name in _TOLD} | dict.fromkeys(snapshot.unknown)


def locate(
    run: RunIndex,
    tensor: str,
    *,
    step: int,
    visit: int = 0,
    worker: str | None = None,
    graph: str | None = None,
) -> Snapshot:
    """The snapshot of a tensor at a step and visit; of several workers' or graphs', the latest captured.

    Raises:
        NotFoundError: there is none; the hint names the nearest steps, or the visits there are.
    """
    catalog = run.catalog
    codes = tensor_codes(catalog, tensor, graph)
    rows = np.concatenate([catalog.rows_of_tensor(code) for code in codes])
    of_worker = select_rows(catalog, rows, StepRange(), worker)
    at_step = select_rows(catalog, of_worker, StepRange(step, step + 1), None)
    if not len(at_step):
        raise NotFoundError(
            f"{tensor!r} has no snapshot at step {step}.", nearest_steps(catalog, of_worker, step)
        )
    visits = catalog.column("visit", at_step)
    found = at_step[visits == visit]
    if not len(found):
        known = ", ".join(map(str, np.unique(visits)[:10].tolist()))
        raise NotFoundError(f"{tensor!r} has no visit {visit} at step {step}.", f"It has visits {known}.")
    latest = found[np.lexsort((found, catalog.column("time", found)))[-1]]
    return take(catalog, np.array([latest]))[0]


def nearest_steps(catalog: Catalog, rows: Array, step: int) -> str:
    """A hint: the steps around `step` that the rows have."""
    steps = np.unique(catalog.column("step", rows))
    if not len(steps):
        return "It has none from this worker."
    at = int(np.searchsorted(steps, step))
    near = ", ".join(map(str, steps[max(at - 2, 0) : at + 2].tolist()))
    return f"The nearest steps are {near}; it has {len(steps)} from {steps[0]} to {steps[-1]}."
