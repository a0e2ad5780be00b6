"""Progress of long work: a live line on a terminal; in a pipe nothing, or lines."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from tensortap.core.text import escaped
from tensortap.system.progress_line import progress_line

from .console import console

_MUCH = 4_000_000  # bytes; statistics are read at some 20 MB per second


@contextlib.contextmanager
def text_progress(title: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Returns a function that shows one line of text on stderr: on a terminal it replaces the last one."""
    if quiet or sys.stderr.isatty():
        with progress_line(title, quiet=quiet) as show:
            yield lambda text: show(f"\u2013 {text}")
        return
    yield lambda text: print(f"{title}: {escaped(text)}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def bytes_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Returns a function `(bytes done, total bytes)` that moves a bar; the bar disappears at the end.

    It is drawn once 4 MB are still to be done: the rest needs none, however busy the machine is.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    shown = Progress(*columns, TimeRemainingColumn(), console=console(stderr=True), transient=True)
    task = shown.add_task(escaped(title), total=None)

    def show(done: int, total: int) -> None:
        shown.update(task, completed=done, total=total)
        if total - done >= _MUCH:
            shown.start()  # once

    try:
        yield show
    finally:
        shown.stop()


@contextlib.contextmanager
def rules_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Returns a function `(rules done, number of rules, name of the rule)` that moves a bar."""
    if not sys.stderr.isatty():
        yield lambda done, total, rule: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, total, rule: shown.update(
            task, completed=done, total=total, description=escaped(rule)
        )


@contextlib.contextmanager
def part_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Returns a function `(done, total)` that moves a bar with a percentage; the bar disappears at the
    end."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(escaped(title), total=None)

        def show(done: int, total: int) -> None:
            if done or total > 1:  # how much of a single task is done is unknown: the bar has no percentage
                shown.update(task, completed=done, total=total)

        yield show


@contextlib.contextmanager
def steps_progress(title: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Returns a function `(steps done, text)` that moves a bar; shows nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda done, text: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    shown_text = TextColumn("{task.fields[text]}", markup=False)
    with Progress(*columns, shown_text, console=console(stderr=True)) as shown:
        task = shown.add_task(escaped(title), total=total, text="")
        yield lambda done, text: shown.update(task, completed=done, text=escaped(text))
