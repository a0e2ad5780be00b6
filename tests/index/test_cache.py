"""The saved index: what it answers is what the dump says, whatever happens to it or to the dump."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.dump.read import file_marks
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.cache import saved_run
from tensortap.index.cache.cache_folders import claim, run_folder, sweep
from tensortap.index.cache.container import ContainerError, read_container, write_container
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import snapshots
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.series.histograms import histograms
from tensortap.index.series.history import history
from tensortap.index.series.step_statistics import step_statistics
from tensortap.system.user_dirs import cache_folder

TENSORS = 5


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, in which small runs are saved, too, in several segments."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TENSORTAP_CACHE", str(folder))
    monkeypatch.setattr(saved_run, "FEWEST", 1)
    monkeypatch.setattr(saved_run, "SEGMENT_ROWS", 40)
    return folder


@pytest.fixture
def logdir(tmp_path):
    return tmp_path / "logs"


def log_steps(writer, steps):
    rng = np.random.default_rng(7)
    for step in steps:
        for number in range(TENSORS):
            values = rng.normal(size=(number + 1, 3)) * 10.0**number
            if step % 7 == 3:
                values[0, 0] = np.nan
            writer.log(f"t{number}", values, step=step, keep="value" if number % 2 else "summary", time=step)
        writer.flush()


def write(logdir, steps=range(20), run="r"):
    with DumpWriter(logdir, run) as writer:
        log_steps(writer, steps)


def opened(logdir, **options):
    log = LogIndex(logdir, **options)
    log.refresh()
    return log


def answers(log):
    """What the queries say, as text that compares NaN to NaN."""
    found = []
    for run in sorted(log.runs, key=lambda run: run.name):
        found += [asdict(run.overview()), run.tensors, run.damage, [asdict(w) for w in run.workers]]
        found += [run.steps.step.tolist(), run.steps.nan.tolist(), run.steps.snapshots.tolist()]
        for sort in ("step", "-abs_max", "tensor"):
            found += [[asdict(s) for s in snapshots(run, sort=sort, limit=1000).rows]]
        found += [[s.row for s in snapshots(run, where="nan > 0 or std > 100", limit=1000).rows]]
        for tensor in run.tensors:
            for series in (history(run, tensor).columns, histograms(run, tensor, limit=None)):
                found += [{k: np.asarray(v).tolist() for k, v in dict(asdict_or(series)).items()}]
        for step in run.steps.step.tolist()[:3]:
            columns = step_statistics(run, "-", step).columns
            found += [{k: getattr(v, "codes", v).tolist() for k, v in columns.items()}]
    return repr(found)


def asdict_or(series):
    return series if isinstance(series, dict) else asdict(series)


def was_loaded(log):
    """Whether a saved index was taken over by every run."""
    return all(run._positions for run in log.runs)


def test_a_saved_index_answers_as_the_dump_does(logdir, cache):
    write(logdir)
    from_dump = answers(opened(logdir, use_cache=False))
    first = opened(logdir)
    assert not was_loaded(first)
    assert answers(first) == from_dump
    again = opened(logdir)
    assert was_loaded(again)
    assert len(again.runs[0].catalog.parts.segments) == 1
    assert answers(again) == from_dump


def test_a_dump_is_read_once_to_see_that_it_is_the_same(logdir, cache, monkeypatch):
    write(logdir)
    expected = answers(opened(logdir))  # saved while the files' timestamps were too new to be trusted
    for file in logdir.rglob("stats-*"):
        os.utime(file, (1e9, 1e9))
    assert was_loaded(opened(logdir))

    def no_reading(path, length):
        raise AssertionError(f"{path.name} was read as a whole again.")

    monkeypatch.setattr(file_marks, "crc32c_of_file", no_reading)
    again = opened(logdir)
    assert was_loaded(again)
    assert answers(again) == expected


@settings(max_examples=10)
@given(
    plan=st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 30), st.booleans(), st.booleans()), min_size=1, max_size=6
    )
)
def test_runs_that_grow_are_saved_as_they_grow(tmp_path_factory, plan):
    """Workers write in turn; now and then somebody reads on, or a new reader opens the saved index."""
    folder = tmp_path_factory.mktemp("grow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORTAP_CACHE", str(folder / "cache"))
        patch.setattr(saved_run, "FEWEST", 6)
        patch.setattr(saved_run, "SEGMENT_ROWS", 40)
        patch.setattr("tensortap.index.worker_follower.POLL_BYTES", 20_000)
        writers = [DumpWriter(folder / "logs", "r") for _ in range(3)]
        log, step = LogIndex(folder / "logs"), 0
        for number, steps, read_on, reopen in plan:
            log_steps(writers[number], range(step, step + steps))
            step += steps
            if read_on:
                log.refresh()
            if reopen:
                log = opened(folder / "logs")
        for writer in writers:
            writer.close()
        log.refresh()
        reopened = opened(folder / "logs")
        for found in (log, reopened):
            rows = history(found.runs[0], "t1").columns["step"]
            assert rows.tolist() == list(range(step))
            series = histograms(found.runs[0], "t2", limit=None)
            assert series.counts.sum(axis=1).tolist() == (9 - series.nan).tolist()


def test_the_tail_is_read_from_where_the_saved_index_ends(logdir, cache):
    writer = DumpWriter(logdir, "r")
    log_steps(writer, range(10))
    opened(logdir)
    log_steps(writer, range(10, 20))
    log = opened(logdir)
    assert was_loaded(log)
    assert log.runs[0].catalog.rows == 20 * TENSORS
    writer.close()
    log.refresh()
    assert log.runs[0].workers[0].closed
    assert answers(log) == answers(opened(logdir, use_cache=False))


def damage_bits(path, at):
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x10
    path.write_bytes(data)


def test_a_damaged_index_changes_no_answer(logdir, cache):
    write(logdir)
    truth = answers(opened(logdir, use_cache=False))
    opened(logdir)
    whole = {path: path.read_bytes() for path in cache.rglob("*.index")}
    assert len(whole) == 2
    rng = np.random.default_rng(1)
    for path, data in whole.items():
        for at in [0, 9, 13, 40, *rng.integers(0, len(data), 12).tolist()]:
            damage_bits(path, at)
            assert answers(opened(logdir)) == truth, (path.name, at)
            for other, content in whole.items():  # who finds damage may have saved anew
                other.write_bytes(content)
        path.write_bytes(data[: len(data) // 2])
        assert answers(opened(logdir)) == truth
        path.unlink()
        assert answers(opened(logdir)) == truth
        for other, content in whole.items():
            other.write_bytes(content)


def test_rows_of_another_run_are_not_taken(logdir, cache):
    """GIVEN two runs with as many rows WHEN their saved rows are exchanged THEN the dumps are read."""
    write(logdir, run="r")
    write(logdir, range(20, 40), run="q")
    truth = answers(opened(logdir))
    one, other = (sorted(folder.glob("rows-*")) for folder in sorted(cache.glob("*/*")))
    assert len(one) == len(other) > 0
    for mine, theirs in zip(one, other, strict=True):
        data = mine.read_bytes()
        mine.write_bytes(theirs.read_bytes())
        theirs.write_bytes(data)
    assert answers(opened(logdir)) == truth


def test_an_index_of_other_bytes_is_not_used(logdir, cache):
    write(logdir)
    opened(logdir)
    (stats,) = logdir.rglob("stats-*")
    status = stats.stat()
    place = LogIndex(logdir, use_cache=False)
    place.refresh()
    at = place.runs[0].catalog.place(2).offset + 300
    damage_bits(stats, at)
    damaged = opened(logdir)
    assert not was_loaded(damaged)
    assert len(damaged.runs[0].damage) == 1
    os.utime(stats, ns=(status.st_atime_ns, status.st_mtime_ns))  # a timestamp that was put back, too new
    assert len(opened(logdir).runs[0].damage) == 1


def test_a_run_that_was_written_anew_is_read_anew(logdir, cache):
    write(logdir)
    opened(logdir)
    shutil.rmtree(logdir)
    write(logdir, range(3))
    log = opened(logdir)
    assert not was_loaded(log)
    assert log.runs[0].catalog.rows == 3 * TENSORS


def test_a_copy_with_new_time_stamps_at_the_same_place_is_recognised_by_its_bytes(logdir, cache, tmp_path):
    write(logdir)
    truth = answers(opened(logdir))
    shutil.copytree(logdir, tmp_path / "copy", copy_function=shutil.copyfile)
    shutil.rmtree(logdir)
    (tmp_path / "copy").rename(logdir)
    log = opened(logdir)
    assert was_loaded(log)
    assert answers(log) == truth


def test_deleting_the_cache_while_it_is_used_hurts_nobody(logdir, cache):
    write(logdir)
    opened(logdir)
    log = opened(logdir)
    shutil.rmtree(cache)
    truth = answers(opened(logdir, use_cache=False))
    assert answers(log) == truth
    with DumpWriter(logdir, "r") as writer:
        log_steps(writer, range(20, 40))
    log.refresh()
    assert answers(log) == answers(opened(logdir, use_cache=False))


@pytest.mark.parametrize("what", ["file", "off", "link", "readonly"])
def test_without_a_cache_everything_works(logdir, tmp_path, monkeypatch, what):
    monkeypatch.setattr(saved_run, "FEWEST", 1)
    cache = tmp_path / "cache"
    if what == "file":
        cache.write_text("in the way")
    elif what == "link":
        cache.symlink_to(tmp_path / "nowhere" / "at" / "all")
    elif what == "readonly":
        cache = Path("/proc/tensortap")
    monkeypatch.setenv("TENSORTAP_CACHE", "off" if what == "off" else str(cache))
    write(logdir)
    log = opened(logdir)
    assert answers(log) == answers(opened(logdir, use_cache=False))
    assert log.runs[0].catalog.parts.tail.histogram_bytes == 0


def test_a_folder_of_somebody_else_is_not_read(logdir, cache, monkeypatch):
    write(logdir)
    opened(logdir)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    assert not was_loaded(opened(logdir))


def test_two_processes_save_the_same_run_at_once(logdir, cache):
    write(logdir, range(60))
    code = (
        "import sys; from tensortap.index.logdir_index import LogIndex\n"
        "from tensortap.index.cache import saved_run\n"
        "saved_run.FEWEST = 1\n"
        "for _ in range(5):\n    log = LogIndex(sys.argv[1]); log.refresh(); print(log.runs[0].catalog.rows)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(logdir)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in running:
        said, _ = process.communicate(timeout=60)
        assert said.split() == [str(60 * TENSORS)] * 5
        assert process.returncode == 0
    log = opened(logdir)
    assert was_loaded(log)
    assert answers(log) == answers(opened(logdir, use_cache=False))


def test_histograms_and_values_of_one_snapshot(logdir, cache):
    write(logdir)
    opened(logdir)
    run = opened(logdir).runs[0]
    from tensortap.index.values import find_histogram

    plain = opened(logdir, use_cache=False).runs[0]
    for tensor in run.tensors:
        found, expected = (find_histogram(r, find_snapshot(r, tensor, step=11)) for r in (run, plain))
        assert found.bucket_id.tolist() == expected.bucket_id.tolist()
        assert found.bucket_count.tolist() == expected.bucket_count.tolist()
        assert found.bucket_count.dtype == np.int64


def test_indices_of_runs_that_are_gone_are_swept(logdir, cache, tmp_path):
    for name in ("a", "b"):
        write(logdir, run=name)
    opened(logdir)
    assert len(list(cache.glob("*/*"))) == 2
    shutil.rmtree(logdir / "a")
    sweep(cache)
    assert len(list(cache.glob("*/*"))) == 1
    mark = next(cache.glob("*/*/run.txt"))
    os.utime(mark, (0, time.time() - 100 * 86_400))
    sweep(cache)
    assert not list(cache.glob("*/*"))


def test_the_cache_is_where_the_user_says(monkeypatch):
    monkeypatch.setenv("TENSORTAP_CACHE", "/some/where")
    assert cache_folder() == Path("/some/where")
    monkeypatch.setenv("TENSORTAP_CACHE", "")
    assert cache_folder() is None
    monkeypatch.delenv("TENSORTAP_CACHE")
    if sys.platform != "linux":
        return
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/tensortap")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "tensortap"


@settings(max_examples=200)
@given(st.integers(0, 10_000), st.integers(0, 255), st.integers(0, 300))
def test_a_container_is_whole_or_refused(tmp_path_factory, at, byte, cut):
    path = tmp_path_factory.mktemp("container") / "x.index"
    arrays = {"a": np.arange(40), "b": np.array([True, False]), "c": np.zeros(0, np.uint8)}
    write_container(path, {"about": [1, "ü"]}, arrays)
    data = bytearray(path.read_bytes())
    whole = bytes(data)
    data[at % len(data)] = byte
    path.write_bytes(data[: len(data) - cut] if cut < 20 else data)
    if path.read_bytes() == whole:
        assert read_container(path)[1]["a"].tolist() == list(range(40))
        return
    try:
        about, found = read_container(path)
    except ContainerError:
        return
    assert about == {"about": [1, "ü"]}  # only padding was hit
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }


def test_levels_of_the_cache_that_others_may_write_to_are_closed_or_refused(tmp_path):
    cache, run_dir = tmp_path / "c", tmp_path / "run"
    run_dir.mkdir()
    former = os.umask(0o002)
    try:
        folder = run_folder(cache, run_dir, 1)
        folder.parent.mkdir(parents=True)
        claim(cache, folder, run_dir)
    finally:
        os.umask(former)
    assert [path.stat().st_mode & 0o077 for path in (folder.parent, folder)] == [0, 0]
    shutil.rmtree(folder)
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="or is a link"):
        claim(cache, folder, run_dir)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("what", ["link", "fifo"])
def test_nothing_is_written_through_what_lies_where_a_saved_index_belongs(tmp_path, what):
    cache, precious = tmp_path / "c", tmp_path / "precious"
    precious.write_text("important")
    folder = run_folder(cache, tmp_path, 1)
    folder.mkdir(parents=True)
    mark = folder / "run.txt"
    if what == "link":
        mark.symlink_to(precious)
    else:
        os.mkfifo(mark)
    with pytest.raises(OSError):
        claim(cache, folder, tmp_path)
    sweep(cache)
    assert precious.read_text() == "important"
