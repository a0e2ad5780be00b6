"""Histograms of many rows as three arrays: where each row begins, bucket ids, bucket counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Array, Ints


class Ragged(NamedTuple):
    """Row `i` has the buckets `ids[starts[i]:starts[i + 1]]`.

    Attributes:
        starts: int64 [rows + 1], from 0.
        ids: uint16. counts: integers, as narrow as they allow.
    """

    starts: Ints
    ids: Array
    counts: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return self.starts.nbytes + self.ids.nbytes + self.counts.nbytes

    def row(self, i: int) -> tuple[Array, Array]:
        """(ids, counts) of one row."""
        start, stop = self.starts[i : i + 2].tolist()
        return self.ids[start:stop], self.counts[start:stop]

    def take(self, rows: Array) -> Ragged:
        """The histograms of some rows, in that order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = starts_of(lengths)
        if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows) and (np.diff(rows) == 1).all():
            part = slice(int(self.starts[rows[0]]), int(self.starts[rows[-1] + 1]))
            return Ragged(starts, self.ids[part], self.counts[part])
        at = np.repeat(self.starts[:-1][rows] - starts[:-1], lengths) + np.arange(int(starts[-1]))
        return Ragged(starts, self.ids[at], self.counts[at])


def starts_of(lengths: Array) -> Ints:
    """Start of each of some consecutive pieces, and the end of the last: int64 [pieces + 1]."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def concatenated(parts: Sequence[Ragged]) -> Ragged:
    """Several sets of rows, one after the other."""
    if not parts:
        return Ragged(np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.uint8))
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    ids = np.concatenate([part.ids for part in parts])
    return Ragged(starts_of(lengths), ids, np.concatenate([part.counts for part in parts]))


def narrowed(counts: Array) -> Array:
    """Non-negative integers in the narrowest unsigned dtype that holds the largest."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
