"""Which captured tensor, and which of its snapshots, is meant."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.names import split_tensor_name, tensor_name
from tensortap.core.text import did_you_mean

from ..catalog.catalog import Catalog
from ..catalog.tensor_table import NO_GRAPH
from .step_range import StepRange


def tensor_codes(catalog: Catalog, tensor: str, graph: str | None = None) -> list[int]:
    """The codes of a tensor name (`node` means `node:0`), one for each graph it was captured in.

    `graph`: only of that one; `-` or empty: of none.

    Raises:
        NotFoundError: it was not captured, or not in that graph.
    """
    tensors = catalog.tensors
    codes = tensors.named(tensor_name(*split_tensor_name(str(tensor))))
    if not codes:
        lists = "'tensortap show RUN' lists the captured tensors; in Python, run.tensors does."
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
    """The graphs (`-`: none) in which tensors of a name were captured; empty if there is none."""
    return sorted(map(catalog.tensors.graph_of, catalog.tensors.named(tensor)))


def tensor_rows(
    catalog: Catalog, tensor: str, graph: str | None, steps: StepRange, worker: str | None
) -> tuple[int, Array]:
    """(a code, the rows in order) of a tensor name: of all graphs that captured it, unless one is named.

    The code is that of the graph which captured it last.

    Raises:
        NotFoundError: as `tensor_codes` and `select_rows`.
    """
    codes = tensor_codes(catalog, tensor, graph)
    rows = np.concatenate([catalog.rows_of_tensor(code) for code in codes])
    rows = in_order(catalog, select_rows(catalog, rows, steps, worker))
    return max(codes, key=catalog.tensors.last_row), rows


def select_rows(catalog: Catalog, rows: Array, steps: StepRange, worker: str | None) -> Array:
    """Those rows that lie in a range of steps and, if a worker is named, come from it.

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
        NotFoundError: there is none of that name.
    """
    code = catalog.workers.code(worker)
    if code is None:
        known = ", ".join(map(repr, catalog.workers.values[:5])) or "none"
        raise NotFoundError(
            f"No worker {worker[:200]!r} has written snapshots.", f"Workers that have: {known}."
        )
    return code


def in_order(catalog: Catalog, rows: Array) -> Array:
    """Rows ordered by step, visit, worker."""
    keys = (catalog.column(name, rows) for name in ("worker", "visit", "step"))
    return rows[np.lexsort(tuple(keys))]
