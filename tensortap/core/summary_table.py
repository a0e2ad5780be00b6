"""The summaries of many arrays, by column: what a record batch of statistics is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from .histogram import Histogram
from .model import COUNTS, STATISTICS, Summary

INTEGERS = ("size", *COUNTS)

_INTEGERS_OF = attrgetter(*INTEGERS)
_STATISTICS_OF = attrgetter(*STATISTICS)


@dataclass(frozen=True, slots=True)
class SummaryTable(Sequence[Summary]):
    """n summaries; a sequence of `Summary`, each made when it is asked for.

    Attributes:
        dtypes, shapes: of the arrays.
        integers: int64[n, 8], in the order of `INTEGERS`.
        statistics: float64[n, 6], in the order of `STATISTICS`.
        bucket_ids, bucket_counts: the histograms: uint16[k] and int64[k] each.
    """

    dtypes: Sequence[str]
    shapes: Sequence[tuple[int, ...]]
    integers: npt.NDArray[np.int64]
    statistics: npt.NDArray[np.float64]
    bucket_ids: Sequence[npt.NDArray[np.uint16]]
    bucket_counts: Sequence[npt.NDArray[np.int64]]

    @staticmethod
    def of(summaries: Sequence[Summary]) -> SummaryTable:
        """The table of these."""
        count = len(summaries)
        return SummaryTable(
            [summary.dtype for summary in summaries],
            [summary.shape for summary in summaries],
            np.array([_INTEGERS_OF(summary) for summary in summaries], np.int64).reshape(
                count, len(INTEGERS)
            ),
            np.array([_STATISTICS_OF(summary) for summary in summaries], np.float64).reshape(
                count, len(STATISTICS)
            ),
            [summary.histogram.bucket_id for summary in summaries],
            [summary.histogram.bucket_count for summary in summaries],
        )

    def take(self, rows: Sequence[int], shapes: Sequence[tuple[int, ...]]) -> SummaryTable:
        """The table of the rows of these numbers, each with the shape that is given."""
        return SummaryTable(
            [self.dtypes[row] for row in rows],
            shapes,
            self.integers[rows],
            self.statistics[rows],
            [self.bucket_ids[row] for row in rows],
            [self.bucket_counts[row] for row in rows],
        )

    def __len__(self) -> int:
        return len(self.dtypes)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        numbers: list[Any] = [*self.integers[row].tolist(), *self.statistics[row].tolist()]
        return Summary(
            self.dtypes[row],
            self.shapes[row],
            **dict(zip((*INTEGERS, *STATISTICS), numbers, strict=True)),
            histogram=Histogram(self.bucket_ids[row], self.bucket_counts[row]),
        )
