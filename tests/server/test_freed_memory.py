"""What was freed goes back to the system, in a server's own process alone."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tensortap.server import Server, freed_memory
from tensortap.server.freed_memory import FreedMemory


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_memory_is_given_back_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    calls: list[int] = []
    freed = FreedMemory()
    monkeypatch.setattr(freed, "_trim", calls.append)
    for _ in range(3):
        freed.give_back()
    assert calls == [0]
    now += freed_memory._INTERVAL
    freed.give_back()
    assert calls == [0, 0]


def test_trimming_is_what_the_system_offers() -> None:
    FreedMemory().give_back()


def test_the_memory_of_others_is_left_alone(tmp_path: Path) -> None:
    before = pa.default_memory_pool().backend_name
    Server([tmp_path], port=0).close()
    assert pa.default_memory_pool().backend_name == before
