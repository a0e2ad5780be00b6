"""`log_many`: the same rows, values and errors as from `log`, a call at a time."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all, values_files
from some_arrays import NUMBERS, from_bits, numpy_type

from tensortap.core.errors import DumpClosedError, InvalidNameError, InvalidValueError
from tensortap.core.records import Summary
from tensortap.core.sampling import Sample
from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.write import stats_writer, writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.moments import SMALL
from tensortap.stats.summarize import summarize

SIZES = (0, 1, 2, 7, 300, SMALL, SMALL + 1, 5000)


def some_arrays() -> list[Any]:
    """Random bits of every dtype, small and large; what is hard about small ones; text."""
    rng = np.random.default_rng(0)
    found: list[Any] = [
        from_bits(name, (size,), rng.bytes(size * numpy_type(name).itemsize))
        for name in NUMBERS
        for size in SIZES
    ]
    found += [np.array([1e-310, 0, -0.0, 1e200]), np.full(9, 1e-200), np.array([np.inf, np.nan, -np.inf])]
    found += [np.arange(10), np.array([2**60 + 1, -(2**63)]), np.array([1e-40, 2e-45, -0.0], np.float32)]
    found += [np.zeros((300, 50)), rng.standard_normal((300, 50)).T, np.array([["a", "bc"]]), 3.5, True]
    return found


def assert_same(found: Summary, expected: Summary) -> None:
    """Sums may be taken in another order; all else is equal."""
    for field in fields(Summary):
        a, b = getattr(found, field.name), getattr(expected, field.name)
        if field.name in ("mean", "std", "l2"):
            assert type(a) is type(b) is float
            assert a == b or abs(a - b) <= 1e-12 * found.abs_max or (math.isnan(a) and math.isnan(b))
        else:
            assert a == b or (a != a and b != b), field.name


def test_rows_and_values_are_those_of_log(tmp_path: Path) -> None:
    arrays = some_arrays()
    with DumpWriter(tmp_path / "each") as each, DumpWriter(tmp_path / "many") as many:
        for i, array in enumerate(arrays):
            each.log(f"n{i}:1", array, step=7, visit=i, graph="g", device=f"d{i}", time=1.5)
        snapshots = [Snapshot(f"n{i}:1", array, i, f"d{i}") for i, array in enumerate(arrays)]
        summaries = many.log_many(snapshots, step=7, graph="g", time=1.5)
    for summary, array in zip(summaries, arrays, strict=True):
        assert_same(summary, summarize(array))
    expected, found = read_all(tmp_path / "each"), read_all(tmp_path / "many")
    apart = {"mean", "std", "l2", "worker"}
    for row, wanted in zip(found.rows, expected.rows, strict=True):
        assert row.keys() == wanted.keys()
        for name in row.keys() - apart:
            assert repr(row[name]) == repr(wanted[name]), name  # as text, in which NaNs are equal
    for key, value in expected.values.items():
        assert found.values[key].tolist() == value.tolist() if value.dtype == object else True
        assert value.dtype == object or found.values[key].tobytes() == value.tobytes()


def test_without_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensortap.stats import batch, compile
    from tensortap.stats import summarize as statistics

    def missing(*_: str) -> None:
        raise compile.CannotCompileError

    monkeypatch.setattr(batch, "kernel", missing)
    monkeypatch.setattr(batch, "scratch", missing)
    monkeypatch.setattr(statistics, "scratch", missing)
    arrays = [np.arange(5), np.linspace(-1, 1, 3000, dtype=np.float32), np.array([np.nan, 1.0])]
    with DumpWriter(tmp_path) as w:
        summaries = w.log_many([Snapshot("x", array, keep="summary") for array in arrays], step=0)
    monkeypatch.undo()
    for summary, array in zip(summaries, arrays, strict=True):
        assert_same(summary, summarize(array))


def test_tensors_that_share_memory_are_stored_once(tmp_path: Path) -> None:
    array = np.arange(6000, dtype=np.float32)
    shown = [
        Snapshot("a", array),
        Snapshot("b", array.reshape(60, 100)),
        Snapshot("c", array.view(np.int32)),
        Snapshot("d", array, keep="summary"),
        Snapshot("e", array[:3000]),
        Snapshot("f", array, sample=Sample(10)),
    ]
    with DumpWriter(tmp_path) as w:
        summaries = w.log_many(shown, step=0)
    assert [summary.shape for summary in summaries] == [
        (6000,),
        (60, 100),
        (6000,),
        (6000,),
        (3000,),
        (6000,),
    ]
    assert summaries[1].mean == summaries[0].mean != summaries[4].mean
    rows = read_all(tmp_path).rows
    assert rows[0]["value_offset"] == rows[1]["value_offset"]
    found = read_all(tmp_path).values
    assert (found["b", 0, 1] == array.reshape(60, 100)).all()
    assert (found["c", 0, 2] == array.view(np.int32)).all()
    assert (found["e", 0, 4] == array[:3000]).all()
    (file,) = values_files(tmp_path)
    assert file.stat().st_size == 256 * 1024 + 24_000 + 24_000 + 12_000


def test_visits_are_counted_together_with_those_of_log(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("a", 1, step=0)
        w.log_many([Snapshot("a", 1), Snapshot("a:0", 2), Snapshot("a:1", 3)], step=0)
        w.log("a", 1, step=0)
        assert w.log_many([], step=0) == ()
    rows = read_all(tmp_path).rows
    assert [row["visit"] for row in rows] == [0, 1, 2, 0, 3]
    assert [row["seq"] for row in rows] == list(range(5))


def test_commits_hold_at_most_500_rows(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log_many([Snapshot(f"n{i}", i) for i in range(1234)], step=0)
        assert len(read_all(tmp_path).rows) == 1234
    found = read_all(tmp_path)
    assert [row["min"] for row in found.rows] == list(range(1234))
    assert found.damage == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (Snapshot("", 1), InvalidNameError),
        (Snapshot("x", np.array([object()])), InvalidValueError),
        (Snapshot("x", 1, visit=-1), InvalidValueError),
        (Snapshot("x", 1, device="d" * 5000), InvalidValueError),
        (Snapshot("x", 1, keep="all"), InvalidValueError),  # type: ignore[arg-type]
    ],
)
def test_one_that_cannot_be_dumped(tmp_path: Path, wrong: Snapshot, error: type[Exception]) -> None:
    with DumpWriter(tmp_path) as w:
        with pytest.raises(error):
            w.log_many([Snapshot("a", 1), wrong], step=0)
        with pytest.raises(InvalidValueError):
            w.log_many([Snapshot("a", 1)], step=-1)
    assert read_all(tmp_path).rows == []
    with pytest.raises(DumpClosedError):
        w.log_many([Snapshot("a", 1)], step=0)


def test_the_oldest_rows_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_writer, "MAX_PENDING", 150)
    monkeypatch.setattr(writer, "COMMIT_ROWS", 10_000)
    monkeypatch.setattr(writer, "COMMIT_SECONDS", 1e9)
    with DumpWriter(tmp_path) as w:
        for step in range(4):
            w.log("x", 1, step=step)
            w.log_many([Snapshot("x", i) for i in range(60)], step=step)
    found = read_all(tmp_path)
    assert [row["seq"] for row in found.rows] == list(range(244 - 150, 244))
    assert found.tails[0].dropped == 244 - 150


def test_any_objects_with_the_attributes_of_a_snapshot_are_taken(tmp_path: Path) -> None:
    tensor = SimpleNamespace(
        name="a:1", array=[1.0, 2.0], visit=None, device="CPU", keep="summary", sample=None
    )
    with DumpWriter(tmp_path) as w:
        w.log_many([tensor, Snapshot("b", 3)], step=0)
    rows = read_all(tmp_path).rows
    assert [(row["node"], row["slot"], row["device"], row["size"]) for row in rows] == [
        ("a", 1, "CPU", 2),
        ("b", 0, "", 1),
    ]
