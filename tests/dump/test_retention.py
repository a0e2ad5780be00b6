"""Old values go first, summaries stay; what was pruned is said to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from dump_tools import stats_files, values_files
from safetensors.numpy import load_file

from tensortap.__main__ import main
from tensortap.core.errors import InvalidValueError, ValueNotKeptError, ValuePrunedError
from tensortap.dump.format.layout import pruned_files
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.series.history import history
from tensortap.index.values import read_slice

VALUES = np.arange(200_000, dtype=np.float64)  # 1.6 MB


def write(logdir, steps, **options):
    with DumpWriter(logdir, "r", compression=None, **options) as writer:
        for step in steps:
            writer.log("a", VALUES + step, step=step)
            writer.log("small", np.arange(3), step=step)
            writer.flush()


def kept_steps(logdir):
    """The steps whose value can be read, and those whose value was pruned."""
    log = LogIndex(logdir, use_cache=False)
    log.refresh()
    (run,) = log.runs
    assert not run.damage
    steps = history(run, "a").columns["step"].tolist()
    kept = []
    for step in steps:
        try:
            np.testing.assert_array_equal(read_slice(run, find_snapshot(run, "a", step=step)), VALUES + step)
            kept.append(step)
        except ValuePrunedError as error:
            assert "pruned" in error.message
        assert read_slice(run, find_snapshot(run, "small", step=step)).tolist() == [0, 1, 2]
    return steps, kept


def test_the_values_of_the_last_steps_stay(tmp_path):
    write(tmp_path, range(12), keep_last=2)
    steps, kept = kept_steps(tmp_path)
    assert steps == list(range(12))
    assert kept[-2:] == [10, 11]
    assert kept == list(range(kept[0], 12))
    assert len(kept) <= 6  # a shard holds up to three of these


def test_the_bytes_of_a_run_stay_below_the_limit(tmp_path):
    limit = 16_000_000
    write(tmp_path, range(30), max_bytes=limit)
    steps, kept = kept_steps(tmp_path)
    assert steps == list(range(30))
    assert kept == list(range(kept[0], 30))
    assert sum(path.stat().st_size for path in values_files(tmp_path)) <= limit + 4_000_000
    write(tmp_path, range(30, 40), max_bytes=limit)  # another worker of the run: the first one's go
    steps, kept = kept_steps(tmp_path)
    assert kept == list(range(kept[0], 40))
    assert kept[0] > 24
    assert sum(path.stat().st_size for path in values_files(tmp_path)) <= limit + 4_000_000


@pytest.mark.parametrize("limits", [{"keep_last": 5}, {"max_bytes": 3 << 20}])
def test_limits_hold_without_a_commit_between_and_when_a_writer_is_closed(tmp_path, limits, monkeypatch):
    monkeypatch.setattr("tensortap.dump.write.writer.COMMIT_SECONDS", 1e9)
    monkeypatch.setattr("tensortap.dump.write.writer.COMMIT_ROWS", 10**9)
    most = 0
    with DumpWriter(tmp_path, "r", compression=None, **limits) as writer:
        for step in range(60):
            for node in "abc":
                writer.log(node, np.full(50_000, step + 1.0, np.float32), step=step)
            most = max(most, sum(path.stat().st_size for path in values_files(tmp_path)))
    size = sum(path.stat().st_size for path in values_files(tmp_path))
    kept = len(steps_in_files(tmp_path))
    if "keep_last" in limits:
        assert 5 <= kept <= 5 + 7  # a shard of 4 MiB holds seven of these steps
        assert most < 3 * 5 << 20
    else:
        assert size <= 3 << 20
        assert kept >= 3
        assert most <= (3 << 20) + (1 << 20) + 500_000  # the shard that is being written


def steps_in_files(logdir):
    """The steps with a value in a values file that is there."""
    found = set()
    for info in RunReader(logdir / "r").workers():
        there = {path.stem for path in (logdir / "r" / info.worker).glob("values-*.safetensors")}
        for commit in RunReader(logdir / "r").tail(info.worker).poll():
            columns = (commit.batch.column(name).to_pylist() for name in ("step", "value_file"))
            rows = zip(*columns, strict=True)
            found |= {step for step, file in rows if f"values-{file:06d}" in there}
    return found


def test_pruning_a_finished_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tensortap.dump.write.values_writer.MAX_SHARD", 2_000_000)
    write(tmp_path, range(6))
    before = values_files(tmp_path)
    assert main(["prune", str(tmp_path), "--keep-last", "2", "--dry-run"]) == 0
    assert "r would lose" in capsys.readouterr().out
    assert values_files(tmp_path) == before
    assert main(["prune", str(tmp_path), "--keep-last", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["runs"]["r"]
    assert said["values"] == len(said["removed"]) * 2 == 4
    assert kept_steps(tmp_path) == (list(range(6)), [4, 5])
    assert main(["prune", str(tmp_path), "--keep-last", "2"]) == 0
    assert "keeps all values" in capsys.readouterr().out
    assert main(["check", str(tmp_path)]) == 0
    assert "4 values pruned" in capsys.readouterr().out
    assert main(["prune", str(tmp_path), "--max-bytes", "1K"]) == 0
    assert kept_steps(tmp_path) == (list(range(6)), [])
    assert main(["prune", str(tmp_path)]) == 1
    with pytest.raises(SystemExit):
        main(["prune", str(tmp_path), "--max-bytes", "much"])


def test_what_a_process_is_writing_stays(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("small", np.arange(3), step=0)
        writer.log("a", VALUES, step=0)
        writer.flush()
        assert prune_run(tmp_path / "r", Retention(max_bytes=1)).files == 0
        writer.log("small", np.arange(3), step=1)
        writer.log("a", VALUES + 1, step=1)
    assert kept_steps(tmp_path) == ([0, 1], [0, 1])


def test_a_missing_file_that_was_not_pruned_is_damage(tmp_path, capsys):
    write(tmp_path, range(2))
    values_files(tmp_path)[0].unlink()
    assert main(["check", str(tmp_path)]) == 1
    assert "missing" in capsys.readouterr().out


def test_the_server_says_pruned(tmp_path):
    from tensortap.server.app import create_app

    write(tmp_path, range(2))
    prune_run(tmp_path / "r", Retention(max_bytes=1))
    client = create_app(tmp_path).test_client()
    run = client.get("/api/runs").get_json()["runs"][0]["id"]
    answer = client.get(f"/api/runs/{run}/value?tensor=a&step=1")
    assert answer.status_code == 410
    assert "pruned" in answer.get_json()["error"]
    assert client.get(f"/api/runs/{run}/histograms?tensor=a").status_code == 200


@pytest.mark.parametrize(
    "options", [{"keep_last": 0}, {"max_bytes": -1}, {"keep_last": True}, {"max_bytes": 1.5}]
)
def test_impossible_limits_are_refused(tmp_path, options):
    with pytest.raises(InvalidValueError, match="positive integer"):
        DumpWriter(tmp_path, **options)
    assert issubclass(ValuePrunedError, ValueNotKeptError)


def set_back(paths, seconds=700):
    """As if they had been written so long ago."""
    for path in paths:
        os.utime(path, (path.stat().st_mtime - seconds,) * 2)


def test_what_a_slow_process_is_writing_stays(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("small", np.arange(3), step=0)
        writer.log("a", VALUES, step=0)
        writer.flush()
        set_back(values_files(tmp_path))
        assert prune_run(tmp_path / "r", Retention(max_bytes=1)).files == 0
        writer.log("small", np.arange(3), step=1)
        writer.log("a", VALUES + 1, step=1)
    assert kept_steps(tmp_path) == ([0, 1], [0, 1])


def test_a_file_that_was_taken_for_abandoned_costs_only_what_it_held(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tensortap.dump.write.retention.is_locked", lambda file: False
    )  # as between two machines
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(4):
            writer.log("small", np.arange(3), step=step)
            writer.log("a", VALUES + step, step=step)
            writer.flush()
            if step == 1:
                set_back(values_files(tmp_path))
                assert prune_run(tmp_path / "r", Retention(max_bytes=1)).values == 2
    assert kept_steps(tmp_path) == ([0, 1, 2, 3], [2, 3])


def test_pruning_a_copy_goes_by_steps_not_by_the_times_of_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tensortap.dump.write.values_writer.MAX_SHARD", 1_000_000)
    write(tmp_path, range(4))
    for number, path in enumerate(values_files(tmp_path)):
        set_back([path], seconds=100 * number)
    prune_run(tmp_path / "r", Retention(max_bytes=4_000_000))
    assert kept_steps(tmp_path) == ([0, 1, 2, 3], [2, 3])


def test_a_step_that_comes_again_is_a_late_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tensortap.dump.write.retention._SMALL_SHARD", 1_000_000)  # a file a step
    write(tmp_path, (7, 8, 7, 9), keep_last=2)
    kept = [path.stem.removeprefix("values-") for path in values_files(tmp_path)]
    assert kept == ["000000", "000002", "000003"]  # 8 went: 7 came after it


@pytest.mark.parametrize("limits", [("--keep-last", "2"), ("--max-bytes", "3800K")])
def test_what_is_to_stay_of_a_file_moves(tmp_path, capsys, limits):
    write(tmp_path, range(6))
    (before,) = values_files(tmp_path)
    live = LogIndex(tmp_path, use_cache=False)
    live.refresh()
    assert main(["prune", str(tmp_path), *limits, "--dry-run"]) == 0
    assert "would lose 4 values" in capsys.readouterr().out
    assert values_files(tmp_path) == [before]
    assert main(["prune", str(tmp_path), *limits]) == 0
    out = capsys.readouterr().out
    assert "r lost 4 values in 1 file, 6.4 MB" in out
    assert "2 values from the same files were kept, in a new file" in out
    assert kept_steps(tmp_path) == (list(range(6)), [4, 5])
    (after,) = values_files(tmp_path)
    assert after.name == "values-000001.safetensors"
    assert list(load_file(after)) == ["a:0@4#8", "a:0@5#10"]
    live.refresh()
    assert not live.runs[0].damage
    assert read_slice(live.runs[0], find_snapshot(live.runs[0], "a", step=5))[7] == 12
    with pytest.raises(ValuePrunedError):
        read_slice(live.runs[0], find_snapshot(live.runs[0], "a", step=3))
    assert main(["check", str(tmp_path)]) == 0
    assert main(["prune", str(tmp_path), *limits]) == 0
    assert "keeps all values" in capsys.readouterr().out


def test_damaged_values_are_not_moved(tmp_path, capsys):
    write(tmp_path, range(6))
    (file,) = values_files(tmp_path)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert main(["prune", str(tmp_path), "--keep-last", "2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "damaged, so not pruned" in out
    assert "does not match its checksum" in out
    assert values_files(tmp_path) == [file]


def test_what_cannot_be_moved_stays(tmp_path, monkeypatch):
    write(tmp_path, range(6))
    files = {path: path.read_bytes() for path in (tmp_path / "r").rglob("*-0*.*")}
    monkeypatch.setattr("tensortap.dump.maintenance.value_moves.encode", refuse)
    with pytest.raises(OSError, match="full"):
        prune_run(tmp_path / "r", Retention(keep_last=2))
    assert {path: path.read_bytes() for path in (tmp_path / "r").rglob("*-0*.*")} == files
    monkeypatch.undo()
    (stats,) = stats_files(tmp_path)
    os.truncate(stats, stats.stat().st_size - 100)
    assert prune_run(tmp_path / "r", Retention(max_bytes=4_000_000)).files == 0
    assert list((tmp_path / "r").rglob("*.tmp")) == []
    next(tmp_path.rglob("closed.json")).unlink()
    assert prune_run(tmp_path / "r", Retention(max_bytes=4_000_000)).files == 0
    assert kept_steps(tmp_path)[1] == list(range(len(kept_steps(tmp_path)[0])))


def refuse(*_):
    raise OSError(28, "The disk is full")


def test_pruning_says_why_more_stays_than_was_asked_for(tmp_path, capsys):
    write(tmp_path, range(3))
    next(tmp_path.rglob("closed.json")).unlink()  # as of a process that was killed
    assert main(["prune", str(tmp_path), "--keep-last", "1"]) == 0
    out = capsys.readouterr().out
    assert "r keeps all values" in out
    assert "5.1 MB in 1 file of 3 steps remain: workers that are open" in out
    assert main(["prune", str(tmp_path), "--max-bytes", "1M"]) == 0
    assert "values of the last step" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "r"), "a", "--step", "0"]) == 0
    assert "values: pruned" in capsys.readouterr().out


def test_names_with_other_digits_are_no_marks(tmp_path):
    """A reader ignores files whose names it does not know: these digits are none to `int`."""
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", np.arange(5000.0), step=0)
        folder = writer.run_dir / writer.worker
    for name in ("values-²²²²²².pruned", "values-²²²²²².safetensors"):
        (folder / name).write_bytes(b"")
    assert pruned_files(path.name for path in folder.iterdir()) == frozenset()
    assert prune_run(tmp_path / "r", Retention(keep_last=1)).files == 0
    assert main(["check", str(tmp_path)]) == 0


KILLED = """
import os, signal, sys
import numpy as np
from tensortap.dump.write.writer import DumpWriter
writer = DumpWriter(sys.argv[1], "r", compression=None)
for step in range(6):
    writer.log("a", np.arange(200_000, dtype=np.float64) + step, step=step)
    writer.log("small", np.arange(3), step=step)
writer.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_wrote_is_pruned_at_once(tmp_path, capsys):
    """Its lock went with it, and a repaired copy is nobody's: neither waits for ten minutes to pass."""
    process = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert process.returncode == -9
    copy = tmp_path / "repaired"
    repair_run(tmp_path / "r", copy / "r")
    assert main(["prune", str(copy), "--keep-last", "2"]) == 0
    assert "r lost 4 values in 1 file" in capsys.readouterr().out
    assert kept_steps(copy) == (list(range(6)), [4, 5])
    assert main(["prune", str(tmp_path / "r"), "--keep-last", "2"]) == 0
    out = capsys.readouterr().out
    assert "remain: workers that are open" in out and "may still be open" not in out
    assert prune_run(tmp_path / "r", Retention(max_bytes=1)).values == 6
