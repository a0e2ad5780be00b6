"""What a server releases as it nears its memory limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensortap.index.cache.container import read_container, release_pages, write_container
from tensortap.server.memory_limit import MemoryLimit, resident_bytes


@pytest.mark.parametrize(
    ("used", "released", "dropped", "soon"),
    [(100, 0, 0, False), (400, 0, 0, True), (600, 1, 0, True), (900, 1, 2, True)],
)
def test_pages_go_first_then_caches(
    monkeypatch: pytest.MonkeyPatch, used: int, released: int, dropped: int, soon: bool
) -> None:
    pages: list[str] = []
    caches: list[str] = []
    monkeypatch.setattr("tensortap.server.memory_limit.release_pages", lambda: pages.append("all"))
    drop = [lambda: caches.append("one"), lambda: caches.append("other")]
    wait = MemoryLimit(1000, drop, resident=lambda: used).check()
    assert (len(pages), len(caches), wait < 0.1) == (released, dropped, soon)


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
