"""Events of a run: triggers, watches, and which samples fed which step."""

from __future__ import annotations

import contextlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.errors import NotFoundError
from tensortap.dump.format.events import EventsTail, incomplete_line

MAX_EVENTS = 10_000  # of a run that are held; batches do not count
MAX_NAMES = 100  # of one entry of the logs
MAX_LOGS = 200_000  # of a run that are held
MAX_TEXT = 4096  # characters of an id or file name that are held


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event (FORMAT.md, "Events"). `time`: seconds since 1970; `facts`: its other keys."""

    kind: str
    step: int | None
    time: float
    worker: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StepLogs:
    """Logs of the training loop at a step: loss, metrics, learning rate.

    Attributes:
        phase: `train` or `test` (of a batch) or `epoch` (at its end).
        values: by name; NaN and infinities among them.
    """

    step: int
    phase: str
    epoch: int
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class StepBatch:
    """Which samples fed a step: their ids and files, if recorded.

    `count` is their number, should the lists have been cut.
    """

    step: int
    worker: str
    ids: list[str] | None
    files: list[str] | None
    count: int


@dataclass(frozen=True, slots=True)
class SampleUse:
    """An id or a file name, and how many steps it fed, from the first to the last."""

    text: str
    steps: int
    first_step: int
    last_step: int


class _Texts:
    """Interned texts, and the steps that each occurs in."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._steps: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))

    def add(self, texts: Iterable[str], step: int) -> array[int]:
        codes = array("q")
        for text in texts:
            code = self._codes.setdefault(text, len(self._texts))
            if code == len(self._texts):
                self._texts.append(text)
            codes.append(code)
            steps = self._steps[code]
            if not steps or steps[-1] != step:
                steps.append(step)
        return codes

    def decode(self, codes: Iterable[int]) -> list[str]:
        return [self._texts[code] for code in codes]

    def steps(self, text: str) -> list[int]:
        code = self._codes.get(text)
        return [] if code is None else sorted(set(self._steps[code]))

    def containing(self, part: str, limit: int) -> tuple[int, list[SampleUse]]:
        """How many of the texts contain `part` (case does not matter), and the first of them."""
        texts = pa.array(self._texts[:], pa.string())
        found = pc.indices_nonzero(pc.match_substring(texts, part, ignore_case=True)).to_pylist()
        return len(found), [self._fed(code) for code in found[:limit]]

    def _fed(self, code: int) -> SampleUse:
        steps = set(self._steps[code])
        return SampleUse(self._texts[code], len(steps), min(steps), max(steps))


