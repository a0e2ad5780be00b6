"""The first steps of each tensor, and what was told of them, while a run grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensortap.core.dtypes import Array

from ...series.snapshot_rows import Rows, distinct


class FirstSteps:
    """The first steps of each tensor, at most so many, ascending.

    Attributes:
        told: by tensor, whatever was told of snapshots up to its last first step; gone when more come there.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._steps: dict[int, Array] = {}
        self.told: dict[int, Any] = {}

    def of(self, code: int) -> Array:
        """The first steps of a tensor."""
        return self._steps.get(code, _NONE)

    def forget(self, code: int) -> None:
        """Nothing was seen of a tensor."""
        self._steps.pop(code, None)
        self.told.pop(code, None)

    def add(self, rows: Rows) -> None:
        """Adds snapshots, of each tensor behind those that were added before."""
        for code, part in rows.groups():
            known = self.of(code)
            if len(known) < self._most or rows.step[part.start] <= known[-1]:
                self._steps[code] = distinct(np.append(known, rows.step[part]))[: self._most]
                self.told.pop(code, None)


_NONE = np.zeros(0, np.int64)
