"""Histogram buckets: the top 10 bits of a value as float32 (FORMAT.md, "Histogram buckets")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

BUCKETS = 1024  # ids 0..511 are positive, 512..1023 their mirror images
TOP = 510  # [2^128, inf): only float64 and wider reach it
_SIGN = 512


def _edges() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Smallest and largest magnitude by id & 511; id 511 would be NaN's and is empty."""
    edge = (np.arange(TOP, dtype=np.uint32) << np.uint32(22)).view(np.float32).astype(np.float64)
    near = np.concatenate([edge, [2.0**128, np.inf]])
    far = np.concatenate([edge[1:], [2.0**128, np.inf, np.inf]])
    return near, far


_NEAR, _FAR = _edges()


def bucket_edges(ids: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Edges of buckets: `(left, right)`, float64, same shape as `ids`, `left < right`.

    A positive bucket is `[left, right)`, a negative one `(left, right]`.
    """
    ids = np.asarray(ids, np.int64)
    magnitude, negative = ids & (_SIGN - 1), ids >= _SIGN
    near, far = _NEAR[magnitude], _FAR[magnitude]
    return np.where(negative, -far, near), np.where(negative, -near, far)


def value_order(ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """A key for each id that sorts buckets by value: negative below zero, positive from zero up."""
    ids = np.asarray(ids, np.int64)
    return np.where(ids >= _SIGN, _SIGN - 1 - ids, ids)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of the finite non-zero elements of one or more arrays.

    `bucket_id` (uint16[k]) ascends and holds no empty bucket; `bucket_count` (int64[k]) are the counts.
    """

    bucket_id: npt.NDArray[np.uint16]
    bucket_count: npt.NDArray[np.int64]

    @staticmethod
    def empty() -> Histogram:
        """A histogram without elements."""
        return Histogram(np.empty(0, np.uint16), np.empty(0, np.int64))

    @staticmethod
    def from_table(table: npt.NDArray[Any]) -> Histogram:
        """The non-empty ones of `BUCKETS` counts by id."""
        ids = np.flatnonzero(table)
        return Histogram(ids.astype(np.uint16), table[ids].astype(np.int64))

    @property
    def total(self) -> int:
        """How many elements were counted."""
        return int(self.bucket_count.sum())

    def buckets(self) -> list[tuple[float, float, int]]:
        """`(left, right, count)` ascending by value, without exact zeros."""
        order = np.argsort(value_order(self.bucket_id))
        left, right = bucket_edges(self.bucket_id[order])
        return list(zip(left.tolist(), right.tolist(), self.bucket_count[order].tolist(), strict=True))

    def merge(self, other: Histogram) -> Histogram:
        """The histogram of both arrays' elements together; exact, as all buckets have the same edges."""
        table = np.zeros(BUCKETS, np.int64)
        for part in (self, other):
            table[part.bucket_id] += part.bucket_count
        return Histogram.from_table(table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        same_ids = np.array_equal(self.bucket_id, other.bucket_id)
        return same_ids and np.array_equal(self.bucket_count, other.bucket_count)

    def __hash__(self) -> int:
        return hash((self.bucket_id.tobytes(), self.bucket_count.tobytes()))
