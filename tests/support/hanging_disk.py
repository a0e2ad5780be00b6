"""A log directory on a disk that hangs: nobody gets to know what lies in it until it is healed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensortap.dump.read.runs import find_runs
from tensortap.server import log_reader


@contextmanager
def hanging_disk(patience: float) -> Iterator[threading.Event]:
    """Hangs until the event is set; servers wait for runs no longer than `patience` seconds."""
    recovered = threading.Event()

    def find(*arguments: object) -> list[tuple[str, Path]]:
        recovered.wait()
        return find_runs(*arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tensortap.index.logdir_index.find_runs", find)
        patch.setattr(log_reader, "DISCOVERY_TIMEOUT", 0.0)
        patch.setattr(log_reader, "NEWS_TIMEOUT", patience)
        try:
            yield recovered
        finally:
            recovered.set()
