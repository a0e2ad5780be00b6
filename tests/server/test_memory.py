"""What was freed goes back to the system, in a server's own process alone."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tensortap.server import memory_limit
from tensortap.server.memory_limit import MemoryTrimmer
from tensortap.server.serve import Server

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_memory_is_given_back_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    calls: list[int] = []
    freed = MemoryTrimmer()
    monkeypatch.setattr(freed, "_trim", calls.append)
    for _ in range(3):
        freed.trim()
    assert calls == [0]
    now += memory_limit._TRIM_INTERVAL
    freed.trim()
    assert calls == [0, 0]


def test_trimming_is_what_the_system_offers() -> None:
    MemoryTrimmer().trim()


def test_the_memory_of_others_is_left_alone(tmp_path: Path) -> None:
    before = pa.default_memory_pool().backend_name
    Server([tmp_path], port=0).close()
    assert pa.default_memory_pool().backend_name == before


THREADS = """
import ctypes, re, tempfile, threading
from tensortap.server.memory_limit import tune_memory
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
tune_memory()

def report():
    with tempfile.NamedTemporaryFile("r") as file:
        stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
        libc.malloc_info(0, stream)
        libc.fclose(stream)
        return file.read()

together = threading.Barrier(16)

def take():
    together.wait()
    libc.malloc(1000)
    together.wait()

threads = [threading.Thread(target=take) for _ in range(16)]
for each in threads:
    each.start()
for each in threads:
    each.join()
libc.free(ctypes.c_void_p(libc.malloc(4 << 20)))
before = report()
kept = libc.malloc(4 << 20)  # by default from the heap, as one as large was freed
mapped = [int(re.search(r'type="mmap" count="(\\d+)"', text)[1]) for text in (before, report())]
print(before.count("<heap nr="), mapped[1] - mapped[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_a_server_of_its_own_keeps_little_of_what_it_freed() -> None:
    """GIVEN as many threads as answer, and a large buffer after another one was freed THEN they share few
    arenas, and the buffer is one that goes back by itself."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    arenas, mapped = map(int, done.stdout.split())
    assert arenas <= memory_limit._ARENAS
    assert mapped == 1
