"""Elements of stored values at one step, read as little as possible; None where nothing was stored."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import TensortapError
from tensortap.index.values import nonfinite_elements, read_slice

from ...model_graph.constants import constant_text, nested_list
from ...model_graph.roles import Slot
from ..nonfinite_flow import NonfiniteFlow

MAX_BYTES = 8 << 20  # of one slice: a sum over more elements is not looked into


class StoredElements:
    """Reads elements of a step's tensors."""

    def __init__(self, flow: NonfiniteFlow) -> None:
        self._flow = flow

    def read(self, slot: Slot, visit: int | None, parts: tuple[int | slice, ...]) -> Array | None:
        """A slice of a captured value or of a small constant."""
        if slot not in self._flow.tensors.captured:
            value = self.constant(slot)
            try:
                return None if value is None else np.asarray(value[parts])
            except IndexError:  # a graph whose shapes do not fit
                return None
        snapshot = self._flow.tensors.snapshot(slot, visit)
        if not snapshot.kept or len(parts) != len(snapshot.shape):
            return None
        try:
            return np.asarray(read_slice(self._flow.tensors.run, snapshot, parts, limit=MAX_BYTES))
        except (TensortapError, OSError):  # damaged, kept in part, too large, or deleted meanwhile
            return None

    def constant(self, slot: Slot) -> Array | None:
        """The value of a constant that the graph writes out."""
        text = constant_text(self._flow.tensors.roles.attributes(slot[0]))
        found = None if text is None else nested_list(text)
        try:
            return None if found is None else np.asarray(found)
        except ValueError:  # rows of unequal length
            return None

    def nonfinite(self, slot: Slot, visit: int, limit: int) -> list[tuple[int, ...]]:
        """Positions of the first non-finite elements of a whole kept value."""
        snapshot = self._flow.tensors.snapshot(slot, visit)
        if not snapshot.kept:
            return []
        try:
            found = nonfinite_elements(self._flow.tensors.run, snapshot, limit=limit)
        except (TensortapError, OSError):
            return []
        whole = found.total == snapshot.nan + snapshot.pos_inf + snapshot.neg_inf
        fits = found.indices.shape[1:] == (len(snapshot.shape),)
        return [tuple(index) for index in found.indices.tolist()] if whole and fits else []
