"""Waiting for something to become true, with a deadline."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], what: str, timeout_s: float = 30.0) -> None:
    """Asks `condition` until it is true; fails with `what` was waited for after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for {what}"
        time.sleep(0.02)
