"""Compacted files hold what the streams hold, however the run grew; damage is never taken for data."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pytest
from compacted import (
    ORDER,
    by_tensor,
    compact,
    compacted,
    copied,
    files_of,
    manifest_of,
    rows_of,
    streamed,
    write_worker,
)
from dump_tools import remove_commit, stats_files
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.__main__ import main
from tensortap.compact import compactor, manifest, parts
from tensortap.compact.manifest import check_compacted
from tensortap.compact.queries import query_run
from tensortap.core.errors import DamagedError, FormatVersionError, LimitError
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.files import json_bytes
from tensortap.system.locks import is_locked, lock_file

SMALL = 2500  # bytes of streams a part: a few steps of the runs below


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "PART_BYTES", SMALL)


def check_rows(run_dir: Path) -> None:
    """The parts are sorted, have disjoint steps, and hold the rows of the streams and no others."""
    parts = manifest_of(run_dir)["parts"]
    bounds = [(part["first"], part["last"]) for part in parts]
    assert bounds == sorted(bounds)
    assert all(one[1] < other[0] for one, other in pairwise(bounds))
    rows, histograms = compacted(run_dir, "rows"), compacted(run_dir, "histograms")
    for path in files_of(run_dir, "rows"):
        part = polars.read_parquet(path)
        names = [name for name, _ in ORDER]
        assert part[names].rows() == sorted(part[names].rows())
    keys = ["graph", "node", "slot", "step", "visit", "worker"]
    assert rows.select(keys).equals(histograms.select(keys))
    for name in ("bucket_id", "bucket_count"):
        rows = rows.append_column(name, histograms.column(name))
    found, expected = rows.sort_by(ORDER), streamed(run_dir)
    assert rows_of(found.select(sorted(found.column_names))) == rows_of(
        expected.select(sorted(found.column_names))
    )
    assert sorted(found.column_names) == sorted(expected.column_names)


def test_a_run_of_several_workers(tmp_path: Path) -> None:
    write_worker(tmp_path, range(12))
    write_worker(tmp_path, range(0, 24, 2), rank=1)
    done = compact(tmp_path / "r")
    assert (done.snapshots, done.added, done.rebuilt, done.damage) == (192, 192, "", [])
    assert done.parts == done.written > 1
    check_rows(tmp_path / "r")
    again = compact(tmp_path / "r")
    assert (again.added, again.written, again.rebuilt) == (0, 0, "")


Growth = st.lists(
    st.tuples(
        st.lists(st.integers(0, 30), min_size=1, max_size=6),
        st.integers(1, 5),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=12)
@given(growth=Growth)
def test_however_a_run_grows_it_is_compacted_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, growth: list[tuple[list[int], int]]
) -> None:
    """Late workers, steps out of order and steps that come again."""
    folder = tmp_path_factory.mktemp("grown")
    run_dir = folder / "r"
    for rank, (steps, tensors) in enumerate(growth):
        write_worker(folder, steps, tensors, rank)
        compact(run_dir)
        check_rows(run_dir)
    grown = {table: compacted(run_dir, table).sort_by("step") for table in ("rows", "by_step")}
    of_tensors = by_tensor(run_dir)
    assert compact(run_dir, rebuild=True).rebuilt
    check_rows(run_dir)
    for table, before in grown.items():  # to the bit
        assert rows_of(compacted(run_dir, table).sort_by(sorting(table))) == rows_of(
            before.sort_by(sorting(table))
        )
    assert_close(by_tensor(run_dir), of_tensors)


def sorting(table: str) -> list[tuple[str, str]]:
    return (
        ORDER if table == "rows" else [each for each in ORDER if each[0] in ("graph", "node", "slot", "step")]
    )


def assert_close(found, expected) -> None:
    assert found.column_names == expected.column_names
    for name in found.column_names:
        one, other = found.column(name).to_numpy(), expected.column(name).to_numpy()
        if one.dtype == np.float64:
            np.testing.assert_allclose(one, other, rtol=1e-13, err_msg=name)
        else:
            assert one.tolist() == other.tolist()


def test_parts_of_a_larger_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a run of several parts THEN the first and the last are small, and the others are even in number
    and alike; however it grows, few small ones are left."""
    monkeypatch.setattr(compactor, "PART_BYTES", 4 * SMALL)
    write_worker(tmp_path, range(40))
    compact(tmp_path / "r")
    parts = manifest_of(tmp_path / "r")["parts"]
    sizes = [part["last"] - part["first"] + 1 for part in parts]
    assert max(sizes[0], sizes[-1]) <= 2 < min(sizes[1:-1])
    assert len(sizes) % 2 == 0
    assert max(sizes[1:-1]) - min(sizes[1:-1]) <= 2
    for rank in range(1, 9):
        write_worker(tmp_path, range(40 + rank * 2, 42 + rank * 2), rank=rank)
        compact(tmp_path / "r")
    parts = manifest_of(tmp_path / "r")["parts"]
    assert sum(part["bytes"] < 2 * SMALL for part in parts) <= 3
    assert parts[-1]["first"] == parts[-1]["last"] == 57
    check_rows(tmp_path / "r")


