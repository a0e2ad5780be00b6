"""Disks that refuse: nothing that was committed is harmed, rows wait, and a healed disk takes them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all, stats_files, values_files

from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.format.run_files import WorkerSummary, read_closing
from tensortap.dump.write import stats_writer, values_writer, writer
from tensortap.dump.write.worker_files import ReservedDiskSpace
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage import append_file, files

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs O_DIRECT")
SPARE_FREE = ReservedDiskSpace.free


class Disk:
    """Stands in for `os.write` and `os.pwrite`: takes `room` more bytes, and `at_once` of them a call."""

    def __init__(self) -> None:
        self.room: float = float("inf")
        self.at_once = 1 << 30
        self.refused: int | None = None  # how many direct writes there are before one that fails
        self.write, self.pwrite = os.write, getattr(os, "pwrite", None)

    def __call__(self, fd: int, data: Any) -> int:
        return self._note(self.write(fd, self._part(data)))

    def write_at(self, fd: int, data: Any, offset: int) -> int:
        self.refused = None if self.refused is None else self.refused - 1
        if self.refused == -1:
            raise OSError(errno.EIO, "Input/output error")
        return self._note(self.pwrite(fd, self._part(data), offset))

    def _part(self, data: Any) -> Any:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return data[: int(min(len(data), self.at_once, self.room))]

    def _note(self, written: int) -> int:
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(writer, "COMMIT_SECONDS", 1e9)
    found = Disk()
    monkeypatch.setattr(files.os, "write", found)
    monkeypatch.setattr(files.os, "pwrite", found.write_at, raising=False)
    yield found
    found.room = float("inf")


def test_short_writes_are_completed(tmp_path: Path, disk: Disk) -> None:
    disk.at_once = 7
    array = np.arange(3000, dtype=np.int16)
    with DumpWriter(tmp_path) as w:
        w.log("x", array, step=0)
    found = read_all(tmp_path)
    assert found.values["x", 0, 0].tobytes() == array.tobytes()
    assert (found.damage, found.tails[0].closed) == ([], True)


@pytest.mark.parametrize("room", [0, 1, 9, 500, 1500])
def test_a_full_disk_raises_and_a_recovered_one_takes_the_rows(tmp_path: Path, disk: Disk, room: int) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", 1.0, step=0)
        w.flush()
        w.log("x", 2.0, step=1)
        disk.room = room
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                w.flush()
        found = read_all(tmp_path)
        assert [row["step"] for row in found.rows] == [0]
        assert found.damage == []
        disk.room = float("inf")
        w.log("x", 3.0, step=2)
        w.flush()
        assert [row["step"] for row in read_all(tmp_path).rows] == [0, 1, 2]
    found = read_all(tmp_path)
    assert (found.damage, found.tails[0].closed, found.tails[0].dropped) == ([], True, 0)
    assert len(stats_files(tmp_path)) == 2  # what was written in vain is followed by nothing


def test_where_even_cutting_fails_the_torn_end_is_reported(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "I/O error")

    with DumpWriter(tmp_path) as w:
        w.log("x", 1.0, step=0)
        monkeypatch.setattr(files.os, "ftruncate", refuse)
        disk.room = 100
        with pytest.raises(OSError, match="No space"):
            w.flush()
        disk.room = float("inf")
        w.flush()
    found = read_all(tmp_path)
    assert [row["step"] for row in found.rows] == [0]
    assert len(found.damage) == 1


def test_a_value_that_finds_no_room_keeps_its_summary(tmp_path: Path, disk: Disk) -> None:
    array = np.random.default_rng(0).standard_normal(5000)
    with DumpWriter(tmp_path) as w:
        w.log("a", array, step=0)
        disk.room = 10_000
        with pytest.raises(OSError, match="No space"):
            w.log("b", array, step=0)
        disk.room = float("inf")
        w.log("c", array + 1, step=0)
    found = read_all(tmp_path)
    assert [(row["node"], row["value_codec"]) for row in found.rows] == [
        ("a", "raw"),
        ("b", ""),
        ("c", "raw"),
    ]
    assert found.values["a", 0, 0].tobytes() == array.tobytes()
    assert found.values["c", 0, 2].tobytes() == (array + 1).tobytes()
    (file,) = values_files(tmp_path)
    assert file.stat().st_size == 256 * 1024 + 2 * array.nbytes


def test_log_raises_now_and_then_and_the_oldest_rows_are_dropped(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_writer, "MAX_PENDING", 150)
    monkeypatch.setattr(writer, "COMMIT_ROWS", 100)
    failures = 0
    with DumpWriter(tmp_path) as w:
        disk.room = 0
        for step in range(400):
            try:
                w.log("x", 1.0, step=step)
            except OSError:
                failures += 1
        assert failures == 1  # tried at 100 rows, and then not before COMMIT_SECONDS
        disk.room = float("inf")
    found = read_all(tmp_path)
    assert [row["step"] for row in found.rows] == list(range(250, 400))
    assert found.tails[0].dropped == 250


def test_close_on_a_full_disk_raises_once_and_leaves_no_file_open(tmp_path: Path, disk: Disk) -> None:
    w = DumpWriter(tmp_path)
    w.log("x", np.random.default_rng(0).standard_normal(5000), step=0)
    w.flush()
    w.log("x", 1.0, step=1)
    open_files = Path("/proc/self/fd")
    before = len(list(open_files.iterdir())) if open_files.exists() else 0
    disk.room = 0
    with pytest.raises(OSError, match="No space"):
        w.close()
    w.close()
    if open_files.exists():
        assert len(list(open_files.iterdir())) == before - 3
    assert [row["step"] for row in read_all(tmp_path).rows] == [0]


@pytest.mark.parametrize("commits", [0, 3])
def test_what_waits_when_a_full_disk_is_closed_is_counted(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    def free(self: ReservedDiskSpace) -> None:
        if self.held:
            disk.room = self.held
        SPARE_FREE(self)

    monkeypatch.setattr(ReservedDiskSpace, "free", free)
    w = DumpWriter(tmp_path)
    w.log("x", 1.0, step=0)
    w.flush()
    w.log_many([Snapshot("x", np.zeros(2)), Snapshot("y", np.zeros(2))], step=1)
    w.dropped(4)
    disk.room = 0
    for _ in range(commits):
        with pytest.raises(OSError, match="No space"):
            w.flush()
    with pytest.raises(OSError, match="No space"):
        w.close()
    assert w.lost == 2
    found = read_all(tmp_path)
    assert ([row["step"] for row in found.rows], found.damage) == ([0], [])
    assert (found.tails[0].dropped, found.tails[0].closed) == (6, True)
    closing = read_closing(tmp_path / "run" / w_name(tmp_path))
    assert closing == WorkerSummary(1, 6, 0)


def w_name(logdir: Path) -> str:
    """The only worker."""
    (folder,) = (entry for entry in (logdir / "run").iterdir() if entry.is_dir())
    return folder.name


LIMITED = """
import resource, signal, sys
import numpy as np
from tensortap.dump.write.writer import DumpWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes fail with EFBIG instead
w = DumpWriter(sys.argv[1])
w.log("before", np.ones(100), step=0)
w.flush()
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300 << 10, limit[1]))
refused = 0
for step in range(20):
    try:
        w.log("large", np.random.default_rng(step).standard_normal(2000), step=step)
    except OSError:
        refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
