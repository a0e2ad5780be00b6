"""The line of a run in a list of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .unknown_counts import at_least, snapshots_not_counted

if TYPE_CHECKING:
    from .run_index import RunIndex


@dataclass(frozen=True, slots=True)
class RunOverview:
    """Summary of a run. Times are seconds since 1970; `nonfinite`: number of snapshots with NaN or infinity,
    None if none is known and the import format does not count them all."""

    id: str
    name: str
    created: float
    last_time: float | None
    snapshots: int
    nodes: int
    first_step: int | None
    last_step: int | None
    step_count: int
    graphs: int
    workers: int
    nonfinite: int | None
    live: bool
    closed: bool
    error: str | None


def overview_of(run: RunIndex) -> RunOverview:
    """Counts a run's contents, as of its last poll."""
    steps, workers = run.steps.step, run.workers
    return RunOverview(
        id=run.id,
        name=run.name,
        created=run.created,
        last_time=run.catalog.last_time,
        snapshots=run.catalog.rows,
        nodes=run.node_count,
        first_step=int(steps[0]) if len(steps) else None,
        last_step=int(steps[-1]) if len(steps) else None,
        step_count=len(steps),
        graphs=run.graph_count,
        workers=len(workers),
        nonfinite=at_least(run.catalog.nonfinite, snapshots_not_counted(run.catalog)),
        live=any(worker.live for worker in workers),
        closed=all(worker.closed for worker in workers),
        error=run.error,
    )
