"""Resolves a name to a captured tensor and one of its snapshots. All callers use `find_snapshot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import AmbiguousError, DamagedError, NotFoundError
from tensortap.core.names import split_tensor_name, tensor_name
from tensortap.core.text import did_you_mean

from ..catalog.catalog import Catalog
from ..catalog.tensor_table import NO_GRAPH
from ..run_index import RunIndex
from ..snapshot import Snapshot, snapshots_at
from .step_range import StepRange, step_from_end


def find_snapshot(
    run: RunIndex,
    tensor: str,
    *,
    step: int | None = None,
    visit: int | None = None,
    worker: str | None = None,
    graph: str | None = None,
    strict: bool = False,
) -> Snapshot:
    """The snapshot of a tensor at a step.

    Where several fit, it is the one of the last step, of visit 0, and the latest captured of several graphs
    or workers; if `strict`, they are an error. The training step of Keras comes before its validation.

    Args:
        step: a negative one counts from the tensor's last one.

    Raises:
        NotFoundError: there is none; the hint names the nearest steps, or the visits there are.
        AmbiguousError: several fit, and `strict`; the hint says how to choose.
        DamagedError: that of another worker may be lost, and `strict`.
    """
    catalog = run.catalog
    codes = tensor_codes(catalog, tensor, graph)
    if len(codes) > 1:
        codes = _training_first(catalog, codes, step)
    if strict and len(codes) > 1:
        codes = [_only_code(catalog, tensor, codes, step)]
    rows = np.concatenate([catalog.rows_of_tensor(code) for code in codes])
    everywhere = select_rows(catalog, rows, StepRange(), worker)
    rows = _at_step(catalog, tensor, everywhere, step, strict)
    at_visit = _at_visit(catalog, tensor, rows, visit, strict)
    if strict:
        fitting = everywhere if run.damage else at_visit  # another worker's may be lost here
        workers = {catalog.workers[code] for code in catalog.column("worker", fitting).tolist()}
        if len(workers) > 1:
            raise _ambiguous(tensor, "workers", "worker", sorted(workers))
    latest = at_visit[np.lexsort((at_visit, catalog.column("time", at_visit)))[-1:]]
    found = snapshots_at(catalog, latest)[0]
    lossy = sorted(run.lossy_workers - {found.worker}) if strict and worker is None else []
    if lossy:
        raise DamagedError(
            f"The worker {lossy[0]!r} is damaged: its snapshot of {tensor!r} may be lost.",
            f"Choose one with worker={found.worker!r}.",
        )
    return found


def has_several_visits(run: RunIndex, snapshot: Snapshot) -> bool:
    """Whether its worker captured the tensor more than once at its step."""
    catalog = run.catalog
    code = int(catalog.column("tensor", np.array([snapshot.row]))[0])
    steps = StepRange(snapshot.step, snapshot.step + 1)
    return len(select_rows(catalog, catalog.rows_of_tensor(code), steps, snapshot.worker)) > 1


def tensor_codes(catalog: Catalog, tensor: str, graph: str | None = None) -> list[int]:
    """The codes of a tensor name (`node` means `node:0`), one for each graph that captured it.

    `graph`: only of that one; `-` or empty: of none.

    Raises:
        NotFoundError: it was not captured, or not in that graph.
    """
    tensors = catalog.tensors
    codes = tensors.named(tensor_name(*split_tensor_name(str(tensor))))
    if not codes:
        lists = "List the captured tensors with 'tensortap show RUN', or with run.tensors in Python."
        hint = did_you_mean(tensor, tensors.sorted_names(), lists)
        raise NotFoundError(f"No tensor {tensor[:200]!r} was captured.", hint)
    if graph is None:
        return codes
    inside = [code for code in codes if tensors.graph_of(code) == (graph or NO_GRAPH)]
    if not inside:
        graphs = ", ".join(repr(tensors.graph_of(code)) for code in codes)
        raise NotFoundError(f"{tensor!r} was not captured in graph {graph[:200]!r}.", f"It was in {graphs}.")
    return inside


def graphs_of_name(catalog: Catalog, tensor: str) -> list[str]:
    """The graphs (`-`: none) that captured tensors of a name; empty without any."""
    return sorted(map(catalog.tensors.graph_of, catalog.tensors.named(tensor)))


def tensor_rows(
    catalog: Catalog, tensor: str, graph: str | None, steps: StepRange, worker: str | None
) -> tuple[int, Array]:
    """(a code, the rows in order) of a tensor name: of all graphs that captured it, unless one is named.

    The code is that of the graph which captured it last. Rows of Keras' training step are not mixed with
    those of its validation, which are only used if there are no others.

    Raises:
        NotFoundError: as `tensor_codes` and `select_rows`.
    """
    found = tensor_codes(catalog, tensor, graph)
    for codes in (_of_training(catalog, found), found):
        rows = np.concatenate([catalog.rows_of_tensor(code) for code in codes])
        rows = in_order(catalog, select_rows(catalog, rows, steps, worker))
        if len(rows):
            break
    return max(codes, key=catalog.last_row), rows


def function_of(graph_id: str) -> str:
    """The name of the function that a graph was traced of; empty for `-`."""
    return graph_id.rpartition("-")[0]


def _of_training(catalog: Catalog, codes: list[int]) -> list[int]:
    """Without tensors of `test_step`, Keras' validation, if there are some of `train_step`."""
    functions = [function_of(catalog.tensors.graph_of(code)) for code in codes]
    if "train_step" not in functions:
        return codes
    return [code for code, function in zip(codes, functions, strict=True) if function != "test_step"]