w.log("after", np.ones(2000), step=0)
w.close()
print(refused)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_real_limit(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], check=True, capture_output=True, text=True
    )
    found = read_all(tmp_path)
    large = [row for row in found.rows if row["node"] == "large"]
    kept = [row for row in large if row["value_codec"]]
    assert len(large) == 20
    assert int(done.stdout) == 20 - len(kept) > 0
    assert found.bad_values == found.damage == []
    assert len(found.values) == len(kept) + 2


def test_many_values_that_find_no_room_keep_their_summaries(tmp_path: Path, disk: Disk) -> None:
    arrays = [np.random.default_rng(i).standard_normal(5000) for i in range(5)]
    with DumpWriter(tmp_path) as w:
        w.log_many([Snapshot("before", arrays[0])], step=0)
        disk.room = 60_000
        with pytest.raises(OSError, match="No space"):
            w.log_many([Snapshot(f"n{i}", array) for i, array in enumerate(arrays)], step=1)
        disk.room = float("inf")
        w.log_many([Snapshot("after", arrays[0])], step=2)
    found = read_all(tmp_path)
    assert [(row["node"], bool(row["value_codec"])) for row in found.rows] == [
        ("before", True),
        ("n0", True),
        *((f"n{i}", False) for i in range(1, 5)),
        ("after", True),
    ]
    assert found.values["n0", 0, 1].tobytes() == arrays[0].tobytes()
    assert found.values["after", 0, 6].tobytes() == arrays[0].tobytes()


