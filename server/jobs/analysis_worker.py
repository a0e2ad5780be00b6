"""Analyses by name, and the process that does them: a worker that a server starts (`analysis_jobs.py`).

It holds the most recent runs, so that only the new part of a growing run is read. Answers are
pickled: the server trusts its own code, which reads the same dumps either way.
"""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.side import Side
from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.analysis.notes import missing_from
from tensortap.analysis.rules.runner import Findings, check_rules
from tensortap.analysis.rules.settings import parse_settings
from tensortap.core.progress import Advance
from tensortap.index.cache.container import release_pages
from tensortap.index.run_index import RunIndex, RunReplacedError, open_run
from tensortap.server.memory_limit import DROP_FROM, MemoryLimit, resident_bytes
from tensortap.system.pandas_guard import hide_pandas
from tensortap.system.subprocess_worker import SendProgress, serve, spaced

_OPEN = 4  # runs that are held


class Place(NamedTuple):
    """A run as another process finds it: its folder, and the name, id and generation it is known by."""

    folder: str
    name: str
    run_id: str
    generation: int


def place_of(run: RunIndex) -> Place | None:
    """The path at which another process finds a run; None if only this one can read it (archives, other
    machines).

    A run whose `run.json` is lost is a folder as well, and found by what its workers say."""
    folder = Path(run.path).absolute()
    if type(folder) is not type(Path()) or not folder.is_dir():
        return None
    return Place(str(folder), run.name, run.id, run.generation)


class Answer(NamedTuple):
    """The result of a task, and sentences about unreadable data of its runs, which it lacks."""

    found: Any
    damage: list[str]


def run_task(
    what: str,
    runs: Sequence[RunIndex],
    options: Mapping[str, Any],
    advance: Advance,
    publish: Callable[[Answer], object] = lambda answer: None,
    wait: Callable[[], object] = lambda: None,
) -> Answer:
    """Does one of `TASKS` in this process.

    Args:
        options: keyword arguments of its function. publish: called with what is found early.
        wait: returns when all rows can be read.
    """
    if what == "findings":
        options = {**options, "wait": wait}
        options["publish"] = lambda found: publish(Answer(found, missing_from(*runs)))
    else:
        wait()
    found = TASKS[what](runs, advance, **options)
    return Answer(found, missing_from(*runs))


def _findings(
    runs: Sequence[RunIndex],
    advance: Advance,
    mute: list[str],
    table: Mapping[str, Any],
    publish: Callable[[Findings], object],
    wait: Callable[[], object],
) -> Any:
    """`table`: the content of a file of rule settings."""
    settings = parse_settings(table)
    muting = replace(settings, mute=[*settings.mute, *mute])
    return check_rules(runs[0], muting, progress=advance, publish=publish, wait=wait)


def _nan(runs: Sequence[RunIndex], advance: Advance, step: int | None) -> Any:
    return nan_report(runs[0], step, advance)


def _ledger(runs: Sequence[RunIndex], advance: Advance) -> Any:
    return dead_layer_ledger(runs[0], advance=advance)


def _compare(
    runs: Sequence[RunIndex],
    advance: Advance,
    steps: Sequence[int | None],
    workers: Sequence[str | None],
    matches: Mapping[str, str],
    where: str | None,
) -> Any:
    a, b = (Side(run, step, worker) for run, step, worker in zip(runs, steps, workers, strict=True))
    return compare(a, b, matches=matches, where=where, progress=advance)


TASKS: dict[str, Callable[..., Any]] = {
    "findings": _findings,
    "nan": _nan,
    "ledger": _ledger,
    "compare": _compare,
}


class _Runs:
    """The most recently requested runs, kept up to date."""

    def __init__(self) -> None:
        self._open: OrderedDict[Place, RunIndex] = OrderedDict()
        self._memory: int | None = None

    def limit(self, memory: int | None) -> None:
        """Keeps this process near `memory` bytes, as the server's (`memory_limit.py`); None: no limit."""
        if memory is not None and self._memory is None:
            self._memory = memory
            MemoryLimit(memory, [self._drop_commits]).start()

    def _drop_commits(self) -> None:
        for run in list(self._open.values()):
            run.commits.clear()

    def rest(self) -> None:
        """Releases what no task needs now."""
        release_pages()
        if self._memory is not None and resident_bytes() > DROP_FROM * self._memory:
            self._open.clear()  # what is left are columns in memory: the next task reads them again

    def get(self, place: Place) -> RunIndex:
        run = self._open.pop(place, None) or _open(place)
        try:
            while run.poll():
                pass
        except RunReplacedError:
            run = _open(place)
            while run.poll():
                pass
        self._open[place] = run
        while len(self._open) > _OPEN:
            self._open.popitem(last=False)
        return run


def _open(place: Place) -> RunIndex:
    return open_run(Path(place.folder), place.name, place.run_id, place.generation)


def main() -> None:
    """Answers requests of the process that started this one."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(10)  # a page that opens meanwhile goes first
    runs = _Runs()
    hide_pandas()

    def handle(asked: dict[str, Any], progress: SendProgress) -> tuple[None, bytes]:
        advance = spaced(progress)
        advance(0, 0, "reading")
        runs.limit(asked.get("memory"))
        found = [runs.get(Place(*place)) for place in asked["places"]]
        answer = run_task(asked["what"], found, asked["options"], advance)
        runs.rest()
        # A plain tuple: the classes of this module are `__main__`'s here.
        return None, pickle.dumps(tuple(answer), pickle.HIGHEST_PROTOCOL)

    serve(handle)


if __name__ == "__main__":
    main()
