"""Torn tails are pending, damage is skipped and reported, and nothing a file claims is believed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from dump_tools import read_all, stats_files, values_files

from tensortap.core.errors import DamagedError, NotFoundError
from tensortap.dump.format.frames import EOS
from tensortap.dump.maintenance.run_check import check_run
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.read.stats_reader import StatsTail, read_commit
from tensortap.dump.read.values_reader import ValueReader, ValueRef, read_value, value_ref
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage import files

COMMITS = 5


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed dump of five commits of three rows; one value of each commit lies in a values file."""
    monkeypatch.setattr("tensortap.dump.write.writer.COMMIT_SECONDS", 1e9)
    logdir = tmp_path / "dump"
    rng = np.random.default_rng(0)
    with DumpWriter(logdir) as w:
        for step in range(COMMITS):
            w.log("a", rng.standard_normal(20).astype(np.float32), step=step)
            w.log("b", rng.standard_normal(1000).astype(np.float32), step=step)
            w.log("c", rng.standard_normal(20).astype(np.float32), step=step, keep="summary")
            w.flush()
    return logdir


def tail_of(logdir: Path) -> StatsTail:
    run = RunReader(find_runs(logdir)[0][1])
    return run.tail(run.workers()[0].worker)


def test_a_tail_torn_at_any_byte_is_pending_and_heals(dump: Path) -> None:
    (file,) = stats_files(dump)
    whole = file.read_bytes()
    last = tail_of(dump).poll()[-1]
    end = last.offset + last.length
    assert end + len(EOS) == len(whole)
    file.write_bytes(whole[: last.offset])
    follower = tail_of(dump)
    assert len(follower.poll()) == COMMITS - 1
    assert follower.pending is None
    for size in range(last.offset + 1, end):
        with file.open("ab") as out:
            out.write(whole[size - 1 : size])
        newcomer = tail_of(dump) if size % 61 == 0 else None
        for tail, commits in ((follower, 0), (newcomer, COMMITS - 1)):
            if tail is not None:
                assert len(tail.poll()) == commits
                assert tail.pending is not None
                assert (tail.damage, tail.closed) == ([], False)
    for size in range(end, len(whole)):
        file.write_bytes(whole[:size])
        assert len(follower.poll()) == (1 if size == end else 0)
        assert not follower.closed
    file.write_bytes(whole)
    assert follower.poll() == []
    assert (follower.pending, follower.damage, follower.closed) == (None, [], True)


def test_an_end_that_turns_out_to_be_none(dump: Path) -> None:
    """A frame of which only the first four bytes have arrived, in front of zeros, looks like the end."""
    (file,) = stats_files(dump)
    whole = file.read_bytes()
    last = tail_of(dump).poll()[-1]
    file.write_bytes(whole[: last.offset] + EOS)
    tail = tail_of(dump)
    assert len(tail.poll()) == COMMITS - 1
    assert tail.closed
    file.write_bytes(whole[:-8])
    assert len(tail.poll()) == 1
    assert (tail.closed, tail.damage) == (False, [])


