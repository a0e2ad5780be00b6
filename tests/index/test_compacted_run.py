"""Runs of which only `compact/` is here: opened from it, saved, opened again, and never wrong."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from compacted import compact, copied, manifest_of, write_worker
from small_dump import small_graph

import tensortap
from tensortap.__main__ import main
from tensortap.compact import compactor
from tensortap.compact.manifest import FOOTER
from tensortap.compact.queries import query_run
from tensortap.core.deadline import time_limit
from tensortap.core.errors import DamagedError, LimitError, ValueNotKeptError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index import compacted_histograms, compacted_run
from tensortap.index.cache.container import read_container
from tensortap.index.catalog.catalog import Catalog
from tensortap.index.catalog.commit_cache import read_histograms
from tensortap.index.engine_reading import EngineReading
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.scale.local import LocalEngine
from tensortap.storage.files import crc32c_of_file, publish_json

STEPS, TENSORS = 24, 8  # of each of two workers
ROWS = 2 * STEPS * (TENSORS + 2)  # and a text, and what is empty


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory with a compacted run of many parts."""
    monkeypatch.setattr(compactor, "PART_BYTES", 2500)
    monkeypatch.setattr(compacted_run, "_STREAM_BYTES", 5000)
    for rank in range(2):
        write_worker(tmp_path / "whole", range(STEPS), TENSORS, rank=rank)
    assert compact(tmp_path / "whole/r").parts > 5
    return tmp_path / "whole"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return copied(whole, tmp_path / "copy")


def opened(logdir: Path, cache: Path | None = None) -> tuple[LogIndex, RunIndex]:
    log = LogIndex(logdir, cache=cache, use_cache=cache is not None)
    log.refresh()
    (run,) = log.runs
    return log, run


def content(run: RunIndex) -> list[Any]:
    """All rows with their histograms, in an order that does not depend on how they were read."""
    catalog, rows = run.catalog, np.arange(run.catalog.rows)
    names = [catalog.tensors.names[code] for code in catalog.column("tensor", rows).tolist()]
    workers = [catalog.workers[code] for code in catalog.column("worker", rows).tolist()]
    codes = [table.values for table in (catalog.devices, catalog.dtypes, catalog.shapes)]
    coded = zip(("device", "dtype", "shape"), codes, strict=True)
    plain = [[values[code] for code in catalog.column(name, rows).tolist()] for name, values in coded]
    plain += [
        catalog.column(name, rows).tolist()
        for name in ("step", "visit", "time", "size", "nan", "positive", "min", "std", "l2", "abs_max")
    ]
    histograms = [
        (ids.tolist(), counts.tolist()) for ids, counts in read_histograms(catalog, run.commits, rows)
    ]
    return sorted(map(str, zip(names, workers, *plain, histograms, strict=True)))


def test_all_rows_are_those_of_the_streams(whole: Path, copy: Path, tmp_path: Path) -> None:
    expected = content(opened(whole)[1])
    assert len(expected) == ROWS
    _, run = opened(copy)
    assert content(run) == expected
    assert run.overview().closed and not run.damage
    bare = copied(whole, tmp_path / "bare", "compact")  # nothing else, not even run.json
    _, run = opened(bare)
    assert content(run) == expected
    assert run.damage == []
    run = tensortap.open(bare / "r").runs["r"]
    assert len(run.find("block_0/op_0:")) == 2 * STEPS


def test_it_is_saved_and_opened_again(whole: Path, copy: Path, tmp_path: Path, monkeypatch: Any) -> None:
    expected = content(opened(whole)[1])
    cache = tmp_path / "cache"
    assert content(opened(copy, cache)[1]) == expected
    read: list[str] = []
    table = compacted_run.CompactedRun._table
    monkeypatch.setattr(
        compacted_run.CompactedRun,
        "_table",
        lambda self, file, *rest: read.append(file.file.partition("-")[0]) or table(self, file, *rest),
    )
    assert content(opened(copy, cache)[1]) == expected
    assert not read
    stored = [read_container(path)[1] for path in cache.rglob("compact-*[0-9].index")]
    assert {len(arrays["visit"]) for arrays in stored} == {1}  # all are 0
    assert sum(len(arrays["mean"]) for arrays in stored) == ROWS
    write_worker(whole, range(STEPS, STEPS + 3), TENSORS, rank=2)
    compact(whole / "r")
    shutil.rmtree(copy / "r/compact")
    shutil.copytree(whole / "r/compact", copy / "r/compact")
    found = content(opened(copy, cache)[1])
    assert len(found) == ROWS + 3 * (TENSORS + 2)
    assert found == content(opened(whole)[1])
    assert "rows" in read


