"""Finding the runs that a command is about."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tensortap.core.errors import DamagedError, DeniedError, NotARunError, NotFoundError
from tensortap.core.text import counted, did_you_mean, escaped
from tensortap.importers.resolve import as_logdir
from tensortap.storage.filesystem import is_folder
from tensortap.storage.uri import shown_path

from .argument_types import add_follow_links, source
from .console import cell, console
from .progress import bytes_progress, part_progress

if TYPE_CHECKING:
    from tensortap.index.logdir_index import LogIndex
    from tensortap.index.run_index import RunIndex

_NAMED = 10  # runs that an error lists


def add_path(parser: argparse.ArgumentParser) -> None:
    """The positional argument that `open_log` reads."""
    parser.add_argument(
        "path",
        type=source,
        metavar="LOGDIR|RUN",
        help="a directory of runs, one run, or any format that 'tensortap import' reads; a path, s3://… "
        "or https://…",
    )
    add_follow_links(parser)


def only_run(path: Path, options: argparse.Namespace | None = None) -> RunIndex:
    """The run at `path`, or the only one below it.

    Args:
        options: with those of `add_engine`: where one of them is given, an engine reads the run.

    Raises:
        NotFoundError: there are several; the hint lists them.
        TensortapError: the run cannot be read.
    """
    log = open_log(path, options)
    runs = log.runs
    if len(runs) > 1:
        names = sorted(_address(path, log, run) for run in runs)
        more = ["…"] if len(names) > _NAMED else []
        raise NotFoundError(
            f"There are {len(runs)} runs in {shown_path(path)!r}.",
            f"Pass one of them: {', '.join(names[:_NAMED] + more)}",
        )
    if runs[0].error:
        raise NotARunError(runs[0].error)
    if runs[0].denied:
        if not runs[0].catalog.rows:
            raise NotARunError(runs[0].denied[0])
        print(escaped(runs[0].denied[0]), file=sys.stderr)
    return runs[0]


def worker_id(run: RunIndex, named: str | None) -> str | None:
    """The id of a worker that a command names by its id, or by its rank: that of this rank started last."""
    ids = {str(worker.rank): worker.id for worker in sorted(run.workers, key=lambda each: each.started)}
    return named if named is None else ids.get(named, named)


def report_damage(*runs: RunIndex) -> None:
    """Reports unreadable data of these runs on stderr, so that an incomplete answer is recognizable. Call it
    after the answer has read all it needs, because graphs are read on demand."""
    for run in runs:
        graphs = [sentence for sentence in run.denied if sentence.startswith("graph ")]  # found meanwhile
        hidden = {*run.denied} - {*graphs}
        print_damage(run.name, [sentence for sentence in run.damage if sentence not in hidden])
        for sentence in run.unfinished:
            console(stderr=True).print(cell(f"{run.name} is incomplete: {sentence}", "yellow"))
        report_dropped(run.name, run.dropped)


def report_dropped(run: str, dropped: int) -> None:
    """Reports on stderr that a run lacks snapshots, if it does."""
    if dropped:
        console(stderr=True).print(cell(f"{run} is incomplete: {dropped_text(dropped)}.", "yellow"))


def dropped_text(dropped: int) -> str:
    """A number of lost snapshots, and the usual reasons."""
    noun = "snapshot or recording was" if dropped == 1 else "snapshots or recordings were"
    return f"{dropped:,} {noun} dropped: the disk was full or too slow, or they were lost before a repair"


def print_damage(run: str, damage: Sequence[str]) -> None:
    """Reports unreadable data of a run on stderr, in sentences."""
    if damage:
        more = f" And {len(damage) - 1:,} more." if len(damage) > 1 else ""
        text = f"{run} is damaged, so data are missing here: {damage[0]}{more}"
        hint = "'tensortap check' lists all damage; 'check --repair' copies the readable part."
        for line in (text, hint):
            console(stderr=True).print(cell(line, "red"))


def open_log(path: Path, options: argparse.Namespace | None = None) -> LogIndex:
    """The log below `path`, read to its end; a foreign format is imported first. `options` as of `only_run`.

    Raises:
        NotARunError: the directory does not exist, or has no run.
    """
    from tensortap.index.engine_reading import EngineReading
    from tensortap.index.logdir_index import LogIndex
    from tensortap.scale.registry import open_engine
    from tensortap.system.pandas_guard import hide_pandas

    hide_pandas()
    path = as_logdir(path)
    if not is_folder(path):
        raise NotARunError(f"There is no directory {shown_path(path)!r}.", _similar_directories(path))
    log = LogIndex(path)
    if options is not None and (options.engine or options.processes):
        opened = open_engine(options.engine, options.processes)
        with opened as engine, part_progress("reading") as advance:
            log.refresh(reading=EngineReading(engine, advance))
    else:
        with open_engine() as engine, bytes_progress("reading") as advance:
            read = lambda *_: advance(*_progress(log))  # noqa: E731
            log.refresh(read, reading=EngineReading(engine, read, only_compacted=True))
    if not log.runs:
        check_folders_read(log.unread)
        raise NotARunError(
            f"No run found in {shown_path(path)!r}.",
            "A run is a directory with a run.json; see 'tensortap demo'.",
        )
    return log


def _similar_directories(path: Path) -> str:
    """Names directories beside a missing one that are written alike."""
    otherwise = "Pass a log directory or a run in it."
    try:
        beside = sorted(each.name for each in path.parent.iterdir() if each.is_dir())
    except OSError:  # the parent is missing or unreadable too, or is an address
        return otherwise
    return did_you_mean(path.name, beside, otherwise)


def check_folders_read(unread: Mapping[Path, OSError | DamagedError]) -> None:
    """Raises NotARunError if folders are unreadable, because they may contain runs."""
    for folder, error in unread.items():
        if isinstance(error, PermissionError):
            error = DeniedError(shown_path(folder))
        if isinstance(error, DamagedError):
            raise NotARunError(error.message, error.hint) from None
        raise NotARunError(f"{shown_path(folder)} cannot be read: {error.strerror}.") from None


def report_unread(unread: Mapping[Path, OSError | DamagedError]) -> bool:
    """Reports unreadable folders on stderr, with reasons; returns whether there are any."""
    for folder in unread:
        try:
            check_folders_read({folder: unread[folder]})
        except NotARunError as not_a_run:
            print(escaped(str(not_a_run)), file=sys.stderr)
    return bool(unread)


def _progress(log: LogIndex) -> tuple[int, int]:
    """Bytes of statistics that were read, and that there are."""
    found = [run.progress() for run in log.runs]
    return sum(done for done, _ in found), sum(size for _, size in found)


def _address(path: Path, log: LogIndex, run: RunIndex) -> str:
    """Address of a run: where it was imported from, its own folder there, or else its place in the cache."""
    if log.logdirs[0] == path:
        return f"{shown_path(path)}/{run.name}"
    below = run.name.partition("/")[2]
    return str(path / below if below and (path / below).is_dir() else log.logdirs[0] / run.name)


def names_in_several_graphs(run: RunIndex, names: Iterable[str]) -> list[str]:
    """Names that several tensors of a run share."""
    from tensortap.index.query.tensor_lookup import graphs_of_name

    return sorted(name for name in names if len(graphs_of_name(run.catalog, name)) > 1)


def print_graph_hint(names: list[str]) -> None:
    """Prints, below a list, how to select one of them."""
    which = f"{names[0]!r}" if len(names) == 1 else f"{names[0]!r} and {counted(len(names) - 1, 'more name')}"
    verb = "stands" if len(names) == 1 else "stand"
    text = (
        f"{which} {verb} for tensors of several graphs; choose one with --graph ('-' for tensors "
        "without a graph, such as eager ops)"
    )
    console(stderr=True).print(cell(text, "dim"))


def other_graphs(run: RunIndex, tensor: str, graph: str) -> list[str]:
    """The other graphs (`-`: none) that captured a tensor with that name."""
    from tensortap.index.query.tensor_lookup import graphs_of_name

    return [other for other in graphs_of_name(run.catalog, tensor) if other != graph]