def test_a_file_cut_within_its_schema_is_pending(dump: Path) -> None:
    (file,) = stats_files(dump)
    whole = file.read_bytes()
    start = tail_of(dump).poll()[0].offset
    for size in (0, 1, 7, 8, 9, start // 2, start - 1):
        file.write_bytes(whole[:size])
        tail = tail_of(dump)
        assert (tail.poll(), tail.damage, tail.closed) == ([], [], False)
    file.write_bytes(whole)
    assert len(tail.poll()) == COMMITS


def test_a_tail_of_zeros_is_pending(dump: Path) -> None:
    (file,) = stats_files(dump)
    whole = file.read_bytes()
    last = tail_of(dump).poll()[-1]
    file.write_bytes(whole[: last.offset + 8] + bytes(5000))
    tail = tail_of(dump)
    assert len(tail.poll()) == COMMITS - 1
    assert (tail.damage, tail.pending is not None) == ([], True)


def test_one_flipped_byte_costs_one_commit_at_most(dump: Path) -> None:
    (file,) = stats_files(dump)
    whole = file.read_bytes()
    commits = tail_of(dump).poll()
    first, last = commits[0].offset, commits[-1]
    rng = random.Random(1)
    # The first commit's framing and metadata, bytes from anywhere, and the last commit's body. (If the last
    # one's lengths are wrong, it cannot be told from a torn tail.)
    anywhere = [rng.randrange(last.offset) for _ in range(120)]
    body = range(last.offset + last.length - 400, last.offset + last.length, 20)
    places = [*range(0, 40), *range(first, first + 120), *anywhere, *body]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        tail = tail_of(dump)
        found = tail.poll()
        if place >= first:
            assert len(found) == COMMITS - 1
        else:
            assert len(found) == COMMITS  # the schema of version 1 stands in
        assert len(tail.damage) == 1
        assert file.name in tail.damage[0]
        assert tail.closed
        good = {commit.offset: commit.batch.serialize() for commit in commits}
        assert all(good[commit.offset] == commit.batch.serialize() for commit in found)


def test_a_flipped_end_mark_is_pending(dump: Path) -> None:
    (file,) = stats_files(dump)
    whole = bytearray(file.read_bytes())
    whole[-1] ^= 1
    file.write_bytes(whole)
    tail = tail_of(dump)
    assert len(tail.poll()) == COMMITS
    assert (tail.closed, tail.damage, tail.pending is not None) == (False, [], True)


def test_a_hole_in_the_middle_is_skipped_and_reported(dump: Path) -> None:
    (file,) = stats_files(dump)
    commits = tail_of(dump).poll()
    whole = bytearray(file.read_bytes())
    begin, end = commits[1].offset + 100, commits[3].offset + 50
    whole[begin:end] = bytes(end - begin)
    file.write_bytes(whole)
    tail = tail_of(dump)
    assert [c.offset for c in tail.poll()] == [c.offset for c in (commits[0], commits[4])]
    assert len(tail.damage) == 1
    file.write_bytes(whole[:begin] + whole[end:])  # bytes are missing: what follows is out of line
    tail = tail_of(dump)
    assert len(tail.poll()) == COMMITS - 3
    assert len(tail.damage) == 1


def test_a_torn_file_with_a_successor_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.dump.write.stats_writer.ROTATE", 1)
    with DumpWriter(tmp_path) as w:
        for step in range(3):
            w.log("a", 1.0, step=step)
            w.flush()
    first, second, *_ = stats_files(tmp_path)
    first.write_bytes(first.read_bytes()[:-20])
    tail = tail_of(tmp_path)
    assert [commit.file for commit in tail.poll()] == [1, 2]
    assert len(tail.damage) == 1
    assert first.name in tail.damage[0]
    second.unlink()
    first.unlink()
    tail = tail_of(tmp_path)
    assert tail.poll() == []  # nobody can tell whether a first file will come
    third = stats_files(tmp_path)[0]
    shutil.copy(third, second)
    assert [commit.file for commit in tail.poll()] == [1]
    assert "missing" in tail.damage[0]
    assert "It repeats snapshots of an earlier one." in tail.damage[1]


def test_bytes_behind_the_end_mark_are_reported(dump: Path) -> None:
    (file,) = stats_files(dump)
    whole = file.read_bytes()
    commits = tail_of(dump).poll()
    file.write_bytes(whole + whole[commits[0].offset :])
    tail = tail_of(dump)
    assert len(tail.poll()) == COMMITS
    assert "The stream ends here, but the file continues." in tail.damage[0]
    assert all("It repeats snapshots of an earlier one." in sentence for sentence in tail.damage[1:])
    assert len(tail.damage) == 1 + COMMITS


@pytest.mark.parametrize("order", [(0, 1, 1, 2), (0, 1, 2, 0), (0, 0, 1, 2), (0, 1, 2, 1)])
def test_a_commit_that_is_there_twice_is_counted_once(dump: Path, order: tuple[int, ...]) -> None:
    (file,) = stats_files(dump)
    commits, whole = tail_of(dump).poll(), file.read_bytes()
    pieces = [whole[commit.offset : commit.offset + commit.length] for commit in commits[:3]]
    rest = whole[commits[2].offset + commits[2].length :]
    file.write_bytes(whole[: commits[0].offset] + b"".join(pieces[at] for at in order) + rest)
    tail = tail_of(dump)
    assert [commit.batch for commit in tail.poll()] == [commit.batch for commit in commits]
    (sentence,) = tail.damage
    assert "one commit skipped. It repeats snapshots of an earlier one." in sentence
    assert check_run("r", file.parents[1]).damage


def test_commits_in_another_order_are_all_read(dump: Path) -> None:
    (file,) = stats_files(dump)
    commits, whole = tail_of(dump).poll(), file.read_bytes()
    pieces = [whole[commit.offset : commit.offset + commit.length] for commit in commits]
    file.write_bytes(whole[: commits[0].offset] + b"".join(reversed(pieces)) + EOS)
    tail = tail_of(dump)
    assert len(tail.poll()) == COMMITS
    assert tail.damage == []


def test_a_value_with_a_flipped_byte_is_reported_and_keeps_its_statistics(dump: Path) -> None:
    (file,) = values_files(dump)
    whole = bytearray(file.read_bytes())
    whole[-5] ^= 4
    file.write_bytes(whole)
    found = read_all(dump)
    assert len(found.rows) == 3 * COMMITS
    assert len(found.values) == 2 * COMMITS - 1
    (sentence,) = found.bad_values
    assert "checksum" in sentence


def test_a_missing_or_cut_values_file(dump: Path) -> None:
    (file,) = values_files(dump)
    file.write_bytes(file.read_bytes()[:-2000])
    assert len(read_all(dump).bad_values) == 1
    file.unlink()
    found = read_all(dump)
    assert len(found.bad_values) == COMMITS
    assert "missing" in found.bad_values[0]


def test_commits_can_be_read_again(dump: Path) -> None:
    tail = tail_of(dump)
    run_dir = find_runs(dump)[0][1]
    for commit in tail.poll(columns=["seq", "step"]):
        assert commit.batch.schema.names == ["seq", "step"]
        batch = read_commit(run_dir, commit.worker, commit.file, commit.offset, commit.length)
        assert batch.column("step").equals(commit.batch.column("step"))
        assert "bucket_id" in batch.schema.names
        for offset, length in ((commit.offset + 8, commit.length), (commit.offset, commit.length - 8)):
            with pytest.raises(DamagedError):
                read_commit(run_dir, commit.worker, commit.file, offset, length)
    for file, worker in ((7, tail.worker), (-1, tail.worker), (0, "../../etc")):
        with pytest.raises(DamagedError):
            read_commit(run_dir, worker, file, 0, 8)


def test_polling_in_portions_finds_everything(dump: Path) -> None:
    tail = tail_of(dump)
    portions = []
    while portion := tail.poll(max_bytes=1):
        portions.append(portion)
    assert [len(portion) for portion in portions] == [1] * COMMITS
    assert tail.closed


def test_links_are_not_followed(dump: Path, tmp_path: Path) -> None:
    (file,) = stats_files(dump)
    (values,) = values_files(dump)
    secret = tmp_path / "elsewhere"
    secret.write_bytes(values.read_bytes())
    values.unlink()
    values.symlink_to(secret)
    found = read_all(dump)
    assert len(found.bad_values) == COMMITS
    moved = file.rename(tmp_path / "moved")
    file.symlink_to(moved)
    tail = tail_of(dump)
    assert tail.poll() == []
    worker = file.parent
    elsewhere = worker.rename(tmp_path / worker.name)
    worker.symlink_to(elsewhere)
    assert RunReader(find_runs(dump)[0][1]).workers() == []


def test_worker_names_are_checked(dump: Path) -> None:
    run = RunReader(find_runs(dump)[0][1])
    with pytest.raises(NotFoundError):
        run.tail("../run")


def test_references_into_nowhere(dump: Path) -> None:
    tail = tail_of(dump)
    run_dir = find_runs(dump)[0][1]
    batch = tail.poll()[0].batch
    good = value_ref(run_dir, tail.worker, batch, 1)
    assert good is not None
    fields = {name: getattr(good, name) for name in ValueRef.__dataclass_fields__}
    for change in (
        {"offset": 2**62},
        {"offset": -5},
        {"length": 2**60, "shape": (2**58,)},
        {"length": -1},
        {"file": 3},
        {"file": -7},
        {"shape": (10**6, 10**6)},
        {"shape": (-4, -1000)},
        {"shape": (2**32, 2**32)},
        {"shape": (1,) * 100 + (1000,)},
        {"codec": "zstd:1048576", "shape": (2**60,)},
        {"codec": "zstd:1048576"},
        {"codec": "zstd:999999999"},
        {"codec": "nonzero:4:1048576", "shape": (2**60,)},
        {"codec": "nonzero:4:1048576"},
        {"codec": "nonzero:3:1048576"},
        {"codec": "lzma"},
        {"dtype": "string"},
        {"worker": "../x"},
        {"inline": b"short"},
    ):
        with pytest.raises(DamagedError):
            read_value(ValueRef(**(fields | change)))
    for shape in ((2**32, 2**32), (1,) * 100 + (1000,)):
        with pytest.raises(DamagedError):
            ValueReader(ValueRef(**(fields | {"shape": shape})))
    for start, length in ((-1, 5), (0, 4001), (3999, 2), (0, -1)):
        with ValueReader(good) as reader, pytest.raises(DamagedError):
            reader.read(start, length)


def test_commits_read_before_a_failing_disk_are_not_lost(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = tail_of(dump)
    real, left = files.FileReader.read, iter([True] * 12)

    def failing(file: files.FileReader, offset: int, length: int) -> bytes:
        if not next(left, False):
            raise OSError(5, "Input/output error")
        return real(file, offset, length)

    with monkeypatch.context() as broken:
        broken.setattr(files.FileReader, "read", failing)
        before = tail.poll()
        with pytest.raises(OSError, match="Input/output"):
            tail.poll()
    assert 0 < len(before) < COMMITS
    assert len(before) + len(tail.poll()) == COMMITS
