"""Appending past the page cache and through it: the same bytes, and errors lose only what was not flushed."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.storage import append_file
from tensortap.storage.append_file import BLOCK, AppendFile, bypasses_page_cache

CHUNK = 4 * BLOCK
WAYS = [False, pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="needs O_DIRECT"))]


@pytest.fixture(params=WAYS, ids=["cached", "direct"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    monkeypatch.setattr(append_file, "bypasses_page_cache", lambda _: request.param)
    monkeypatch.setattr(append_file, "CHUNK", CHUNK)
    monkeypatch.setattr(append_file, "DIRECT_FROM", 2 * BLOCK)
    yield request.param


def opened(path: Path, size: int = 0) -> AppendFile:
    file = AppendFile(path.parent)
    file.open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), path, size)
    return file


def pieces(*sizes: int) -> list[bytes]:
    rng = np.random.default_rng(0)
    return [rng.bytes(size) for size in sizes]


@settings(max_examples=60)
@given(
    start=st.sampled_from([0, 5, BLOCK, 64 * BLOCK]),
    batches=st.lists(
        st.lists(st.sampled_from([1, 7, 100, BLOCK - 1, BLOCK, BLOCK + 1, CHUNK - 3, CHUNK, 3 * CHUNK + 17])),
        max_size=5,
    ),
)
@pytest.mark.parametrize("is_direct", WAYS)
def test_what_was_flushed_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, is_direct: bool, start: int, batches: list[list[int]]
) -> None:
    path = tmp_path_factory.mktemp("files") / "x"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(append_file, "bypasses_page_cache", lambda _: is_direct)
        patch.setattr(append_file, "CHUNK", CHUNK)
        patch.setattr(append_file, "DIRECT_FROM", 2 * BLOCK)
        file, expected = opened(path, start), bytes(start)
        for sizes in batches:
            for piece in pieces(*sizes):
                file.append(piece)
                expected += piece
            assert file.size == len(expected)
            file.flush()
            assert file.written == len(expected)
            assert path.read_bytes() == (expected if file.written > start else b"")
        file.end()
    assert path.stat().st_size in (0, len(expected))


def test_files_follow_one_another(tmp_path: Path, way: bool) -> None:
    file = opened(tmp_path / "a")
    (first, second) = pieces(2 * CHUNK + 1, 3 * CHUNK)
    file.append(first)
    file.flush()
    file.close()
    file.open(os.open(tmp_path / "b", os.O_WRONLY | os.O_CREAT), tmp_path / "b", 0)
    file.append(second)
    file.flush()
    file.end()
    assert (tmp_path / "a").read_bytes() == first
    assert (tmp_path / "b").read_bytes() == second


@pytest.mark.parametrize("room", [0, 100, 2 * BLOCK, CHUNK + 1, 2 * CHUNK + BLOCK])
def test_a_full_disk_keeps_what_was_flushed(
    tmp_path: Path, way: bool, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """GIVEN a disk that takes `room` more bytes WHEN more is appended THEN an OSError says so, `written`
    bytes are right, and after a `cut` the file goes on where room was made."""
    left = [1 << 40]
    write, pwrite = os.write, os.pwrite

    def taken(data: Any) -> Any:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = data[: min(len(data), left[0])]
        left[0] -= len(part)
        return part

    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, taken(data)))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, taken(data), at))
    path = tmp_path / "x"
    before, refused, after = pieces(CHUNK + 10, 4 * CHUNK + 10, 2 * CHUNK)
    file = opened(path)
    file.append(before)
    file.flush()
    left[0] = room
    with pytest.raises(OSError, match="No space"):
        file.append(refused)
        file.flush()
    assert len(before) <= file.written <= len(before) + room
    file.cut(file.written)
    kept = (before + refused)[: file.written]
    assert path.read_bytes() == kept
    left[0] = 1 << 40
    file.append(after)
    file.flush()
    file.end()
    assert path.read_bytes() == kept + after


def test_blocks_that_the_disk_refuses_go_through_the_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: bool
) -> None:
    path, (data,) = tmp_path / "x", pieces(3 * CHUNK + 5)
    pwrite, cached = os.pwrite, []

    def refusing(fd: int, view: Any, at: int) -> int:
        if fd not in cached:
            raise OSError(errno.EINVAL, "Invalid argument")
        return pwrite(fd, view, at)

    file = opened(path)
    cached.append(file._fd)
    monkeypatch.setattr(os, "pwrite", refusing)
    file.append(data)
    file.flush()
    file.end()
    assert path.read_bytes() == data


def test_without_a_thread_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: bool) -> None:
    def refuse(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(append_file.threading.Thread, "start", refuse)
    path, (data,) = tmp_path / "x", pieces(9 * CHUNK + 5)
    file = opened(path)
    file.append(data)
    file.flush()
    file.end()
    assert path.read_bytes() == data


def test_a_slow_disk_gets_the_page_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append_file, "bypasses_page_cache", lambda _: True)
    monkeypatch.setattr(append_file, "_SLOW", 1e18)
    monkeypatch.setattr(append_file, "_ENOUGH", 8 << 20)
    path, (data,) = tmp_path / "x", pieces(4 << 20)
    file = opened(path)
    for _ in range(2):
        assert file.is_direct
        file.append(data)
        file.flush()
    assert not file.is_direct
    file.append(data)
    file.flush()
    file.end()
    assert path.read_bytes() == 3 * data


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_parents_file_alone(tmp_path: Path, way: bool) -> None:
    path, (data,) = tmp_path / "x", pieces(2 * CHUNK + 5)
    file = opened(path)
    file.append(data)
    child = os.fork()
    if not child:
        file.end()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    file.flush()
    file.end()
    assert path.read_bytes() == data


def test_memory_and_foreign_folders_are_written_through_the_page_cache(tmp_path: Path) -> None:
    assert not bypasses_page_cache(tmp_path / "missing")
    if Path("/dev/shm").is_dir():
        assert not bypasses_page_cache(Path("/dev/shm"))
