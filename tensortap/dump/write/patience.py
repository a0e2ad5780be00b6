"""Work for an address that may never answer, waited for only so long."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tensortap.storage.addresses import shown_path

ANSWER_SECONDS = 30.0  # s that whoever opens a run waits; a store's library tries for minutes
T = TypeVar("T")


def answered(work: Callable[[], T], place: Path) -> T:
    """What `work` returns or raises.

    Raises:
        TimeoutError: it took longer than `ANSWER_SECONDS`; it goes on in a thread that nobody waits for.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="tensortap-address", daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if errors:
        raise errors[0]
    if results:
        return results[0]
    raise OSError(errno.ETIMEDOUT, f"no answer within {ANSWER_SECONDS:g} s", shown_path(place))
