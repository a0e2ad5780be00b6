"""What is said where a disk keeps a command waiting before it could say anything else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensortap.storage.uri import shown_path

SILENT = 5.0  # s


@contextmanager
def told_if_silent(path: Path) -> Iterator[None]:
    """Says so on stderr if the body, which looks at `path`, takes longer than `SILENT`: whoever hangs in a
    disk can say nothing, and not even Ctrl-C may end it."""

    def tell() -> None:
        print(
            f"{shown_path(path)} has not answered for {SILENT:g} s: its disk or network is slow, or hangs.",
            file=sys.stderr,
            flush=True,
        )

    timer = threading.Timer(SILENT, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