@pytest.fixture
def open_tables(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], tuple[int, list[str]]]:
    """Opens the run `r` of `copy` as if it were at an address; returns how many files with tables are read,
    and what damage is found."""
    read: list[str] = []
    read_verified = compacted_run.read_verified
    monkeypatch.setattr(compacted_run, "is_remote", lambda path: True)
    monkeypatch.setattr(
        compacted_run, "read_verified", lambda run, file: read.append(file.file) or read_verified(run, file)
    )

    def open_run() -> tuple[int, list[str]]:
        read.clear()
        compacted = compacted_run.CompactedRun.find(copy / "r")
        assert compacted is not None
        catalog = Catalog(copy / "r")
        compacted.open(catalog, tmp_path / "cache")
        assert catalog.rows == ROWS
        assert catalog.steps.table().snapshots.tolist() == [2 * (TENSORS + 2)] * STEPS
        return len(read), compacted.damage

    return open_run


def test_small_tables_of_a_bucket_are_one_file_and_saved(
    tmp_path: Path, open_tables: Callable[[], tuple[int, list[str]]]
) -> None:
    """GIVEN a run at an address WHEN it is opened again THEN its small tables come from the cache, unless
    they are damaged there."""
    assert open_tables() == (1, [])
    assert open_tables() == (0, [])
    (saved,) = tmp_path.glob("cache/**/compact-*-summaries.index")
    data = bytearray(saved.read_bytes())
    data[-200] ^= 1
    saved.write_bytes(data)
    assert open_tables() == (1, [])
    assert open_tables() == (0, [])


@pytest.mark.parametrize("is_damaged", [True, False])
def test_small_tables_of_a_bucket_without_the_one_file(
    copy: Path, open_tables: Callable[[], tuple[int, list[str]]], is_damaged: bool
) -> None:
    """GIVEN the file with all tables is damaged, or not there, as of an earlier release THEN each is read."""
    manifest = manifest_of(copy / "r")
    joined = manifest["tables"] if is_damaged else manifest.pop("tables")
    publish_json(copy / "r/compact/manifest.json", {k: v for k, v in manifest.items() if "crc32c" not in k})
    flip(copy / "r/compact" / joined["file"])
    read, damage = open_tables()
    assert read == 4 * len(manifest["parts"]) + is_damaged
    assert [joined["file"] in sentence and "checksum" in sentence for sentence in damage] == [
        True
    ] * is_damaged


def test_a_file_of_tables_with_other_tables(
    copy: Path, open_tables: Callable[[], tuple[int, list[str]]]
) -> None:
    """GIVEN a file that matches its checksum, and has a table that does not WHEN it is opened THEN that
    table's own file is read."""
    manifest = manifest_of(copy / "r")
    path = copy / "r/compact" / manifest["tables"]["file"]
    data = path.read_bytes()
    path.write_bytes(b"P" * 10 + data[10:])
    manifest["tables"]["crc32c"] = crc32c_of_file(path, len(data))
    publish_json(copy / "r/compact/manifest.json", {k: v for k, v in manifest.items() if "crc32c" not in k})
    assert open_tables() == (2, [])


def test_rows_are_read_when_they_are_needed(copy: Path) -> None:
    """GIVEN a compacted run WHEN it is opened THEN its totals are known, and a page reads the rows of it."""
    compacted = compacted_run.CompactedRun.find(copy / "r")
    assert compacted is not None
    catalog = Catalog(copy / "r")
    compacted.open(catalog)
    assert catalog.rows == ROWS
    assert catalog.steps.table().snapshots.tolist() == [2 * (TENSORS + 2)] * STEPS
    assert len(catalog.workers) == 2
    assert len(compacted.unread()) == len(compacted.rows) > 3
    code = catalog.steps.code(0)
    assert code is not None
    assert len(catalog.rows_of_step(code)) == 2 * (TENSORS + 2)
    assert [rows.is_read for rows in compacted.rows] == [True, *(False for _ in compacted.rows[1:])]