def test_merged_rollups_do_not_replace_those_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN parts of one step each, whose files have the numbers of merges THEN all files are sound."""
    monkeypatch.setattr(compactor, "PART_BYTES", 1)
    write_worker(tmp_path, range(9))
    compact(tmp_path / "r")
    assert check_compacted(tmp_path / "r") == (9 * 8, [])


def test_small_tables_are_in_one_file_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a run that an earlier release compacted, without that file THEN it is added; its damage is
    found."""
    run_dir = tmp_path / "logs/r"
    write_worker(tmp_path / "logs", range(12))
    compact(run_dir)
    manifest = manifest_of(run_dir)
    joined = (run_dir / "compact" / manifest["tables"]["file"]).read_bytes()
    names = ("tensors", "steps", "writers", "kinds")
    files = [run_dir / "compact" / part[name]["file"] for part in manifest["parts"] for name in names]
    assert joined == b"".join(file.read_bytes() for file in files)
    older = {key: value for key, value in manifest.items() if key not in ("tables", "checksum", "crc32c")}
    (run_dir / "compact/manifest.json").write_bytes(json_bytes(older))
    done = compact(run_dir)
    assert (done.added, done.written, done.rebuilt) == (0, 0, "")
    path = run_dir / "compact" / manifest_of(run_dir)["tables"]["file"]
    assert path.read_bytes() == joined
    assert main(["check", str(run_dir)]) == 0
    path.write_bytes(joined[:-1] + b"?")
    assert main(["check", str(run_dir)]) == 1
    assert f"{path.name} is damaged or missing" in capsys.readouterr().out


