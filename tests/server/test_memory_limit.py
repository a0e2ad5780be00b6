"""What a server releases as it nears its memory limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensortap.index.cache.container import read_container, release_pages, write_container
from tensortap.server.memory_limit import MemoryLimit, resident_bytes


@pytest.mark.parametrize(
    ("used", "released", "dropped"),
    [(300, 0, 0), (600, 1, 0), (900, 1, 2)],
)
def test_pages_go_first_then_caches(
    monkeypatch: pytest.MonkeyPatch, used: int, released: int, dropped: int
) -> None:
    pages: list[str] = []
    caches: list[str] = []
    monkeypatch.setattr("tensortap.server.memory_limit.release_pages", lambda: pages.append("all"))
    drop = [lambda: caches.append("one"), lambda: caches.append("other")]
    MemoryLimit(1000, drop, resident=lambda: used).check()
    assert (len(pages), len(caches)) == (released, dropped)


@pytest.mark.skipif(not resident_bytes(), reason="the system does not report it")
def test_released_pages_are_read_again(tmp_path: Path) -> None:
    """GIVEN 64 MB that were read from a mapped file."""
    numbers = np.arange(8 << 20)
    write_container(tmp_path / "a.index", {}, {"numbers": numbers})
    _, arrays = read_container(tmp_path / "a.index")
    total = int(arrays["numbers"].sum())
    before = resident_bytes()
    release_pages()
    assert before - resident_bytes() > 50 << 20
    assert int(arrays["numbers"].sum()) == total
