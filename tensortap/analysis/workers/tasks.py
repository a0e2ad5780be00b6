"""What can be asked of an analysing process: the analyses by name, with runs named by where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensortap.index.run_index import RunIndex, open_run

from ..compare.compare import compare
from ..compare.side import Side
from ..dead_layers.ledger import dead_layer_ledger
from ..nonfinite.nan_report import nan_report
from ..rules.runner import check_rules
from ..rules.settings import parse_settings

Advance = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A run as another process finds it: its folder, and the name, id and generation it is known by."""

    folder: str
    name: str
    run_id: str
    generation: int

    def open(self) -> RunIndex:
        """The run; nothing is read yet."""
        return open_run(Path(self.folder), self.name, self.run_id, self.generation)


@dataclass(frozen=True, slots=True)
class Task:
    """One analysis of one run, or two. `options`: keyword arguments of its function in `TASKS`."""

    what: str
    places: tuple[Place, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def place_of(run: RunIndex) -> Place | None:
    """Where another process finds a run; None where only this one can read it (archives, other machines).

    A run whose `run.json` is lost is a folder as well, and found by what its workers say."""
    folder = Path(run.path).absolute()
    if type(folder) is not type(Path()) or not folder.is_dir():
        return None
    return Place(str(folder), run.name, run.id, run.generation)


def perform(what: str, runs: Sequence[RunIndex], options: Mapping[str, Any], advance: Advance) -> Any:
    """Does one of `TASKS`, in whichever process; `advance` is told how far it is."""
    return TASKS[what](runs, advance, **options)


def _findings(runs: Sequence[RunIndex], advance: Advance, mute: list[str], table: Mapping[str, Any]) -> Any:
    """`table`: what a file of rule settings holds."""
    settings = parse_settings(table)
    return check_rules(runs[0], replace(settings, mute=[*settings.mute, *mute]), progress=advance)


def _nan(runs: Sequence[RunIndex], advance: Advance, step: int | None) -> Any:
    return nan_report(runs[0], step, advance)


def _ledger(runs: Sequence[RunIndex], advance: Advance) -> Any:
    return dead_layer_ledger(runs[0], advance=advance)


def _compare(
    runs: Sequence[RunIndex],
    advance: Advance,
    steps: tuple[int | None, int | None],
    workers: tuple[str | None, str | None],
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