def test_caches_are_dropped_and_filled_again(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN histograms that were read WHEN caches are dropped THEN they are read again."""
    read: list[int] = []
    read_group = compacted_histograms.read_group
    monkeypatch.setattr(
        compacted_histograms, "read_group", lambda *args: read.append(args[3]) or read_group(*args)
    )
    log, run = opened(copy)
    expected = content(run)
    once = len(read)
    assert once > 0
    assert content(run) == expected
    assert len(read) == once
    log.drop_caches()
    assert content(run) == expected
    assert len(read) == 2 * once


def test_parts_of_an_earlier_version(whole: Path, copy: Path) -> None:
    """GIVEN parts without the tables that opening reads, and without checksums of row groups THEN the former
    are derived, histograms are read, and compaction adds the tables."""
    for folder in (whole, copy):
        manifest = {key: value for key, value in manifest_of(folder / "r").items() if "crc32c" not in key}
        del manifest["tables"]
        for part in manifest["parts"]:
            for table in ("tensors", "steps", "writers", "kinds"):
                (folder / "r/compact" / part.pop(table)["file"]).unlink()
            for key in FOOTER:
                del part["histograms"][key]
        publish_json(folder / "r/compact/manifest.json", manifest)
    _, run = opened(copy)
    assert content(run) == content(opened(whole)[1])
    assert compact(whole / "r").rebuilt == "an earlier version compacted it"
    assert "tensors" in manifest_of(whole / "r")["parts"][0]


def test_histograms_of_several_parts_of_a_bucket_end_at_the_time_limit(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = opened(copy)
    monkeypatch.setattr(compacted_histograms, "is_remote", lambda path: True)
    rows = np.arange(run.catalog.rows)
    with time_limit(0.0), pytest.raises(LimitError, match="more than 0 s"):
        read_histograms(run.catalog, run.commits, rows)
    assert len(read_histograms(run.catalog, run.commits, rows)) == len(rows)


def test_a_copy_that_is_made_again_while_it_is_open(whole: Path, copy: Path) -> None:
    log, run = opened(copy)
    assert run.catalog.rows == ROWS
    write_worker(whole, range(STEPS, STEPS + 3), TENSORS, rank=2)
    compact(whole / "r")
    for path in sorted((whole / "r/compact").iterdir()):
        shutil.copy(path, copy / "r/compact")
    log.refresh()
    assert log.runs[0].catalog.rows == ROWS + 3 * (TENSORS + 2)
    shutil.rmtree(copy / "r")
    shutil.copytree(whole / "r", copy / "r")  # now with the streams
    log.refresh()
    (run,) = log.runs
    assert run.catalog.rows == ROWS + 3 * (TENSORS + 2)
    assert content(run) == content(opened(whole)[1])


def test_values_are_said_to_be_elsewhere(tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "whole", run="r") as writer:
        for step in range(3):
            writer.log("a", np.arange(5000.0), step=step)
            writer.log("b", np.arange(3.0), step=step, keep="summary")
    compact(tmp_path / "whole/r")
    run = tensortap.open(copied(tmp_path / "whole", tmp_path / "copy")).runs["r"]
    with pytest.raises(
        ValueNotKeptError, match="only the compacted statistics of the run are here"
    ) as caught:
        run.tensor("a", step=1)[0]
    assert "copy all of it" in caught.value.hint
    with pytest.raises(ValueNotKeptError, match="only the summary was captured"):
        run.tensor("b", step=1)[0]


def test_commands(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(copy)]) == 0
    assert main(["check", str(copy)]) == 0
    assert main(["rules", str(copy / "r")]) in (0, 1)
    found = query_run(copy / "r", "SELECT (SELECT count(*) FROM snapshots) AS n, count(*) AS w FROM workers")
    assert found.to_pylist() == [{"n": ROWS, "w": 2}]
    archive = copy.parent / "r.tap.zip"
    assert main(["export", str(copy / "r"), "--out", str(archive)]) == 0
    assert query_run(archive / "r", "SELECT count(*) AS n FROM by_tensor").to_pylist() == [{"n": TENSORS + 2}]
    assert opened(archive)[1].catalog.rows == ROWS
    before = manifest_of(copy / "r")
    assert compact(copy / "r").added == 0
    with pytest.raises(DamagedError, match="compact/ cannot be rebuilt"):
        compact(copy / "r", rebuild=True)
    assert manifest_of(copy / "r") == before


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_damaged_part_is_skipped_and_reported(copy: Path) -> None:
    part = manifest_of(copy / "r")["parts"][1]
    flip(copy / "r/compact" / part["rows"]["file"])
    _, run = opened(copy)
    assert run.catalog.rows == ROWS - part["snapshots"]
    (sentence,) = [each for each in run.damage if each.startswith("The steps")]
    assert sentence.startswith(f"The steps {part['first']} to {part['last']} cannot be read")
    assert "checksum" in sentence


@pytest.mark.parametrize("table", ["tensors", "steps", "writers", "kinds"])
def test_a_damaged_table_is_computed_again_from_the_rows(copy: Path, table: str) -> None:
    part = manifest_of(copy / "r")["parts"][1]
    _, sound = opened(copy)
    flip(copy / "r/compact" / part[table]["file"])
    _, run = opened(copy)
    assert run.catalog.rows == ROWS
    assert content(run) == content(sound)
    assert run.steps.snapshots.tolist() == sound.steps.snapshots.tolist()
    (sentence,) = run.damage
    span = f"A table of the steps {part['first']} to {part['last']} is damaged: "
    assert sentence.startswith(span) and "checksum" in sentence


def test_a_part_that_is_copied_again_is_read(tmp_path: Path) -> None:
    """GIVEN the only part, damaged, which a process has read WHEN it is copied again THEN that process reads
    it."""

    def rows() -> int:
        log = LogIndex(tmp_path / "copy", use_cache=False)
        log.refresh(reading=EngineReading(LocalEngine(1)))
        return log.runs[0].catalog.rows

    write_worker(tmp_path / "whole", range(3), TENSORS)
    assert compact(tmp_path / "whole/r").parts == 1
    run_dir = copied(tmp_path / "whole", tmp_path / "copy") / "r"
    path = run_dir / "compact" / manifest_of(run_dir)["parts"][0]["rows"]["file"]
    whole = path.read_bytes()
    flip(path)
    assert rows() == 0
    path.write_bytes(whole)
    assert rows() == 3 * (TENSORS + 2)


@pytest.mark.parametrize("table", ["rows", "steps"])
def test_damage_of_a_part_ends_when_it_is_copied_again(copy: Path, table: str) -> None:
    """GIVEN an open run with a damaged file WHEN that file is written again THEN it is read, without a
    restart."""
    path = copy / "r/compact" / manifest_of(copy / "r")["parts"][1][table]["file"]
    whole = path.read_bytes()
    flip(path)
    log, run = opened(copy)
    assert run.damage
    log.refresh()
    assert log.runs[0] is run, "the same damage is no reason to open it again"
    path.write_bytes(whole)
    os.utime(path, ns=(1, 1))
    log.refresh()
    assert (log.runs[0].catalog.rows, log.runs[0].damage) == (ROWS, [])


def test_a_missing_manifest_is_reported(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a copy of `compact/` WHEN its manifest is missing THEN it is no run without snapshots."""
    (copy / "r/compact/manifest.json").rename(copy / "manifest.json")
    (copy / "r/run.json").write_bytes((copy.parent / "whole/r/run.json").read_bytes())
    log, run = opened(copy)
    assert run.damage == ["compact/manifest.json: It is missing. Copy compact/ again."]
    with pytest.raises(DamagedError, match=r"manifest\.json is missing"):
        query_run(copy / "r", "SELECT * FROM snapshots")
    assert main(["check", str(copy)]) == 1
    assert "manifest.json is missing. Copy compact/ again." in capsys.readouterr().out
    (copy / "manifest.json").rename(copy / "r/compact/manifest.json")
    log.refresh()
    assert log.runs[0].catalog.rows == ROWS


def test_a_manifest_that_is_a_link_is_not_followed_and_reported(copy: Path) -> None:
    manifest = copy / "r/compact/manifest.json"
    manifest.rename(copy / "manifest.json")
    manifest.symlink_to(copy / "manifest.json")
    (copy / "r/run.json").write_bytes((copy.parent / "whole/r/run.json").read_bytes())
    _, run = opened(copy)
    (sentence,) = run.damage
    assert sentence.startswith("compact/manifest.json: manifest.json cannot be read: ")
    assert "Links are not followed." in sentence


def test_a_graph_that_was_not_copied_with_the_others_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN `compact/` and `graphs/` WHEN a graph is missing THEN that is said; without the folder nothing
    is."""
    with DumpWriter(tmp_path / "whole", "r") as writer:
        graph = writer.graph(small_graph())
        writer.log("x:0", 1.0, step=0, graph=graph)
    compact(tmp_path / "whole/r")
    copy = copied(tmp_path / "whole", tmp_path / "copy")
    assert opened(copy)[1].damage == []
    assert main(["check", str(copy)]) == 0
    next((copy / "r/graphs").glob("*.arrows")).unlink()
    (sentence,) = opened(copy)[1].damage
    assert graph in sentence
    capsys.readouterr()
    assert main(["check", str(copy)]) == 1
    assert f"graph {graph}: its file is missing. Copy it again." in capsys.readouterr().out
    shutil.rmtree(copy / "r/graphs")
    assert opened(copy)[1].damage == []
    assert main(["check", str(copy)]) == 0


def test_a_damaged_manifest_is_reported(copy: Path) -> None:
    flip(copy / "r/compact/manifest.json")
    _, run = opened(copy)
    assert run.catalog.rows == 0
    assert "manifest.json" in run.damage[0]
    with pytest.raises(DamagedError, match=r"manifest\.json"):
        query_run(copy / "r", "SELECT 1")
    with pytest.raises(DamagedError, match="cannot be rebuilt"):
        compact(copy / "r")


def with_nulls(table: pa.Table) -> pa.Table:
    return table.set_column(table.column_names.index("size"), "size", pa.nulls(len(table), pa.int64()))


def of_another_type(table: pa.Table) -> pa.Table:
    return table.set_column(table.column_names.index("size"), "size", pa.array(["x"] * len(table)))


def out_of_range(table: pa.Table) -> pa.Table:
    return table.set_column(table.column_names.index("step"), "step", pa.array([-5] * len(table), pa.int64()))


def of_a_stranger(table: pa.Table) -> pa.Table:
    return table.set_column(table.column_names.index("worker"), "worker", pa.array(["../x"] * len(table)))


def longer(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


def endless(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 1)] * 600).combine_chunks().take(np.tile(np.arange(600), 1000))


@pytest.mark.parametrize(
    "change", [with_nulls, of_another_type, out_of_range, of_a_stranger, longer, endless, None]
)
def test_hostile_parts(copy: Path, change: Callable[[pa.Table], pa.Table] | None) -> None:
    """Files that match their checksums, and hold what no compaction writes."""
    manifest = json.loads((copy / "r/compact/manifest.json").read_text())
    part = manifest["parts"][0]
    path = copy / "r/compact" / part["rows"]["file"]
    if change is None:
        path.write_bytes(b"PAR1 no table PAR1")
    else:
        pq.write_table(change(pq.read_table(path)), path)
    rows = part["snapshots"]
    if change is endless:  # a few KB that would take 200 MB
        part |= {"snapshots": pq.read_metadata(path).num_rows, "tensors": None}
    part["rows"] |= {"size": path.stat().st_size, "crc32c": crc32c_of_file(path, path.stat().st_size)}
    publish_json(
        copy / "r/compact/manifest.json", {key: manifest[key] for key in manifest if "crc32c" not in key}
    )
    _, run = opened(copy)
    assert run.error is None
    assert run.catalog.rows == ROWS - rows
    assert any(each.startswith("The steps") for each in run.damage)
