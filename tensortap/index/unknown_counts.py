"""Unknown counts: foreign formats store only some counts (FORMAT.md, "Unknown counts")."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, Mask
from tensortap.core.records import COUNTS, ELEMENT_KINDS

from .catalog.catalog import Catalog
from .catalog.decode import NOT_KEPT

ONE_COUNT = "nonfinite"  # NaN and infinities were counted together, as `nan`
_NAMES = ("size", *COUNTS)
_BATCH_ROWS = 1 << 20  # rows
_NOT_FINITE, _FINITE = ELEMENT_KINDS[:3], ELEMENT_KINDS[3:]


def unreported_counts(info: dict[str, Any]) -> frozenset[str]:
    """The counts that a run's source lacks, according to its info. Other entries are ignored."""
    text = info.get("not counted")
    if not isinstance(text, str):
        return frozenset()
    if text == "NaN and infinities":  # what tfdbg's mode SHAPE was imported with at first
        return frozenset(COUNTS)
    return frozenset(text.split(", ")) & frozenset((*_NAMES, ONE_COUNT))


def unknown_counts(catalog: Catalog, rows: Array | slice) -> dict[str, Mask]:
    """The rows that lack a count, bool [rows] by the count's name; names that all rows have are not listed.

    Where counts do not add up to the size, the signs of the others are unknown, and what the run's info
    names. Where the info names the size, only what is above 0 is known, or that none is NaN or infinite.
    """
    if not (catalog.unreported_counts or catalog.partial):
        return {}
    columns = {name: catalog.column(name, rows).astype(np.int64) for name in _NAMES}
    left = columns["size"] - np.sum([columns[name] for name in ELEMENT_KINDS], axis=0)
    text = catalog.column("dtype", rows) == catalog.dtypes.code("string")
    unknown = _of_sizes(catalog, rows, columns, left) if "size" in catalog.unreported_counts else {}
    partial = (left > 0) & ~text
    for name in {*_FINITE, "subnormal"} | (catalog.unreported_counts & {*_NOT_FINITE}):
        unknown[name] = unknown.get(name, False) | (partial & (columns[name] == 0))
    if "subnormal" in catalog.unreported_counts:
        stored = catalog.column("shard", rows) > NOT_KEPT
        numbers = (columns["negative"] + columns["positive"] > 0) & (columns["subnormal"] == 0)
        unknown["subnormal"] |= numbers & ~stored  # stored values were measured here
    return {name: mask for name, mask in unknown.items() if mask.any()}


def not_counted_by_tensor(catalog: Catalog) -> Array:
    """Number of snapshots of each tensor that may have an uncounted NaN or infinity, int64 [tensors]."""
    count = catalog.rows  # before the tensors: as many as these rows name are there
    total = np.zeros(len(catalog.tensors), np.int64)
    if "nan" not in catalog.unreported_counts:
        return total
    for first in range(0, count, _BATCH_ROWS):
        rows = slice(first, min(first + _BATCH_ROWS, count))
        unknown = unknown_counts(catalog, rows).get("nan")
        if unknown is not None:
            bad = np.logical_or.reduce([catalog.column(kind, rows) > 0 for kind in _NOT_FINITE])
            total += np.bincount(catalog.column("tensor", rows)[unknown & ~bad], minlength=len(total))
    return total


def snapshots_not_counted(catalog: Catalog) -> int:
    """Number of snapshots that may have an uncounted NaN or infinity."""
    return int(not_counted_by_tensor(catalog).sum())


def at_least(count: int, not_counted: int) -> int | None:
    """A number of snapshots with NaN or infinity; None if it is 0 and some may have one."""
    return None if not_counted and not count else count


def _of_sizes(
    catalog: Catalog, rows: Array | slice, columns: dict[str, Array], left: Array
) -> dict[str, Mask]:
    """Unknown counts of tensors of unknown size; their NaN and infinities are then unknown, too."""
    bad: Array = np.sum([columns[name] for name in _NOT_FINITE], axis=0)
    nothing = np.isnan(catalog.column("abs_max", rows)) & (catalog.column("shard", rows) <= NOT_KEPT)
    unsized = nothing & (left == 0) & (columns["size"] == bad)
    unknown = dict.fromkeys(("size", *_FINITE, "subnormal"), unsized)
    unknown |= {name: unsized & (columns[name] == 0) for name in catalog.unreported_counts & {*_NOT_FINITE}}
    if ONE_COUNT in catalog.unreported_counts:
        unknown |= {name: unsized & (bad > 0) & (columns[name] == 0) for name in _NOT_FINITE}
    return unknown
