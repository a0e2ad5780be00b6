"""`view()` of logs and runs: the page in a notebook. Whoever can serve pages says how (`set_viewer`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tensortap.core.errors import TensortapError

View = Callable[[Sequence[Path], str, int, Sequence[str]], Any]
_known: list[View] = []


def set_viewer(view: View) -> None:
    """What `view()` calls: with log directories, the id of a run (or none), a height in pixels, and the
    sites that may embed the page."""
    _known[:] = [view]


def view(logdirs: Sequence[Path], run: str, height: int, origins: Sequence[str]) -> Any:
    """Shows logs; see `tensortap.notebook`. Raises TensortapError where nothing can be served."""
    if not _known:
        raise TensortapError("Nothing here serves pages.", "Open the log with tensortap.open(…).")
    return _known[0](logdirs, run, height, origins)
