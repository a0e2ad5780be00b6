"""Measures many arrays into one table: small ones together in one call, large ones one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensortap.core.dtypes import STRING, Array
from tensortap.core.histogram import BUCKETS
from tensortap.core.records import Summary, SummaryTable

from .compile import CannotCompileError, kernel, scratch
from .moments import SMALL, Measured
from .summarize import HUGE, MINUTE, measure, scaled, scan, summarize_normal, tiny_id

# dtypes that float64 represents exactly; int64 only up to 2^53.
_EXACT = frozenset(
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32", "float64"]
)
_LARGEST = 1 << 53
_NO_IDS, _NO_COUNTS = np.empty(0, np.uint16), np.empty(0, np.int64)


class BatchSummarizer:
    """Collects the summaries of `count` normalized arrays.

    Each array is given to `add`; those that are small are measured by `summaries` only, together. Results
    equal those of `summarize`, except that sums may be in another order, so the last bits of mean, std and l2
    may differ.
    """

    def __init__(self, count: int) -> None:
        self._dtypes = [""] * count
        self._shapes: list[tuple[int, ...]] = [()] * count
        self._arrays: list[Array | None] = [None] * count  # those that `summaries` still needs
        self._small: dict[str, list[int]] = {}  # by dtype
        self._sizes = np.zeros(count, np.int64)
        self._results = np.zeros((count, 12), np.int64)  # as the kernel `finish` leaves them
        self._bucket_ids: list[Any] = [_NO_IDS] * count
        self._bucket_counts: list[Any] = [_NO_COUNTS] * count

    def add(self, row: int, values: Array, dtype: str) -> int | None:
        """Array number `row`; returns its number of zeros, or None if unknown yet."""
        self._dtypes[row], self._shapes[row], self._sizes[row] = dtype, values.shape, values.size
        if dtype == STRING or not values.size:
            return 0
        self._arrays[row] = values
        if values.size > SMALL or dtype not in _EXACT:
            return self._measure(row)
        self._small.setdefault(dtype, []).append(row)
        return None

    def summaries(self) -> SummaryTable:
        """The summaries of all arrays."""
        for dtype, rows in self._small.items():
            self._measure_small(dtype, rows)
        integers = np.column_stack((self._sizes, self._results[:, :7]))
        return SummaryTable(
            self._dtypes,
            self._shapes,
            integers,
            self._statistics(),
            self._bucket_ids,
            self._bucket_counts,
        )

    def _array(self, row: int) -> Array:
        array = self._arrays[row]
        assert array is not None
        return array

    def _measure(self, row: int) -> int:
        values, dtype, result = self._array(row).reshape(-1), self._dtypes[row], self._results[row]
        try:
            memory = scratch()
            scan(values, dtype, memory.acc)
        except CannotCompileError:
            self._put(row, measure(values, dtype))
        else:
            self._bucket_ids[row], self._bucket_counts[row] = memory.finish_into(tiny_id(dtype), result)
        return int(result[3])

    def _put(self, row: int, found: Measured) -> None:
        self._results[row, :8] = found[1:9]
        self._results[row, 8:].view(np.float64)[:] = found[9:]
        histogram = found.histogram
        self._bucket_ids[row], self._bucket_counts[row] = histogram.bucket_id, histogram.bucket_count

    def _measure_small(self, dtype: str, rows: Sequence[int]) -> None:
        together = np.concatenate([self._array(row).reshape(-1) for row in rows])
        try:
            scan_small = kernel("scan_small")
        except CannotCompileError:
            scan_small = None
        if scan_small is None or (dtype == "int64" and not _are_exact(together)):
            for row in rows:
                self._measure(row)
            return
        with np.errstate(invalid="ignore"):  # signalling NaNs
            values = together.astype(np.float64, copy=False)
        room = values.size + BUCKETS
        ids, counts = np.empty(room, np.uint16), np.empty(room, np.int64)
        used, results = np.empty(len(rows), np.int64), np.empty((len(rows), 12), np.int64)
        ends, acc = np.cumsum(self._sizes[rows]), scratch().acc
        scan_small(values, values.view(np.int64), ends, tiny_id(dtype), acc, ids, counts, used, results)
        self._results[rows] = results
        start = 0
        for row, end in zip(rows, np.cumsum(used).tolist(), strict=True):
            self._bucket_ids[row], self._bucket_counts[row] = ids[start:end], counts[start:end]
            start = end

    def _statistics(self) -> npt.NDArray[np.float64]:
        """min, max, mean, std, l2 and abs_max of all arrays, from the moments (see `summarize`)."""
        finite = self._results[:, 7]
        mean, m2, low, high = self._results[:, 8:].view(np.float64).T
        with np.errstate(all="ignore"):  # rows without finite elements, and those measured again below
            abs_max = np.maximum(np.abs(low), np.abs(high))
            std, l2 = np.sqrt(m2 / finite), np.sqrt(m2 + finite * mean * mean)
        found = np.column_stack((low, high, mean, std, l2, abs_max))
        ordinary = ((abs_max > MINUTE) & (abs_max < HUGE)) | (abs_max == 0)
        for row in np.flatnonzero((finite > 0) & ~ordinary).tolist():
            found[row, 2:5] = scaled(self._array(row).reshape(-1), float(abs_max[row]))
        found[finite == 0] = np.nan
        return found


class SingleSummarizer:
    """As `BatchSummarizer`, for one array: in a fifth of the time."""

    def add(self, row: int, values: Array, dtype: str) -> int:
        """The array; returns how many of its elements are zero."""
        self._summary = summarize_normal(values, dtype)
        return self._summary.zero

    def summaries(self) -> list[Summary]:
        """The summary of the array."""
        return [self._summary]


def _are_exact(integers: Array) -> bool:
    """Whether float64 represents all of these exactly."""
    return bool(integers.min() >= -_LARGEST and integers.max() <= _LARGEST)
