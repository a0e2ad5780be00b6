"""What a server releases as it nears its memory limit."""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from weakref import WeakSet

import numpy as np
import pytest

from tensortap.index.cache.container import read_container, release_pages, write_container
from tensortap.index.catalog.row_store import RowStore, note_read, on_read
from tensortap.index.catalog.segments import Segment
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


class _Yielding(WeakSet[mmap.mmap]):
    """Lets other threads run between two of its members."""

    def __iter__(self) -> Iterator[mmap.mmap]:
        for each in super().__iter__():
            time.sleep(0)
            yield each


def test_pages_are_released_while_files_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a thread that maps files WHEN another releases pages THEN neither fails."""
    monkeypatch.setattr("tensortap.index.cache.container._MAPPED", _Yielding())
    write_container(tmp_path / "a.index", {}, {"numbers": np.arange(8)})
    with ThreadPoolExecutor() as pool:
        mapping = pool.submit(lambda: [read_container(tmp_path / "a.index") for _ in range(200)])
        while not mapping.done():
            release_pages()
    assert [len(arrays["numbers"]) for _, arrays in mapping.result()] == [8] * 200


@pytest.fixture
def checks() -> Iterator[list[str]]:
    """A list with an entry for each check of the memory."""
    found: list[str] = []
    on_read(lambda: found.append("check"))
    note_read(64 << 20)  # from now on it is counted from 0
    found.clear()
    yield found
    on_read(lambda: None)


def test_memory_is_checked_while_a_request_reads_much(checks: list[str]) -> None:
    """GIVEN 80 MB of a column WHEN a few rows, many scattered ones, or all are read THEN each page counts."""
    store = RowStore()
    rows = 2_000_000
    segments = [
        Segment(first, {"shard": np.zeros(rows), "mean": np.arange(rows)})
        for first in range(0, 5 * rows, rows)
    ]
    store.replace(segments)
    everywhere = np.arange(0, 5 * rows, 2000)
    assert store.column("mean", everywhere[:10], 5 * rows).tolist() == everywhere[:10].tolist()
    assert checks == []
    assert (store.column("mean", everywhere, 5 * rows) == everywhere % rows).all()
    assert checks
    checks.clear()
    assert store.column("mean", slice(0, 5 * rows), 5 * rows).sum() == 5 * np.arange(rows).sum()
    assert checks


def test_only_the_read_rows_of_stored_columns_count(checks: list[str]) -> None:
    """GIVEN a column of 80 MB WHEN few of its rows follow one another, it holds one value, or it is in the
    tail THEN the memory is not checked."""
    store, rows = RowStore(), 10_000_000
    one_value = np.broadcast_to(np.zeros(1), rows)
    store.replace([Segment(0, {"shard": one_value, "mean": np.zeros(rows)})])
    for first in range(0, 1000, 100):
        assert len(store.column("mean", slice(first, first + 100), rows)) == 100
        assert len(store.column("shard", slice(0, rows), rows)) == rows
    store.replace([])
    store.tail.columns["mean"].extend(np.zeros(rows))
    store.tail.columns["shard"].extend(np.zeros(rows, np.int8))
    assert len(store.column("mean", slice(0, rows), rows)) == rows
    assert checks == []