def _training_first(catalog: Catalog, codes: list[int], step: int | None) -> list[int]:
    """The same graphs, training first; only those captured at the step, if one is given."""
    if step is not None and step >= 0:
        codes = [c for c in codes if step in catalog.column("step", catalog.rows_of_tensor(c))] or codes
    return _of_training(catalog, codes)


def select_rows(catalog: Catalog, rows: Array, steps: StepRange, worker: str | None) -> Array:
    """Selects rows in a range of steps and, if given, of a worker.

    Raises:
        NotFoundError: the run has no such worker.
    """
    if not steps.everything:
        values = catalog.column("step", rows)
        rows = rows[(values >= steps.first) & (values < steps.stop)]
    if worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
    return rows


def worker_code(catalog: Catalog, worker: str) -> int:
    """The code of a worker that has written snapshots.

    Raises:
        NotFoundError: the name does not exist.
    """
    code = catalog.workers.code(worker)
    if code is None:
        known = ", ".join(map(repr, catalog.workers.values[:5])) or "none"
        raise NotFoundError(
            f"No worker {worker[:200]!r} has written snapshots.", f"Workers with snapshots: {known}."
        )
    return code


def in_order(catalog: Catalog, rows: Array) -> Array:
    """Rows ordered by step, visit, worker."""
    keys = (catalog.column(name, rows) for name in ("worker", "visit", "step"))
    return rows[np.lexsort(tuple(keys))]


def _only_code(catalog: Catalog, tensor: str, codes: Sequence[int], step: int | None) -> int:
    """Of one name's tensors in several graphs the only one that was captured at a step."""
    if step is not None and step >= 0:
        at_step = [c for c in codes if step in catalog.column("step", catalog.rows_of_tensor(c))]
        codes = at_step or codes[:1]  # captured in none: the steps of one will do for the error
    if len(codes) > 1:
        graphs = [catalog.tensors.graph_of(code) for code in codes]
        raise _ambiguous(tensor, "graphs", "graph", graphs)
    return codes[0]


def _at_step(catalog: Catalog, tensor: str, rows: Array, step: int | None, strict: bool) -> Array:
    values = catalog.column("step", rows)
    if step is None or step < 0:
        steps = np.unique(values)
        if strict and step is None and len(steps) > 1:
            raise AmbiguousError(
                f"{tensor!r} has snapshots at {len(steps)} steps, from {steps[0]} to {steps[-1]}.",
                f"Choose one with step={steps[-1]}; step=-1 means the last.",
            )
        step = step_from_end(repr(tensor), steps.tolist(), -1 if step is None else step)
    found: Array = rows[values == step]
    if not len(found):
        raise NotFoundError(
            f"{tensor!r} has no snapshot at step {step}.", _nearest_steps(catalog, rows, step)
        )
    return found


def _at_visit(catalog: Catalog, tensor: str, rows: Array, visit: int | None, strict: bool) -> Array:
    """The rows of a visit, of rows at one step."""
    values = catalog.column("visit", rows)
    visits = np.unique(values).tolist()
    if visit is None and strict:
        if len(visits) > 1:
            raise _ambiguous(tensor, "iterations", "visit", visits)
        return rows
    found: Array = rows[values == (visit or 0)]
    if not len(found):
        step = int(catalog.column("step", rows[:1])[0])
        known = ", ".join(map(str, visits[:10]))
        raise NotFoundError(
            f"{tensor!r} has no iteration {visit or 0} at step {step}.", f"Its iterations: {known}."
        )
    return found


def _nearest_steps(catalog: Catalog, rows: Array, step: int) -> str:
    """A hint: the steps around `step` that the rows have."""
    steps = np.unique(catalog.column("step", rows))
    if not len(steps):
        return "This worker has no snapshot of it."
    at = int(np.searchsorted(steps, step))
    near = ", ".join(map(str, steps[max(at - 2, 0) : at + 2].tolist()))
    return f"The nearest steps are {near}; it has {len(steps)} from {steps[0]} to {steps[-1]}."


def _ambiguous(tensor: str, several: str, argument: str, values: Sequence[Any]) -> AmbiguousError:
    named = ", ".join(map(repr, values[:5])) + (", …" if len(values) > 5 else "")
    return AmbiguousError(
        f"{tensor!r} was captured in {len(values)} {several} there: {named}.",
        f"Choose one with {argument}={values[-1]!r}.",
    )
