"""Recordings that several processes add and remove: no blob goes that somebody refers to, all others do."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensortap.dump.recording import recording_files
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.dump.recording.recording_files import (
    RecordingStore,
    find_recordings,
    read_recording,
    write_recording,
)

LARGE = np.arange(50_000, dtype=np.float32)  # 200 kB


def recording(step: int, value: Any = LARGE) -> Recording:
    return Recording("step", b"library", (Argument("variable", "w", (value,), "float32", (50_000,)),), step)


def blobs(run_dir: Path) -> list[Path]:
    return sorted((run_dir / "recordings" / "blobs").iterdir())


def whole(run_dir: Path) -> list[int]:
    """Steps of the recordings, each read with all its bytes."""
    return [read_recording(place.path).step for place in find_recordings(run_dir)]


def test_what_others_refer_to_is_not_removed(tmp_path: Path) -> None:
    ours = RecordingStore(tmp_path)
    first, third = ours.add(recording(1)), ours.add(recording(3, LARGE + 1))
    write_recording(tmp_path, recording(2))
    ours.remove([first, third])
    assert whole(tmp_path) == [2] and len(blobs(tmp_path)) == 1
    ours.remove([find_recordings(tmp_path)[0].path])
    assert whole(tmp_path) == [] and blobs(tmp_path) == []


@pytest.mark.parametrize("at", ["recordings", "recording.json"])
def test_where_recordings_cannot_be_looked_into_all_blobs_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """As those of somebody else that one may not read, or where too many files are open."""
    ours = RecordingStore(tmp_path)
    first = ours.add(recording(1))
    write_recording(tmp_path, recording(2, LARGE + 1))

    def stat_path(path: Path) -> Any:
        if path.name == at:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        return original(path)

    original = recording_files.stat_path
    with monkeypatch.context() as patched:
        patched.setattr(recording_files, "stat_path", stat_path)
        ours.remove([first])
    assert whole(tmp_path) == [2]
    ours.remove([])
    assert whole(tmp_path) == [2] and len(blobs(tmp_path)) == 1


@pytest.mark.parametrize("at", ["replace", "unlink"])
def test_another_process_refers_to_a_blob_just_before_it_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    ours = RecordingStore(tmp_path)
    first = ours.add(recording(1))
    hooked: list[Path] = []
    plain: Callable[..., Any] = getattr(Path, at)

    def later(path: Path, *more: Any, **options: Any) -> Any:
        if ".blob" in path.name and not hooked:
            hooked.append(path)  # first, as writing does the same with temporary files
            write_recording(tmp_path, recording(2))
        return plain(path, *more, **options)

    monkeypatch.setattr(Path, at, later)
    ours.remove([first])
    monkeypatch.undo()
    assert hooked
    assert whole(tmp_path) == [2] and len(blobs(tmp_path)) == 1


def test_a_recording_that_is_being_written_keeps_its_blobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = RecordingStore(tmp_path)
    first, plain = ours.add(recording(1)), recording_files.store

    def slow(*given: Any) -> Any:
        yield from plain(*given)
        ours.remove([first])

    monkeypatch.setattr(recording_files, "store", slow)
    write_recording(tmp_path, recording(2))
    assert whole(tmp_path) == [2] and len(blobs(tmp_path)) == 1


def test_a_writer_that_was_killed_keeps_nothing_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = RecordingStore(tmp_path)
    killed = write_recording(tmp_path, recording(2))
    begun = killed.rename(killed.with_name(f".{killed.name}.tmp"))
    ours.remove([])
    assert len(blobs(tmp_path)) == 1
    os.utime(begun, (0, time.time() - 3600))
    ours.remove([])
    assert blobs(tmp_path) == []


def test_what_a_killed_remover_took_away_is_put_back_or_removed(tmp_path: Path) -> None:
    ours = RecordingStore(tmp_path)
    ours.add(recording(1))
    gone = ours.add(recording(2, LARGE + 1))
    for path in blobs(tmp_path):
        path.rename(path.with_name(f"{path.name}.0123456789ab.taken.tmp"))
    (blob,) = (path for path in blobs(tmp_path) if path.read_bytes() == LARGE.tobytes())
    ours.remove([gone])
    assert whole(tmp_path) == [1] and len(blobs(tmp_path)) == 1 and not blob.exists()


def test_where_one_recording_cannot_be_read_all_blobs_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = RecordingStore(tmp_path)
    first = ours.add(recording(1))
    write_recording(tmp_path, recording(2, LARGE + 1))

    def refused(_: Path) -> set[str]:
        raise PermissionError

    monkeypatch.setattr("tensortap.dump.recording.recording_files.blob_hashes", refused)
    ours.remove([first])
    assert len(blobs(tmp_path)) == 2


def test_a_disk_that_refuses_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording_files, "store", full)
    with pytest.raises(OSError, match="No space"):
        write_recording(tmp_path, recording(1))
    assert list((tmp_path / "recordings").iterdir()) == []
