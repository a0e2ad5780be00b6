"""One side of a comparison: a run at a step, as one of its workers saw it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.run_index import RunIndex

from ..run_view.step_tensors import StepTensors


@dataclass(frozen=True, slots=True)
class Side:
    """A run, at a step, by a worker (an id). `worker` None: the first that wrote the step."""

    run: RunIndex
    step: int | None = None
    worker: str | None = None

    def check(self) -> None:
        """Raises NotFoundError if the run has no such step or worker, or the worker did not write the
        step."""
        catalog = self.run.catalog
        if self.step is not None and catalog.steps.code(self.step) is None:
            steps = self.run.steps.step
            span = f"Steps go from {steps[0]} to {steps[-1]}." if len(steps) else "It has no snapshots yet."
            raise NotFoundError(f"{self.run.name} has no snapshot at step {self.step}.", span)
        if self.worker is not None and catalog.workers.code(self.worker) is None:
            known = ", ".join(map(repr, catalog.workers.values[:5])) or "none"
            raise NotFoundError(
                f"{self.run.name} has no worker {self.worker[:200]!r}.",
                f"Workers with snapshots: {known}.",
            )
        if self.step is not None and self.step not in self._captured():
            raise NotFoundError(
                f"Worker {self.worker} of {self.run.name} has no snapshot at step {self.step}.",
                "Other workers have one: choose another step or worker.",
            )

    def steps(self) -> list[int]:
        """The steps that the worker captured (without one: any), ascending; only the chosen one if there is
        one."""
        return [self.step] if self.step is not None else self._captured().tolist()

    def _captured(self) -> Array:
        catalog = self.run.catalog
        if self.worker is None or len(catalog.workers) == 1:
            return self.run.steps.step
        rows = np.arange(catalog.rows)
        written = catalog.column("worker", rows) == catalog.workers.code(self.worker)
        return np.unique(catalog.column("step", rows[written]))

    def worker_at(self, step: int) -> tuple[int | None, int]:
        """(code of the worker that is checked, how many wrote at the step)."""
        catalog = self.run.catalog
        code = catalog.steps.code(step)
        rows = np.zeros(0, np.int64) if code is None else catalog.rows_of_step(code)
        known = np.unique(catalog.column("worker", rows)).tolist()
        if self.worker is not None:
            return catalog.workers.code(self.worker), len(known)
        return min(known, key=self.worker_ranks().__getitem__, default=None), len(known)

    def worker_ranks(self) -> Array:
        """int64: the place of each worker, by its code, in the order in which they began."""
        values = self.run.catalog.workers.values
        ids = {worker.id: place for place, worker in enumerate(self.run.workers)}
        order = sorted(range(len(values)), key=lambda code: (ids.get(values[code], len(ids)), code))
        ranks = np.zeros(len(values), np.int64)
        ranks[order] = np.arange(len(values))
        return ranks

    def tensors(self, graph: GraphIndex, step: int) -> StepTensors:
        """Captured tensors of a graph at a step."""
        return StepTensors(self.run, graph, step, self.worker_at(step)[0])
