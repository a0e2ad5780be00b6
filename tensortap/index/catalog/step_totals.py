"""The steps of a run, and totals by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tensortap.core.dtypes import Array, Ints

from .columns import factorize_rows


@dataclass(frozen=True, slots=True)
class StepTable:
    """One row per step, ascending: time of its first snapshot (seconds since 1970), and its numbers of
    snapshots, of snapshots with NaN, and of snapshots with infinities."""

    step: Ints
    time: np.ndarray[Any, np.dtype[np.float64]]
    snapshots: Ints
    nan: Ints
    inf: Ints

    def __len__(self) -> int:
        return len(self.step)


class StepTotals(NamedTuple):
    """Numbers of snapshots by graph (its code) and step, `nan` to `partial` of those with a trait; times are
    us since 1970."""

    graph: Array
    step: Array
    snapshots: Array
    nan: Array
    inf: Array
    nonfinite: Array
    partial: Array
    first_time: Array
    last_time: Array


class StepTally:
    """Steps as codes in order of appearance, with running totals."""

    def __init__(self) -> None:
        self.values: Ints = np.zeros(0, np.int64)  # step by code; replaced, never changed
        self._codes: dict[int, int] = {}
        self._snapshots, self._nan, self._inf = Tally(), Tally(), Tally()
        self._time: Ints = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.values)

    def code(self, step: int) -> int | None:
        """The code of a step, None if it has no snapshot."""
        return self._codes.get(step)

    def encode(self, steps: Array) -> Array:
        """The codes (int32) of steps, new ones where needed."""
        codes, first = factorize_rows((steps,))
        distinct = steps[first].tolist()
        known = len(self._codes)
        table = np.array([self._codes.setdefault(step, len(self._codes)) for step in distinct], np.int32)
        added = [step for step, code in zip(distinct, table.tolist(), strict=True) if code >= known]
        self.values = np.concatenate((self.values, np.array(added, np.int64)))
        return table[codes]

    def count(self, codes: Array, nan: Array, inf: Array, time: Array) -> None:
        """Adds snapshots: step codes, flags of NaN and infinities, times (us since 1970)."""
        self._snapshots.count(codes)
        self._nan.count(codes[nan])
        self._inf.count(codes[inf])
        self._note_times(codes, time)

    def add(self, totals: StepTotals) -> None:
        """Adds totals of steps."""
        codes = self.encode(totals.step)
        self._snapshots.add(codes, totals.snapshots)
        self._nan.add(codes, totals.nan)
        self._inf.add(codes, totals.inf)
        self._note_times(codes, totals.first_time)

    def _note_times(self, codes: Array, time: Array) -> None:
        times = np.full(len(self.values), np.iinfo(np.int64).max)
        times[: len(self._time)] = self._time
        np.minimum.at(times, codes, time)
        self._time = times

    def arrays(self) -> dict[str, Array]:
        """Everything, for `restore`."""
        count = len(self.values)
        tallies = {"snapshots": self._snapshots, "nan": self._nan, "inf": self._inf}
        totals = {name: tally.totals(count) for name, tally in tallies.items()}
        return {"values": self.values, "time": self._time, **totals}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restores the output of `arrays`."""
        self.values = arrays["values"].astype(np.int64)
        self._codes = {step: code for code, step in enumerate(self.values.tolist())}
        self._time = arrays["time"].astype(np.int64)
        for name, tally in (("snapshots", self._snapshots), ("nan", self._nan), ("inf", self._inf)):
            tally.restore(arrays[name])

    def span(self) -> tuple[int | None, int | None, int]:
        """The first step, the last one (None without steps), and their number."""
        if not len(self.values):
            return None, None, 0
        return int(self.values.min()), int(self.values.max()), len(self.values)

    def table(self) -> StepTable:
        """The totals, one row per step, ascending."""
        count = len(self._time)
        order = np.argsort(self.values[:count])
        totals = (tally.totals(count)[order] for tally in (self._snapshots, self._nan, self._inf))
        return StepTable(self.values[:count][order], self._time[order] / 1e6, *totals)


class GraphSteps:
    """Step totals per graph (by its code): only the steps at which that graph was captured."""

    def __init__(self) -> None:
        self._tallies: dict[int, StepTally] = {}
        self._none = StepTally()

    def of(self, graph: int | None) -> StepTally:
        """The steps of a graph; an empty tally if it was not captured."""
        return self._none if graph is None else self._tallies.get(graph, self._none)

    @property
    def tallies(self) -> dict[int, StepTally]:
        """The tallies by graph code."""
        return dict(self._tallies)

    def restore(self, tallies: dict[int, StepTally]) -> None:
        """Restore the tallies by graph code."""
        self._tallies = tallies

    def count(self, graphs: Array, steps: Array, nan: Array, inf: Array, time: Array) -> None:
        """Adds snapshots: graph codes, steps, flags of NaN and infinities, times (us since 1970)."""
        order = np.argsort(graphs, kind="stable")
        distinct, starts = np.unique(graphs[order], return_index=True)
        for graph, rows in zip(distinct.tolist(), np.split(order, starts[1:]), strict=True):
            tally = self._tallies.setdefault(graph, StepTally())
            tally.count(tally.encode(steps[rows]), nan[rows], inf[rows], time[rows])

    def add(self, totals: StepTotals) -> None:
        """Adds totals of graphs and steps."""
        for graph in np.unique(totals.graph).tolist():
            mine = totals.graph == graph
            self._tallies.setdefault(graph, StepTally()).add(StepTotals(*(c[mine] for c in totals)))


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

    def add(self, codes: Array, times: Array) -> None:
        """Adds a number to the count of each code."""
        if len(codes):
            totals = self.totals(max(int(codes.max()) + 1, len(self._totals)))
            np.add.at(totals, codes, times)
            self._totals = totals

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
