"""Everything of a catalog but its rows, as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensortap.core.dtypes import Array

from ..catalog.catalog import Catalog
from ..catalog.columns import StringTable
from ..catalog.step_totals import StepTally


def catalog_state(catalog: Catalog) -> tuple[dict[str, Any], dict[str, Array]]:
    """(what JSON can say, arrays) of a catalog."""
    about = {
        "rows": catalog.rows,
        "nonfinite": catalog.nonfinite,
        "partial": catalog.partial,
        "pruned": [[code, sorted(files)] for code, files in catalog.pruned.items()],
        "last_time": catalog.last_time,
        "strings": {name: table.values for name, table in _strings(catalog).items()},
        "shapes": catalog.shapes.values,
        "graphs_with_steps": list(catalog.graph_steps.tallies),
    }
    arrays = {f"tensors/{name}": array for name, array in catalog.tensors.arrays().items()}
    arrays |= {f"steps/{name}": array for name, array in catalog.steps.arrays().items()}
    for graph, tally in catalog.graph_steps.tallies.items():
        arrays |= {f"steps of {graph}/{name}": array for name, array in tally.arrays().items()}
    arrays |= {f"places/{name}": column.view() for name, column in catalog.places.items()}
    arrays["worker_rows"] = catalog.worker_rows.totals(len(catalog.workers))
    return about, arrays


def restore_catalog(catalog: Catalog, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Takes over into an empty catalog what `catalog_state` gave, but for the rows.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    for name, table in _strings(catalog).items():
        for text in about["strings"][name]:
            table.intern(text)
    catalog.shapes.restore([tuple(shape) for shape in about["shapes"]])
    catalog.tensors.restore(_below(arrays, "tensors"))
    catalog.steps.restore(_below(arrays, "steps"))
    tallies = {}
    for graph in about["graphs_with_steps"]:
        tallies[graph] = StepTally()
        tallies[graph].restore(_below(arrays, f"steps of {graph}"))
    catalog.graph_steps.restore(tallies)
    for name, column in catalog.places.items():
        column.extend(arrays[f"places/{name}"])
    catalog.worker_rows.restore(arrays["worker_rows"])
    catalog.nonfinite, catalog.last_time = about["nonfinite"], about["last_time"]
    catalog.partial = about["partial"]
    catalog.pruned = {int(code): frozenset(map(int, files)) for code, files in about["pruned"]}
    catalog.rows = about["rows"]


def _strings(catalog: Catalog) -> dict[str, StringTable]:
    return {
        "workers": catalog.workers,
        "devices": catalog.devices,
        "dtypes": catalog.dtypes,
        "graphs": catalog.tensors.graphs,
        "nodes": catalog.tensors.nodes,
    }


def _below(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    prefix = f"{name}/"
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
