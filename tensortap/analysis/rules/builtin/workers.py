"""Rules about the workers of a job: those that leave the others, are missing, or slow.

In synchronous data-parallel training each worker holds a copy of every weight and applies the same summed
gradient, so the copies stay equal. One that leaves the others points to a missed or doubled all-reduce, to
memory or hardware that computes wrong numbers, or to state that was restored on some workers only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.text import counted

from ...model_graph.roles import TensorRole
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows
from ..finding import Evidence, Hit, Severity
from ..rule import Limits, rule

_COLUMNS = ("size", "nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "min", "max", "mean", "l2")
_NAMED_RANKS = 5
_FEWEST_WORKERS = 3  # of two none is usual
_MOST_TIMES = 1 << 22  # of workers and steps, the last ones
_BATCH_TENSORS = 64  # tensors whose rows are in memory at once


@rule(
    "ReplicaDrift",
    "a worker whose weights or all-reduced gradients differ from the other workers",
    thresholds={"tolerance": 1e-12, "agreed_steps": 3},
    severity="high",
    source="tensortap: equal updates of equal weights give equal statistics on all replicas",
    help="Restart the worker from a checkpoint of another one, and compare them with tensortap diff "
    "--worker.",
    next_look="Compare the tensor on both workers, at this step and the previous one.",
)
def replica_drift(view: RunView, limits: Limits) -> Iterable[Hit]:
    if len(view.run.catalog.workers) < 2:
        return
    drifts = []
    differing = view.run.catalog.differing
    replicated = [
        tensor for tensor in view.where(_may_be_replicated) if differing is None or tensor.code in differing
    ]
    for start in range(0, len(replicated), _BATCH_TENSORS):
        rows = view.few_rows(replicated[start : start + _BATCH_TENSORS])
        for code, place in rows.groups():
            tensor = view.tensors[code]
            least = 0 if tensor.op_type else int(limits["agreed_steps"])
            found = _drift(tensor, rows.part(place), limits["tolerance"], least)
            if found:
                drifts.append(found)
    drifts.sort(key=lambda drift: (drift.workers, drift.first_step, drift.tensor.order, drift.tensor.name))
    for _, same in groupby(drifts, key=lambda drift: drift.workers):
        first, *others = same
        yield _hit(view, first, others, limits["tolerance"])


@rule(
    "MissingWorker",
    "a worker of a job that wrote nothing, stopped before the others, or fell behind",
    thresholds={"steps": 3, "share": 0.02},
    severity="medium",
    source="tensortap: the processes of one job capture the same steps",
    help="Read the log of that process, and check the machine it ran on.",
    next_look="Check its last captured tensors, and its events.",
)
def missing_worker(view: RunView, limits: Limits) -> Iterable[Hit]:
    """By rank: a process that was started again is a further worker of its rank."""
    catalog, ranks = view.run.catalog, {w.id: w.rank for w in view.run.workers if w.rank is not None}
    if len(set(ranks.values())) < 2 or not view.rows_seen:
        return
    rows = slice(0, view.rows_seen)
    step, last = catalog.column("step", rows), np.full(len(catalog.workers), -1, np.int64)
    np.maximum.at(last, catalog.column("worker", rows), step)
    last_of = dict.fromkeys(range(max(ranks.values()) + 1), -1)
    for code, name in enumerate(catalog.workers.values[: len(last)]):
        if name in ranks:
            last_of[ranks[name]] = max(last_of[ranks[name]], int(last[code]))
    steps = np.unique(catalog.steps.values[: len(catalog.steps)])
    steps = steps[steps <= sorted(last_of.values())[len(last_of) // 2]]  # that most workers reached
    least = max(limits["steps"], limits["share"] * len(steps))
    behind: dict[int, list[int]] = {}
    for rank, reached in last_of.items():
        if np.count_nonzero(steps > reached) >= least:
            behind.setdefault(reached, []).append(rank)
    for reached, some in sorted(behind.items()):
        missed = steps[steps > reached]
        tensor = view.tensors[int(view.rows_at(int(missed[0])).tensor[0])]
        yield Hit.at(missed, len(steps), tensor, _missing_text(some, reached, len(last_of), missed))


@rule(
    "SlowWorker",
    "a worker whose steps take longer than those of the others",
    thresholds={"factor": 1.25, "steps": 5},
    severity="medium",
    source="tensortap: the processes of one job do equal work at each step",
    help="Compare its machine with the others: temperature, clock, other processes, the input pipeline.",
    next_look="Check the input pipeline, and the load of that machine.",
)
def slow_worker(view: RunView, limits: Limits) -> Iterable[Hit]:
    """By the times of capture, of each worker's own clock. Workers that wait for each other at each step take
    equally long, whoever is slow."""
    catalog, ranked = view.run.catalog, {w.id for w in view.run.workers if w.rank is not None}
    numbered = np.array([name in ranked for name in catalog.workers.values], np.bool_)
    workers = int(np.count_nonzero(numbered))
    if workers < _FEWEST_WORKERS or not view.rows_seen:
        return
    steps, codes = np.unique(catalog.steps.values[: len(catalog.steps)], return_index=True)
    codes, steps = codes[-(_MOST_TIMES // workers) :], steps[-(_MOST_TIMES // workers) :]
    seconds = np.diff(_times(view, codes)) / np.diff(steps) / 1e6
    seconds[(seconds <= 0) | ~numbered[:, np.newaxis]] = np.nan  # also where a clock was set back
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing but NaN
        usual = np.nanmedian(seconds, axis=0)
        factor = np.nanmedian(seconds / usual, axis=1)
        typical = np.nanmedian(seconds, axis=1)
    compared = np.count_nonzero(~np.isnan(seconds), axis=1)
    slow = np.flatnonzero((factor >= limits["factor"]) & (compared >= limits["steps"]))
    for code in slow[np.argsort(-factor[slow], kind="stable")][:_NAMED_RANKS].tolist():
        at = steps[1:][seconds[code] >= limits["factor"] * usual]
        others = float(typical[code] / factor[code])
        text = (
            f"A step of {_label(view, code)} takes {factor[code]:.3g} times as long as that of the other "
            f"{counted(workers - 1, 'worker')}: {typical[code]:.3g} s instead of {others:.3g} s."
        )
        tensor = view.tensors[int(view.rows_at(int(at[0])).tensor[0])]
        evidence = Evidence(int(at[0]), "seconds per step", float(typical[code]), others * limits["factor"])
        yield Hit.at(at, int(compared[code]), tensor, text, evidence)


def _times(view: RunView, codes: Array) -> Array:
    """When each worker first captured something of some steps (by code), in microseconds, float64 [workers,
    codes]; NaN where it did not."""
    catalog = view.run.catalog
    place = np.full(len(catalog.steps), -1)
    place[codes] = np.arange(len(codes))
    found = np.full((len(catalog.workers), len(codes)), np.inf)
    for block in catalog.blocks():
        block = slice(block.start, min(block.stop, view.rows_seen))
        column = place[catalog.parts.column("step", block, view.rows_seen)]
        seen = column >= 0
        worker, time = catalog.column("worker", block), catalog.column("time", block)
        np.minimum.at(found, (worker[seen], column[seen]), time[seen])
    found[np.isinf(found)] = np.nan
    return found


def _missing_text(ranks: Sequence[int], reached: int, of: int, missed: Array) -> str:
    more = "" if len(ranks) <= _NAMED_RANKS else f" and {len(ranks) - _NAMED_RANKS} more"
    who = f"{'Worker' if len(ranks) == 1 else 'Workers'} {', '.join(map(str, ranks[:_NAMED_RANKS]))}{more}"
    what = "wrote no snapshot" if reached < 0 else f"wrote nothing after step {reached}"
    others = counted(of - len(ranks), "other worker")
    return f"{who} {what}; the {others} continued to step {int(missed[-1])}."


def _may_be_replicated(tensor: TensorRole) -> bool:
    """Also tensors without a graph."""
    return not tensor.op_type or tensor.is_replicated


@dataclass(frozen=True, slots=True)
class _Drift:
    """Workers that differ from the others: their codes, ascending; `steps` at which they differ, ascending.

    `column` is the statistic that differs first, `own` its value on the first of the workers and `usual` on
    most of the `of` workers that captured the tensor at the first of the steps.
    """

    tensor: TensorRole
    workers: tuple[int, ...]
    of: int
    steps: Array
    compared: int
    column: str
    own: float
    usual: float

    @property
    def first_step(self) -> int:
        return int(self.steps[0])


def _drift(tensor: TensorRole, rows: SnapshotRows, tolerance: float, agreed_steps: int) -> _Drift | None:
    """Where most workers agree on a tensor and others do not, if they agreed on it before or are a minority.

    Args:
        rows: the tensor's snapshots by all workers, ordered by step and visit.
        tolerance: difference from the value that most workers hold, relative to that, up to which two sums
            are equal: kernels for different processors add in different orders.
        agreed_steps: at how many earlier steps all workers must have agreed.
    """
    step, visit, worker = rows.step, rows["visit"], rows["worker"].astype(np.int64)
    new = np.append(True, (step[1:] != step[:-1]) | (visit[1:] != visit[:-1]))
    moment = np.cumsum(new) - 1  # each (step, visit) by number
    size = np.bincount(moment)
    differs, where = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.int64)
    usual = {}
    for place, name in reversed(list(enumerate(_COLUMNS))):
        column = rows[name]
        usual[name] = _middle(column, moment, size)[moment]
        with np.errstate(invalid="ignore"):
            near = np.abs(column - usual[name]) <= tolerance * np.abs(usual[name])
        equal = near | (column == usual[name]) | (np.isnan(column) & np.isnan(usual[name]))
        where[~equal] = place
        differs |= ~equal
    differing = np.bincount(moment, differs)
    judged = (size >= 2) & (differing <= size / 2)
    alike = np.flatnonzero(judged & (differing == 0))
    drifted = np.flatnonzero(judged & (differing > 0))
    if not len(drifted):
        return None
    at = int(drifted[0])
    if np.any((size >= 2) & ~judged & (np.arange(len(size)) < at)):
        return None  # most workers differed before: they do not train in step
    before = len(np.unique(step[np.flatnonzero(new)[alike[alike < at]]]))
    if before < max(agreed_steps, 1 if differing[at] * 2 == size[at] else 0):
        return None  # of two that never agreed none has left the other
    here = np.flatnonzero((moment == at) & differs)
    name = _COLUMNS[where[here[0]]]
    steps = np.unique(step[differs & (moment >= at)])
    workers = tuple(np.unique(worker[here]).tolist())
    compared = len(np.unique(step[(size >= 2)[moment]]))
    return _Drift(
        tensor,
        workers,
        int(size[at]),
        steps,
        compared,
        name,
        float(rows[name][here[0]]),
        float(usual[name][here[0]]),
    )


def _middle(column: Array, moment: Array, size: Array) -> Array:
    """The lower median of a column at each moment, i.e. the value of most workers if most agree; with two
    workers the first one's."""
    ordered = column[np.lexsort((column, moment))]
    first = np.cumsum(size) - size
    middle: Array = np.where(size == 2, column[first], ordered[first + (size - 1) // 2])
    return middle


def _hit(view: RunView, drift: _Drift, others: Sequence[_Drift], tolerance: float) -> Hit:
    tensor = drift.tensor
    name = tensor.variable or tensor.name
    if drift.of == 2:
        who = f"{name} differs between the two workers"
    else:
        labels = [_label(view, code) for code in drift.workers]
        shown = " and ".join(labels[:2]) if len(labels) <= 2 else f"{labels[0]} and {len(labels) - 1} others"
        verb = "differs" if len(labels) == 1 else "differ"
        who = f"{name} of {shown} {verb} from that of the other {counted(drift.of - len(labels), 'worker')}"
    text = (
        f"{who} from step {drift.first_step} on: {drift.column} {drift.own:.9g} instead of {drift.usual:.9g}."
    )
    if others:
        text += f" {counted(len(others), 'other tensor')} also differ{'s' if len(others) == 1 else ''},"
        text += f" the first from step {min(other.first_step for other in others)} on."
    evidence = [Evidence(drift.first_step, "share of workers that differ", len(drift.workers) / drift.of)]
    if math.isfinite(drift.own) and math.isfinite(drift.usual) and drift.usual:
        apart = abs(drift.own - drift.usual) / abs(drift.usual)
        what = f"relative difference of {drift.column}"
        evidence.insert(0, Evidence(drift.first_step, what, apart, tolerance))
    severity: Severity | None = "medium" if drift.of == 2 else None  # perhaps they are not meant to agree
    return Hit.at(drift.steps, drift.compared, tensor, text, *evidence, severity=severity)


def _label(view: RunView, code: int) -> str:
    known = view.run.catalog.workers[code]
    ranks = {worker.id: worker.rank for worker in view.run.workers}
    rank = ranks.get(known)
    return f"worker {known}" if rank is None else f"worker {rank}"
