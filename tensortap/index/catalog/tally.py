"""Running totals by code."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array, Ints


class Tally:
    """How often each code was counted."""

    def __init__(self) -> None:
        self._totals: Ints = np.zeros(0, np.int64)

    def count(self, codes: Array) -> None:
        """Counts each code once for each time it occurs."""
        if len(codes):
            added = np.bincount(codes)
            self._totals = self.totals(max(len(added), len(self._totals)))
            self._totals[: len(added)] += added

    def restore(self, totals: Array) -> None:
        """Sets the totals of all codes."""
        self._totals = totals.astype(np.int64)

    def totals(self, length: int) -> Ints:
        """A copy of the totals of codes 0 … length - 1."""
        totals = np.zeros(length, np.int64)
        known = self._totals[:length]
        totals[: len(known)] = known
        return totals

    def of(self, code: int) -> int:
        """The total of one code."""
        return int(self._totals[code]) if code < len(self._totals) else 0
