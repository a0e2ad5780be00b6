"""Nothing damaged is exported, or bundled: it is left out with a reason, or the export refuses."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from dump_tools import remove_commit, stats_files

import tensortap
from tensortap.core.dtypes import Array
from tensortap.core.errors import AmbiguousError, DamagedError, NotFoundError
from tensortap.core.records import Graph, Node
from tensortap.dump.format.layout import HEADER
from tensortap.dump.maintenance.run_check import check_run
from tensortap.dump.write.writer import DumpWriter
from tensortap.exporters.registry import EXPORTERS, exporter_for
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import snapshots_at
from tensortap.index.values import read_slice

ARRAYS: dict[str, Array] = {
    "long": np.random.default_rng(0).standard_normal(20_000),
    "text": np.array([b"x" * (i % 40) for i in range(900)], object),
    "packed": np.where(np.arange(9000) % 9, 0.0, 1.5),
    "short": np.arange(900.0),
}


@pytest.fixture
def run(tmp_path: Path) -> RunIndex:
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.graph(Graph("g", [Node("x", "Const")], graph_def=b"\x0a\x05\x0a\x03abc"))
        for name, array in ARRAYS.items():
            writer.log(name, array, step=0)
        writer.event("spike", step=0, x=1)
    return only_run(tmp_path / "logs")


def only_run(path: Path) -> RunIndex:
    log = LogIndex(path, use_cache=False)
    log.refresh()
    return log.runs[0]


def damage(run: RunIndex, pattern: str, at: int) -> None:
    (file,) = run.path.glob(pattern)
    data = bytearray(file.read_bytes())
    data[at] ^= 4
    file.write_bytes(data)


PLACES = [
    *(("*/values-*", place) for place in (HEADER + 5, HEADER + 161_000, -7200 - 300, -100)),
    *(("graphs/*.pb", 3), ("*/events-*", 30), ("run.json", 40), ("*/stats-*", -900), ("*/closed.json", 30)),
]


@pytest.mark.parametrize(("pattern", "at"), PLACES)
def test_an_archive_of_a_damaged_run_is_refused(run: RunIndex, tmp_path: Path, pattern: str, at: int) -> None:
    damage(run, pattern, at)
    with pytest.raises(DamagedError, match=r"is damaged in 1 place|is damaged in \d places") as error:
        exporter_for(tmp_path / "out.tap.zip").export(run, None, tmp_path / "out.tap.zip", lambda *_: None)
    assert "--repair" in error.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.parametrize("name", ["out.npz", "out.tap.zip"])
def test_damaged_values_are_skipped(run: RunIndex, tmp_path: Path, name: str) -> None:
    (file,) = run.path.glob("*/values-*")
    whole = file.read_bytes()
    draw = random.Random(0)
    for number in range(8):
        at = draw.choice([number * 20_000, len(whole) - HEADER - 1 - number * 900])
        data = bytearray(whole)
        data[HEADER + at] ^= 16
        file.write_bytes(data)
        out = tmp_path / f"{number}{name}"
        reopened = only_run(run.path)
        exported = exporter_for(out).export(reopened, np.arange(run.catalog.rows), out, lambda *_: None)
        (sentence,) = exported.left_out
        assert "does not match its checksum" in sentence
        lost = sentence.split(":")[0]
        values = values_of(out)
        assert values.keys() == ARRAYS.keys() - {lost}
        for tensor, value in values.items():
            assert value.astype(ARRAYS[tensor].dtype).tolist() == ARRAYS[tensor].tolist()


def test_damage_comes_before_what_a_format_cannot_store(run: RunIndex, tmp_path: Path) -> None:
    damage(run, "*/values-*", -100)
    out = tmp_path / "out.safetensors"
    first, second = exporter_for(out).export(run, None, out, lambda *_: None).left_out
    assert "short:0 at step 0: " in first
    assert "text:0@0: safetensors has no dtype" in second


def values_of(out: Path) -> dict[str, Array]:
    if out.suffix == ".npz":
        with np.load(out) as archive:
            return {name.split(":")[0]: archive[name] for name in archive.files}
    run = only_run(out)
    assert check_run("r", run.path).damage == []
    found = snapshots_at(run.catalog, np.arange(run.catalog.rows))
    return {s.tensor.split(":")[0]: read_slice(run, s) for s in found if s.kept}


@pytest.mark.parametrize("name", [exporter.name for exporter in EXPORTERS if exporter.name != "tap.zip"])
def test_an_export_says_which_statistics_it_lacks(tmp_path: Path, name: str) -> None:
    with DumpWriter(tmp_path / "logs", "r") as writer:
        for step in range(2):
            writer.log("x", np.arange(9.0), step=step)
            writer.commit()
    damage(only_run(tmp_path / "logs"), "*/stats-*", 3600)
    exported = exporter_for(tmp_path, name).export(
        only_run(tmp_path / "logs"), None, tmp_path / "out", lambda *_: None
    )
    assert exported.snapshots == 1
    assert "unreadable data. " in exported.left_out[0]
    assert "stats-000000.arrows, byte " in exported.left_out[0]


def test_a_lost_snapshot_never_gives_its_name_to_another_worker(tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        with DumpWriter(tmp_path / "logs", "r") as writer:
            for step in range(2):
                writer.log("x", value, step=step, keep="value")
                writer.commit()
    one, other = stats_files(tmp_path)
    remove_commit(one, 1)
    run = tensortap.open(tmp_path / "logs").runs["r"]
    with pytest.raises(AmbiguousError, match="2 workers"):
        run.tensor("x", step=1)
    with pytest.raises(NotFoundError):
        run.tensor("x", step=1, worker=one.parent.name)
    exporter_for(tmp_path, "npz").export(only_run(tmp_path / "logs"), None, tmp_path / "out", lambda *_: None)
    assert sorted(np.load(tmp_path / "out")) == sorted(
        [
            f"x:0@0#0 {one.parent.name}",
            *(f"x:0@{step}#0 {other.parent.name}" for step in range(2)),
        ]
    )