def test_a_run_that_is_being_written(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        for step in range(8):
            writer.log("a", np.full(3, step, np.float32), step=step, keep="summary")
            writer.flush()
            assert compact(tmp_path / "r").snapshots == step + 1
        check_rows(tmp_path / "r")
    assert compact(tmp_path / "r").added == 0


def test_rollups_are_those_of_all_elements(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = {}
    for rank in range(3):
        with DumpWriter(tmp_path, run="r", rank=rank) as writer:
            for step in range(10):
                found = (rng.standard_normal(30 + 7 * rank) * 10.0 ** (step - 4) + 1e6 * rank).astype(
                    np.float64
                )
                found[step % 5] = [np.nan, np.inf, -np.inf, 0.0, -1.0][rank]
                values[rank, step] = found
                writer.log("a", found, step=step, keep="summary")
    compact(tmp_path / "r")
    for row in compacted(tmp_path / "r", "by_step").to_pylist():
        check_merged(row, [values[rank, row["step"]] for rank in range(3)])
    (row,) = by_tensor(tmp_path / "r").to_pylist()
    assert (row["first_step"], row["last_step"], row["steps"]) == (0, 9, 10)
    check_merged(row, list(values.values()))


def check_merged(row, snapshots) -> None:
    every = np.concatenate(snapshots)
    finite = every[np.isfinite(every)]
    assert row["snapshots"] == len(snapshots)
    assert (row["size"], row["finite"]) == (every.size, finite.size)
    assert (row["nan"], row["pos_inf"]) == (np.isnan(every).sum(), np.isposinf(every).sum())
    assert (row["zero"], row["negative"]) == ((finite == 0).sum(), (finite < 0).sum())
    assert (row["min"], row["max"], row["abs_max"]) == (finite.min(), finite.max(), np.abs(finite).max())
    np.testing.assert_allclose(
        [row["mean"], row["std"], row["l2"]], [finite.mean(), finite.std(), np.linalg.norm(finite)], rtol=1e-9
    )


def test_rollups_of_huge_and_of_no_numbers(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        for step, value in enumerate([1.7e308, -1.7e308, 1.7e308]):
            writer.log("huge", np.array([value]), step=step, keep="summary")
            writer.log("nothing", np.array([np.nan]), step=step, keep="summary")
    compact(tmp_path / "r")
    found = {row["node"]: row for row in by_tensor(tmp_path / "r").to_pylist()}
    assert found["huge"]["mean"] == pytest.approx(1.7e308 / 3)
    assert np.isfinite(found["huge"]["std"])
    assert all(np.isnan(found["nothing"][name]) for name in ("min", "max", "mean", "std", "l2"))


def test_other_programs_read_the_files(tmp_path: Path) -> None:
    write_worker(tmp_path, range(5))
    compact(tmp_path / "r")
    replaced = files_of(tmp_path / "r", "rows")
    compact(tmp_path / "r", rebuild=True)
    assert all(path.exists() for path in replaced)  # so that a pattern would match rows twice
    listed = manifest_of(tmp_path / "r")["parts"]
    rows = [str(tmp_path / "r/compact" / part["rows"]["file"]) for part in listed]
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT step, count(*), max(abs_max) FROM read_parquet({rows}) GROUP BY step ORDER BY step"
        ).fetchall()
    frame = polars.scan_parquet(rows).group_by("step").agg(polars.len(), polars.max("size")).sort("step")
    lists = polars.read_parquet(str(tmp_path / "r/compact/histograms-*.parquet"))
    pandas_frame = pandas.concat([pandas.read_parquet(path) for path in rows])
    assert sum(count for _, count, _ in found) == compact(tmp_path / "r").snapshots
    assert [step for step, *_ in found] == frame.collect()["step"].to_list() == list(range(5))
    assert pandas_frame["step"].value_counts().sort_index().tolist() == [count for _, count, _ in found]
    assert lists["bucket_count"].list.sum().sum() > 0
    assert str(pandas_frame["time"].dtype).startswith("datetime64") and "UTC" in str(
        pandas_frame["time"].dtype
    )


@pytest.mark.parametrize("change", ["flip", "cut", "empty", "other", "later keys"])
def test_a_damaged_manifest_is_made_anew(tmp_path: Path, change: str) -> None:
    write_worker(tmp_path, range(4))
    run_dir = tmp_path / "r"
    compact(run_dir)
    path = run_dir / "compact/manifest.json"
    data = path.read_bytes()
    damaged = {
        "flip": data[:300] + bytes([data[300] ^ 1]) + data[301:],
        "cut": data[:-30],
        "empty": b"",
        "other": b'{"format": "something"}',
        "later keys": json_bytes({**json.loads(data), "parts": [{"first": 1}]}),
    }[change]
    path.write_bytes(damaged)
    assert query_run(run_dir, "SELECT count(*) AS n FROM snapshots").to_pylist() == [{"n": 32}]
    assert compact(run_dir).rebuilt
    check_rows(run_dir)


def test_a_manifest_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    write_worker(tmp_path, range(2))
    compact(tmp_path / "r")
    path = tmp_path / "r/compact/manifest.json"
    path.write_bytes(json_bytes(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(FormatVersionError, match="version 2"):
        compact(tmp_path / "r")
    assert query_run(tmp_path / "r", "SELECT count(*) AS n FROM snapshots").to_pylist() == [{"n": 16}]


@pytest.mark.parametrize("table", ["rows", "by_step", "histograms", "by_tensor"])
def test_a_damaged_file_is_refused_then_made_anew(tmp_path: Path, table: str) -> None:
    write_worker(tmp_path, range(3))
    run_dir = tmp_path / "r"
    compact(run_dir)
    if table == "by_tensor":
        path = run_dir / "compact" / manifest_of(run_dir)["by_tensor"]["file"]
    else:
        path = files_of(run_dir, table)[0]
    name = "snapshots" if table == "rows" else table
    query = f"SELECT count(*) AS n FROM {name}"
    data = bytearray(path.read_bytes())
    for at in (0, len(data) // 2, len(data) - 1):
        data[at] ^= 4
        path.write_bytes(data)
        with pytest.raises(DamagedError, match="damaged or missing"):
            query_run(run_dir, query)
        data[at] ^= 4
    path.write_bytes(data)
    assert query_run(run_dir, query).num_rows == 1
    path.write_bytes(data[:-1])
    assert query_run(run_dir, query).num_rows == 1  # read from the streams
    assert "missing" in compact(run_dir).rebuilt
    assert query_run(run_dir, query).num_rows == 1


def test_check_reads_compacted_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_worker(tmp_path, range(3))
    compact(tmp_path / "r")
    assert main(["check", str(tmp_path)]) == 0
    for path in (files_of(tmp_path / "r", "histograms")[0], tmp_path / "r/compact/manifest.json"):
        data = path.read_bytes()
        path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        assert main(["check", str(tmp_path)]) == 1
        assert path.name in capsys.readouterr().out
        path.write_bytes(data)
    assert main(["check", str(tmp_path)]) == 0


def test_a_copy_of_the_compacted_files_alone_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_worker(tmp_path / "whole", range(3))
    compact(tmp_path / "whole/r")
    copy = copied(tmp_path / "whole", tmp_path / "copy", "compact")
    for command in ("ls", "check"):
        assert main([command, str(copy)]) == 0
        shown = capsys.readouterr()
        assert "damage" not in shown.out + shown.err
    (copy / "r/run.json").write_text("{")
    assert main(["check", str(copy)]) == 1


def test_a_time_that_is_put_back_hides_no_damage(tmp_path: Path) -> None:
    write_worker(tmp_path, range(3))
    compact(tmp_path / "r")
    path = tmp_path / "r/compact" / manifest_of(tmp_path / "r")["by_tensor"]["file"]
    query = "SELECT * FROM by_tensor"
    assert (main(["check", str(tmp_path)]), query_run(tmp_path / "r", query).num_rows) == (0, 8)
    data, status = path.read_bytes(), path.stat()
    path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert main(["check", str(tmp_path)]) == 1
    with pytest.raises(DamagedError):
        query_run(tmp_path / "r", query)


def test_few_checksums_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a run with more files than are remembered WHEN all are verified THEN damage is noticed all the
    same."""
    monkeypatch.setattr(manifest, "_MOST_VERIFIED", 2)
    write_worker(tmp_path, range(6))
    run_dir = tmp_path / "r"
    compact(run_dir)
    files = [*(manifest.read_manifest(run_dir) or manifest.Manifest()).files()]
    assert len(files) > 8
    for file in files:
        manifest.verify(run_dir, file)
        assert len(manifest._verified) <= 2
    path = files[0].path(run_dir)
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(DamagedError):
        manifest.verify(run_dir, files[0])


def test_an_archive_has_the_compacted_files_unless_they_are_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_worker(tmp_path / "logs", range(3))
    run_dir = tmp_path / "logs/r"
    compact(run_dir)
    assert main(["export", str(run_dir), "--out", str(tmp_path / "a.tap.zip")]) == 0
    assert main(["check", str(tmp_path / "a.tap.zip")]) == 0
    assert "snapshots compacted" in capsys.readouterr().out
    path = files_of(run_dir, "by_step")[0]
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["export", str(run_dir), "--out", str(tmp_path / "b.tap.zip")]) == 0
    assert f"skipped: compact/: {path} is damaged" in " ".join(capsys.readouterr().out.split())
    assert main(["check", str(tmp_path / "b.tap.zip")]) == 0
    assert "compacted" not in capsys.readouterr().out
    only = copied(tmp_path / "logs", tmp_path / "only") / "r"
    assert main(["export", str(only), "--out", str(tmp_path / "c.tap.zip")]) == 1
    assert "was not exported" in capsys.readouterr().err


def test_a_damaged_part_is_not_taken_over(tmp_path: Path) -> None:
    write_worker(tmp_path, range(1))
    run_dir = tmp_path / "r"
    compact(run_dir)
    (path,) = files_of(run_dir, "rows")
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    write_worker(tmp_path, range(2), rank=1)
    with pytest.raises(DamagedError, match="damaged or missing") as caught:
        compact(run_dir)
    assert "--rebuild" in caught.value.hint
    compact(run_dir, rebuild=True)
    check_rows(run_dir)


def test_a_pruned_run_is_compacted_anew(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        for step in range(6):
            writer.log("a", np.arange(400_000.0) + step, step=step)
    compact(tmp_path / "r")
    assert prune_run(tmp_path / "r", Retention(keep_last=2)).moved
    before = query_run(tmp_path / "r", "SELECT step FROM snapshots WHERE value_file = 1 ORDER BY step")
    assert before.to_pylist() == [{"step": 4}, {"step": 5}]
    assert "changed" in compact(tmp_path / "r").rebuilt
    check_rows(tmp_path / "r")


@pytest.mark.parametrize("folder", ["recordings", "graphs"])
def test_links_to_what_is_not_compacted_do_not_matter(tmp_path: Path, folder: str) -> None:
    write_worker(tmp_path, range(20))
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(tmp_path / "r" / folder, ignore_errors=True)
    (tmp_path / "r" / folder).symlink_to(tmp_path / "elsewhere")
    assert compact(tmp_path / "r").snapshots == 160
    check_rows(tmp_path / "r")


def test_a_link_in_place_of_a_worker_stops_compaction(tmp_path: Path) -> None:
    worker = write_worker(tmp_path, range(20))
    (tmp_path / "r" / worker).rename(tmp_path / worker)
    (tmp_path / "r" / worker).symlink_to(tmp_path / worker)
    write_worker(tmp_path, range(20, 40))
    with pytest.raises(DamagedError, match="not a folder"):
        compact(tmp_path / "r")


def test_damage_of_a_stream_is_skipped_and_reported(tmp_path: Path) -> None:
    worker = write_worker(tmp_path, range(200))
    (stats,) = (tmp_path / "r" / worker).glob("stats-*.arrows")
    data = bytearray(stats.read_bytes())
    data[len(data) // 2] ^= 1
    stats.write_bytes(data)
    done = compact(tmp_path / "r")
    assert 0 < done.snapshots < 1600
    assert len(done.damage) == 1 and worker in done.damage[0]
    check_rows(tmp_path / "r")


def test_a_removed_commit_is_reported_wherever_statistics_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(3):
            writer.log("x", 1.0, step=step)
            writer.commit()
    (stats,) = stats_files(tmp_path)
    remove_commit(stats, 1)
    sentence = f"{stats.parent.name}: 2 snapshots of 3 can be read: its files are damaged or truncated."
    query = ["sql", str(tmp_path / "r"), "SELECT count(*) FROM snapshots"]
    for _ in range(2):
        assert main(query) == 0
        assert sentence in " ".join(capsys.readouterr().err.split())
        assert sentence in compact(tmp_path / "r").damage[0]
    for folder in (tmp_path / "r").iterdir():  # only `compact/` is copied
        if folder.name == stats.parent.name:
            shutil.rmtree(folder)
    assert main(query) == 0
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_full_disk_is_reported_with_the_file_and_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_worker(tmp_path, range(2))
    write, tables = parts.write_groups, iter(range(9))

    def fill(path: Path, *rest: Any) -> tuple[int, int]:
        if next(tables) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *rest)

    monkeypatch.setattr(parts, "write_groups", fill)
    assert main(["compact", "--processes", "1", str(tmp_path / "r")]) == 1
    error = capsys.readouterr().err
    assert os.strerror(errno.ENOSPC) in error
    assert f"{tmp_path / 'r/compact'}{os.sep}" in error
    assert [path.name for path in (tmp_path / "r/compact").iterdir()] == ["lock"]


@pytest.mark.parametrize("lock", [lock_file, is_locked])
def test_two_at_once(tmp_path: Path, lock: Callable[[int], object]) -> None:
    """GIVEN another process that has begun to compact, or is about to."""
    write_worker(tmp_path, range(2))
    compact(tmp_path / "r")
    fd = os.open(tmp_path / "r/compact/lock", os.O_RDWR)
    try:
        lock(fd)
        with pytest.raises(LimitError, match="Another process"):
            compact(tmp_path / "r")
    finally:
        os.close(fd)
    assert compact(tmp_path / "r").added == 0


def test_what_no_manifest_names_is_removed_once_it_is_old(tmp_path: Path) -> None:
    write_worker(tmp_path, range(2))
    compact(tmp_path / "r")
    old = set(files_of(tmp_path / "r", "rows"))
    compact(tmp_path / "r", rebuild=True)
    assert all(path.exists() for path in old)
    for path in old:
        os.utime(path, (0, 0))
    (tmp_path / "r/compact/notes.txt").write_text("mine")
    os.utime(tmp_path / "r/compact/notes.txt", (0, 0))
    compact(tmp_path / "r")
    assert not any(path.exists() for path in old)
    assert (tmp_path / "r/compact/notes.txt").exists()
    check_rows(tmp_path / "r")
