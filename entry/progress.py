"""Progress of long work: a live line on a terminal, nothing where the output is piped."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from .terminal import console, escaped


@contextlib.contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives a function that shows one line of text."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(title)
        yield lambda text: shown.update(task, description=f"{title} {escaped(text)}")


@contextlib.contextmanager
def steps_progress(title: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Gives a function `(steps done, text)` that moves a bar; nothing is shown where the output is piped."""
    if not sys.stderr.isatty():
        yield lambda done, text: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    shown_text = TextColumn("{task.fields[text]}", markup=False)
    with Progress(*columns, shown_text, console=console(stderr=True)) as shown:
        task = shown.add_task(escaped(title), total=total, text="")
        yield lambda done, text: shown.update(task, completed=done, text=escaped(text))