@pytest.mark.parametrize("room", [0, 30_000, 100_000, 300_000])
@pytest.mark.parametrize("is_direct", [False, pytest.param(True, marks=LINUX)])
def test_a_large_step_that_finds_no_room_keeps_what_fitted(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, is_direct: bool, room: int
) -> None:
    """GIVEN values that are written in pieces WHEN the disk fills in one of them THEN each value is whole or
    only a summary, and the file goes on behind the last whole one."""
    monkeypatch.setattr(append_file, "bypasses_page_cache", lambda _: is_direct)
    monkeypatch.setattr(append_file, "CHUNK", 64 << 10)
    monkeypatch.setattr(append_file, "DIRECT_FROM", 16 << 10)
    arrays = [np.random.default_rng(i).standard_normal(2500) for i in range(20)]
    with DumpWriter(tmp_path) as w:
        w.log_many([Snapshot("before", arrays[0])], step=0)
        disk.room = room
        with pytest.raises(OSError, match="No space"):
            w.log_many([Snapshot(f"n{i}", array) for i, array in enumerate(arrays)], step=1)
            w.flush()
        disk.room = float("inf")
        w.log_many([Snapshot("after", array, visit=i) for i, array in enumerate(arrays)], step=2)
    found = read_all(tmp_path)
    assert (found.bad_values, found.damage) == ([], [])
    kept = [bool(row["value_codec"]) for row in found.rows]
    assert kept[0] and all(kept[21:]) and len(kept) == 41
    count = sum(kept[1:21])
    assert kept[1:21] == [True] * count + [False] * (20 - count)
    assert room // 20_000 >= count >= room // 20_000 - (65_536 // 20_000 + 1)
    (file,) = values_files(tmp_path)
    assert file.stat().st_size == 256 * 1024 + 20_000 * (21 + count)


