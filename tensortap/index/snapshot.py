"""`Snapshot`: the record that everyone outside the index gets of a row of the catalog."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.records import ELEMENT_KINDS

from .catalog.catalog import Catalog
from .catalog.decode import STATISTICS_COLUMNS
from .missing_values import no_value_codes
from .unknown_counts import unknown_counts

PLAIN_COLUMNS = ("step", "visit", *STATISTICS_COLUMNS, "kept")
_COLUMNS = (*PLAIN_COLUMNS, "pruned")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One tensor captured at one (step, visit). `row` is its row in the catalog of its run, `time` seconds
    since 1970, `graph` is `-` for none; counts and statistics as in `tensortap.dump.Summary`. `pruned`: its
    value was stored, and removed to save space. `no_value`: why the value is not available (`summary`,
    `source`, `pruned`, `refused`, `damaged`, `compacted`; see `no_value`), or empty. `unknown`: the counts
    (and `size`) that the import format lacks: they are lower bounds at most."""

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

    @property
    def not_counted(self) -> int:
        """Number of elements that may be NaN, infinite, zero, … without being counted."""
        if self.dtype == "string":
            return 0
        return max(self.size - sum(int(getattr(self, kind)) for kind in ELEMENT_KINDS), 0)

    def as_dict(self) -> dict[str, Any]:
        """The fields for JSON, without `row` and `unknown`: unknown counts are None."""
        return {name: getattr(self, name) for name in _PUBLIC} | dict.fromkeys(self.unknown)


_PUBLIC = [field.name for field in fields(Snapshot) if field.name not in ("row", "unknown")]


def snapshots_at(catalog: Catalog, rows: Array) -> list[Snapshot]:
    """The snapshots at some rows of a catalog, in that order."""
    tensors = catalog.tensors
    plain = zip(*(catalog.column(name, rows).tolist() for name in _COLUMNS), strict=True)
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
                **dict(zip(_COLUMNS, values, strict=True)),
                no_value=no_values[place],
                unknown=frozenset(name for name, mask in unknown.items() if mask[place]),
            )
        )
    return taken