class RunEvents:
    """The events of a run, read as they appear. One thread polls, any number of threads reads.

    Attributes:
        version: grows with every change.
    """

    def __init__(self, path: Path) -> None:
        self.version = 0
        self._path = path
        self._tails: dict[str, EventsTail] = {}
        self._counts: dict[str, int] = {}  # by worker
        self._unread: set[str] = set()  # workers that may have more
        self._events: list[RunEvent] = []
        self._logs: list[StepLogs] = []
        self._ids, self._files = _Texts(), _Texts()
        self._calls: dict[str, dict[int, dict[str, Any]]] = {}
        self._batches: dict[int, list[tuple[str, array[int] | None, array[int] | None, int]]] = {}

    def poll(self, workers: Iterable[str]) -> bool:
        """Reads on, some 8 MB per worker; returns whether there may be more."""
        more = False
        for worker in workers:
            tail = self._tails.setdefault(worker, EventsTail(self._path, worker))
            damage, pending = len(tail.damage), tail.pending
            found = tail.poll()
            for event in found:
                self._add(worker, event)
            self.version += len(found) + len(tail.damage) - damage + (tail.pending != pending)
            self._counts[worker] = self._counts.get(worker, 0) + len(found)
            if found or tail.denied is not None:
                self._unread.add(worker)
            else:
                self._unread.discard(worker)
            more |= bool(found)
        return more

    def count(self, worker: str) -> int | None:
        """Number of events of a worker; None while some are unread or damaged."""
        tail = self._tails.get(worker)
        known = tail is not None and not tail.damage and worker not in self._unread
        return self._counts.get(worker) if known else None

    @property
    def damage(self) -> list[str]:
        """Sentences about skipped lines and unreadable files."""
        return [sentence for tail in list(self._tails.values()) for sentence in tail.problems]

    def unfinished(self, workers: Iterable[str]) -> list[str]:
        """Sentences about incomplete last lines of some workers."""
        pending = {worker: tail.pending for worker, tail in list(self._tails.items()) if worker in workers}
        return [f"{worker}: {incomplete_line(count)}" for worker, count in pending.items() if count]

    @property
    def denied(self) -> list[str]:
        """Sentences about unreadable files; they are read again later."""
        return [tail.denied for tail in list(self._tails.values()) if tail.denied is not None]

    def events(self, kind: str | None = None) -> list[RunEvent]:
        """All events except batches, by time; or those of one kind."""
        found = [event for event in list(self._events) if kind in (None, event.kind)]
        return sorted(found, key=lambda event: event.time)

    @property
    def logs(self) -> list[StepLogs]:
        """Logs of the training loop, as written."""
        return list(self._logs)

    @property
    def batch_steps(self) -> list[int]:
        """The steps with recorded batch samples, ascending."""
        return sorted(self._batches)

    def samples(self, part: str, *, files: bool, limit: int) -> tuple[int, list[SampleUse]]:
        """Number of ids (or file names) that contain a text, ignoring case, and the first of them."""
        return (self._files if files else self._ids).containing(part, limit)

    def calls(self, step: int, worker: str) -> dict[str, Any]:
        """The `calls` event that applies to a step of a worker (FORMAT.md); empty without one."""
        noted = self._calls.get(worker, {})
        at = max((each for each in noted if each <= step), default=None)
        facts = {} if at is None else noted[at]
        same = facts.get("same")
        return noted.get(same, {}) if isinstance(same, int) else facts

    def batches(self, step: int) -> list[StepBatch]:
        """Which samples fed a step, one entry per worker and call; empty if that was not noted."""
        return [
            StepBatch(
                step,
                worker,
                None if ids is None else self._ids.decode(ids),
                None if files is None else self._files.decode(files),
                count,
            )
            for worker, ids, files, count in self._batches.get(step, ())
        ]

    def steps_of(self, *, id: str | None = None, file: str | None = None) -> list[int]:
        """The steps that a sample, or samples of a file, fed; ascending.

        Raises:
            NotFoundError: the run does not say which samples fed its steps.
        """
        if not self._batches:
            raise NotFoundError(
                "The samples of its steps were not recorded.",
                "Record them with tap.trace_batches(dataset, …) or tap.batch(…).",
            )
        found = [self._ids.steps(id)] if id is not None else []
        found += [self._files.steps(file)] if file is not None else []
        if not found:
            return sorted(self._batches)
        return sorted(set.intersection(*map(set, found)))

    def _add(self, worker: str, event: dict[str, Any]) -> None:
        facts = dict(event)
        kind, step, time = facts.pop("kind", None), facts.pop("step", None), facts.pop("time", 0.0)
        if not isinstance(kind, str) or not _is_step(step) or not isinstance(time, int | float):
            return
        if kind == "batch":
            if step is None:
                return
            ids, files = (_texts(facts.get(name)) for name in ("ids", "files"))
            count = facts.get("count")
            entry = (
                worker,
                None if ids is None else self._ids.add(ids, step),
                None if files is None else self._files.add(files, step),
                count if isinstance(count, int) else len(ids or files or ()),
            )
            self._batches.setdefault(step, []).append(entry)
        elif kind == "logs":
            if step is not None and len(self._logs) < MAX_LOGS:
                self._logs.append(_step_logs(step, facts))
        elif kind == "calls":
            if step is not None:
                self._calls.setdefault(worker, {})[step] = facts
        elif len(self._events) < MAX_EVENTS:
            self._events.append(RunEvent(kind, step, float(time), worker, facts))


def _step_logs(step: int, facts: dict[str, Any]) -> StepLogs:
    phase, epoch, values = facts.get("phase"), facts.get("epoch"), facts.get("values")
    return StepLogs(
        step,
        phase if phase in ("train", "test", "epoch") else "train",
        epoch if isinstance(epoch, int) else 0,
        dict(_logged_numbers(values)) if isinstance(values, dict) else {},
    )


def _logged_numbers(values: dict[Any, Any]) -> Iterator[tuple[str, float]]:
    for name, value in list(values.items())[:MAX_NAMES]:
        text = value in ("nan", "inf", "-inf")
        if text or (isinstance(value, int | float) and not isinstance(value, bool)):
            with contextlib.suppress(OverflowError):
                yield str(name)[:MAX_TEXT], float(value)


def _is_step(step: Any) -> bool:
    return step is None or (isinstance(step, int) and not isinstance(step, bool) and 0 <= step < 1 << 63)


def _texts(found: Any) -> list[str] | None:
    if not isinstance(found, list):
        return None
    return list(_cut(found))


def _cut(found: list[Any]) -> Iterator[str]:
    for text in found:
        yield text[:MAX_TEXT] if isinstance(text, str) else str(text)[:MAX_TEXT]
