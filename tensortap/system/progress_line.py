"""One live line of progress on a terminal; nothing in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from tensortap.core.text import escaped


@contextlib.contextmanager
def progress_line(title: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Returns a function that shows one line of text after the title, on stderr."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    plain = Console(stderr=True, markup=False, highlight=False, emoji=False)
    with Progress(*columns, console=plain, transient=True) as shown:
        task = shown.add_task(title)
        yield lambda text: shown.update(task, description=f"{title} {escaped(text)}")