@LINUX
def test_rows_of_values_on_their_way_are_committed_in_time(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN values that are still on their way to the disk WHEN the next commit is due THEN their rows are
    committed, and those of summaries logged after them, without a flush."""
    monkeypatch.setattr(append_file, "bypasses_page_cache", lambda _: True)
    monkeypatch.setattr(append_file, "CHUNK", 64 << 10)
    monkeypatch.setattr(append_file, "DIRECT_FROM", 16 << 10)
    array = np.random.default_rng(0).standard_normal(2500)
    with DumpWriter(tmp_path) as w:
        w.log_many([Snapshot("x", array, visit=i) for i in range(2)], step=0)
        w.log_many([Snapshot("x", array + i, visit=i) for i in range(12)], step=1)
        monkeypatch.setattr(writer, "COMMIT_SECONDS", 0.0)
        w.log("y", 1.0, step=1, keep="summary")
        found = read_all(tmp_path)
        assert (len(found.rows), found.bad_values) == (15, [])


@LINUX
def test_a_step_whose_values_are_refused_later_keeps_its_summaries(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN values that are still on their way to the disk when `log_many` returns WHEN the disk refuses them
    THEN the next call raises, rows of both steps are there, and no row points to bytes of another value."""
    monkeypatch.setattr(append_file, "bypasses_page_cache", lambda _: True)
    monkeypatch.setattr(append_file, "CHUNK", 64 << 10)
    monkeypatch.setattr(append_file, "DIRECT_FROM", 16 << 10)
    arrays = [np.random.default_rng(i).standard_normal(2500) for i in range(12)]  # less than all buffers
    with DumpWriter(tmp_path) as w:
        w.log_many([Snapshot("x", arrays[0])], step=0)
        disk.room = 50_000
        w.log_many([Snapshot("x", array, visit=i) for i, array in enumerate(arrays)], step=1)
        with pytest.raises(OSError, match="No space"):
            w.log_many([Snapshot("x", array, visit=i) for i, array in enumerate(arrays)], step=2)
        disk.room = float("inf")
        w.log_many([Snapshot("x", array, visit=i) for i, array in enumerate(arrays)], step=3)
    found = read_all(tmp_path)
    assert (found.bad_values, found.damage) == ([], [])
    kept = [[bool(row["value_codec"]) for row in found.rows if row["step"] == step] for step in range(4)]
    assert [len(some) for some in kept] == [1, 12, 12, 12]
    assert (kept[0], sum(kept[1]) <= 2, any(kept[2]), all(kept[3])) == ([True], True, False, True)
    for row in found.rows:
        if row["value_codec"]:
            assert found.values["x", 0, row["seq"]].tobytes() == arrays[row["visit"]].tobytes()


@LINUX
@pytest.mark.parametrize(
    ("room", "refused"),
    [*((room, None) for room in range(0, 700_000, 100_000)), *((10**9, count) for count in range(8))],
)
def test_a_full_shard_whose_last_values_are_refused_is_completed_without_them(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, room: int, refused: int | None
) -> None:
    """GIVEN shards of which each begins while the one before is written WHEN the disk fills in one of them,
    or refuses one write THEN the values that fitted are there, rows of the others are only summaries, and all
    shards are whole."""
    monkeypatch.setattr(append_file, "bypasses_page_cache", lambda _: True)
    monkeypatch.setattr(append_file, "CHUNK", 64 << 10)
    monkeypatch.setattr(append_file, "DIRECT_FROM", 16 << 10)
    monkeypatch.setattr(values_writer, "MAX_SHARD", 150_000)
    arrays = [np.random.default_rng(i).standard_normal(2500) for i in range(40)]
    with DumpWriter(tmp_path) as w:
        for step in range(6):
            disk.room = room if step == 2 else float("inf")
            disk.refused = refused if step == 2 else disk.refused
            with contextlib.suppress(OSError):
                w.log_many([Snapshot("x", array, visit=i) for i, array in enumerate(arrays)], step=step)
    found = read_all(tmp_path)
    assert (found.bad_values, found.damage, found.tails[0].dropped) == ([], [], 0)
    kept = [[bool(row["value_codec"]) for row in found.rows if row["step"] == step] for step in range(6)]
    assert [len(some) for some in kept] == [40] * 6
    assert [all(kept[step]) for step in (0, 5)] == [True, True]
    assert not all(kept[2] + kept[3])
    for row in found.rows:
        if row["value_codec"]:
            assert found.values["x", 0, row["seq"]].tobytes() == arrays[row["visit"]].tobytes()
    for file in values_files(tmp_path):
        content = file.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        del header["__metadata__"]
        ends = [entry["data_offsets"][1] for entry in header.values()]
        assert max(ends, default=0) == len(content) - 8 - length


def test_a_removed_run_is_noticed_with_small_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a run whose directory goes WHEN only statistics and events are written THEN nothing is taken for
    committed; rows wait as on a full disk, the oldest are dropped and counted, and a run that is put back
    takes the others."""
    monkeypatch.setattr(writer, "COMMIT_SECONDS", 1e9)
    monkeypatch.setattr(stats_writer, "MAX_PENDING", 150)
    root = tmp_path / "logs"
    with DumpWriter(root) as w:
        w.log("x", 0.0, step=0, keep="summary")
        w.event("note", text="before")
        w.flush()
        (folder,) = (path for path in w.run_dir.iterdir() if path.is_dir())
        run_json = (w.run_dir / "run.json").read_bytes()
        shutil.rmtree(root)
        for step in range(1, 201):
            with contextlib.suppress(FileNotFoundError):
                w.log("x", 1.0, step=step)
        for attempt in (w.flush, lambda: w.event("note", text="lost")):
            with pytest.raises(FileNotFoundError):
                attempt()
        assert not root.exists()
        folder.mkdir(parents=True)
        (w.run_dir / "run.json").write_bytes(run_json)
        w.event("note", text="after")
        w.flush()
        found = read_all(root)
        assert [row["step"] for row in found.rows] == list(range(51, 201))
        assert found.tails[0].dropped == 50
    (missing,) = read_all(root).damage  # what was committed before, and removed
    assert "stats-000000.arrows" in missing


@pytest.mark.skipif(sys.platform == "win32", reason="there no open file can be removed")
def test_a_copy_in_the_place_of_a_run_is_written_on(tmp_path: Path) -> None:
    """GIVEN a run whose directory is replaced by a copy, as a restored backup does WHEN it is written on
    THEN nothing goes to the files that are gone: the values and, after one failed commit, the rows and the
    events follow in new files."""
    root, copy, value = tmp_path / "logs", tmp_path / "copy", np.arange(5000.0)
    with DumpWriter(root) as w:
        w.log("x", value, step=0)
        w.event("note", text="before")
        w.flush()
        shutil.copytree(root, copy)
        shutil.rmtree(root)
        copy.rename(root)
        w.log("x", value + 1, step=1)
        w.event("note", text="after")
        with pytest.raises(FileNotFoundError, match="removed while it was being written"):
            w.flush()
        w.log("x", value + 2, step=2)
    found = read_all(root)
    assert [row["step"] for row in found.rows] == [0, 1, 2]
    assert [found.values["x", 0, step][0] for step in range(3)] == [0, 1, 2]
    assert sum(path.read_bytes().count(b"note") for path in root.rglob("events-*")) == 2
    assert sorted(path.name for path in root.rglob("values-*"))[1:] == ["values-000001.safetensors"]


def test_a_run_that_is_moved_is_written_on(tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "a") as w:
        w.log("x", 1.0, step=0)
        (tmp_path / "a").rename(tmp_path / "b")
        w.log("x", 2.0, step=1)
        w.flush()
    assert [row["step"] for row in read_all(tmp_path / "b").rows] == [0, 1]
