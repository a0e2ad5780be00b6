"""Values and slices of them, read from dumps of every dtype."""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np
import pytest

from tensortap.core.deadline import time_limit
from tensortap.core.dtypes import numpy_dtype
from tensortap.core.errors import DamagedError, LimitError, SelectionError, ValueNotKeptError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.values import nonfinite_elements, read_slice, select_slice

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
    *(
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e4m3b11fnuz",
        "int4",
        "uint4",
    ),
)
SHAPES = {"scalar": (), "inline": (3, 5), "file": (7, 11, 13), "sparse": (600, 1024), "empty": (0, 3)}


def example(dtype: str, kind: str) -> np.ndarray:
    """Small integers, which every dtype holds; `sparse` is compressed, in several chunks for wide dtypes."""
    shape = SHAPES[kind]
    values = np.arange(int(np.prod(shape))) % 7
    if kind == "sparse":
        values[np.arange(len(values)) % 100 > 3] = 0
    return values.reshape(shape).astype(numpy_dtype(dtype))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("values")
    with DumpWriter(path) as writer:
        for dtype in DTYPES:
            for kind in SHAPES:
                writer.log(f"{dtype}/{kind}", example(dtype, kind), step=0)
        writer.log("text", TEXT, step=0)
        writer.log("summary", np.ones(3), step=0, keep="summary")
    log = LogIndex(path)
    log.refresh()
    return log.runs[0]


TEXT = np.array([[f"row {i} column {j} {'x' * (i * j)}" for j in range(30)] for i in range(20)])


def random_items(shape, rng):
    def bound(length):
        return rng.choice([None, rng.randint(-length - 1, length + 1)])

    items = []
    for length in shape[: rng.randint(0, len(shape))]:
        index = rng.randrange(-length, length) if length and rng.random() < 0.3 else None
        steps = slice(bound(length), bound(length), rng.choice([None, 1, 2, 7, -1, -3]))
        items.append(steps if index is None else index)
    return tuple(items)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_of_every_dtype_are_what_numpy_selects(run, dtype, kind):
    snapshot = find_snapshot(run, f"{dtype}/{kind}", step=0)
    array = example(dtype, kind)
    rng = random.Random(f"{dtype}/{kind}")
    for items in [(), *(random_items(array.shape, rng) for _ in range(8))]:
        found = read_slice(run, snapshot, items)
        expected = array[items]
        assert found.dtype == array.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes(), items
        found[...] = 0  # a new array, not a view of a cache


def test_text(run):
    snapshot = find_snapshot(run, "text", step=0)
    expected = np.char.encode(TEXT, "utf-8").astype(object)
    for selection in ("", "3", "::5,1:20:7", "2,3", "5:5", "-1,::-1"):
        found = read_slice(run, snapshot, selection)
        assert np.array_equal(found, expected[eval(f"np.s_[{selection or '...'}]")])
    with pytest.raises(LimitError):
        read_slice(run, snapshot, limit=100)


def test_limits_and_selections_are_checked_before_reading(run):
    snapshot = find_snapshot(run, "float64/file", step=0)
    with pytest.raises(LimitError, match=r"8008 bytes; the limit is 8000\. The whole value is 8008 bytes"):
        read_slice(run, snapshot, limit=8000)
    assert read_slice(run, snapshot, "0", limit=8000).shape == (11, 13)
    with pytest.raises(SelectionError):
        read_slice(run, snapshot, "7")


def test_a_value_that_was_not_kept_is_explained(run):
    with pytest.raises(ValueNotKeptError, match='keep="value"'):
        read_slice(run, find_snapshot(run, "summary", step=0))


def test_damage_is_noticed(tmp_path):
    with DumpWriter(tmp_path) as writer:
        writer.log("a", np.arange(10_000.0), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    snapshot = find_snapshot(run, "a", step=0)
    (values,) = tmp_path.rglob("values-*")
    data = bytearray(values.read_bytes())
    data[262_144 + 100] ^= 1
    values.write_bytes(data)
    with pytest.raises(DamagedError, match="checksum"):
        read_slice(run, snapshot)
    with pytest.raises(DamagedError, match="checksum"):  # another element of the same block
        read_slice(run, snapshot, "50")
    assert read_slice(run, snapshot, "5000") == 5000
    values.write_bytes(data[:330_000])
    with pytest.raises(DamagedError, match="truncated"):
        read_slice(run, snapshot, "9999")
    assert read_slice(run, snapshot, "5000") == 5000
    values.unlink()
    with pytest.raises(DamagedError, match="missing"):
        read_slice(run, snapshot, "50")


@pytest.mark.parametrize(
    "read",
    [nonfinite_elements, read_slice, lambda run, snapshot: select_slice(run, snapshot, "3").read()],
)
def test_damage_that_a_reader_finds_is_noted(tmp_path, read):
    with DumpWriter(tmp_path) as writer:
        writer.log("a", np.full(500, np.nan), step=0)
    (values,) = tmp_path.rglob("values-*")
    values.unlink()
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    assert run.damage == []
    with pytest.raises(DamagedError, match="missing"):
        read(run, find_snapshot(run, "a", step=0))
    assert "the value of a:0 at step 0 cannot be read" in run.damage[0]


@pytest.mark.parametrize("dtype", ["float32", "complex64", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_nonfinite_elements_are_found(tmp_path, dtype):
    array = np.ones((30, 40), dtype)
    array[3, 4], array[5, 6], array[7, 8] = np.nan, np.inf, -np.inf
    with DumpWriter(tmp_path) as writer:
        writer.log("a", array, step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    found = nonfinite_elements(log.runs[0], find_snapshot(log.runs[0], "a", step=0))
    assert found.total == 3
    assert found.indices.tolist() == [[3, 4], [5, 6], [7, 8]]
    assert found.values == ["NaN", "Infinity", "Infinity" if dtype == "complex64" else "-Infinity"]
    few = nonfinite_elements(log.runs[0], find_snapshot(log.runs[0], "a", step=0), limit=1)
    assert (few.total, few.indices.tolist()) == (3, [[3, 4]])


def test_nonfinite_elements_of_a_scalar_and_of_none(tmp_path):
    with DumpWriter(tmp_path) as writer:
        writer.log("scalar", np.float32("nan"), step=0)
        writer.log("integers", np.arange(3), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    scalar = nonfinite_elements(log.runs[0], find_snapshot(log.runs[0], "scalar", step=0))
    assert (scalar.total, scalar.indices.shape, scalar.values) == (1, (1, 0), ["NaN"])
    integers = nonfinite_elements(log.runs[0], find_snapshot(log.runs[0], "integers", step=0))
    assert (integers.total, integers.indices.shape) == (0, (0, 1))


def test_what_lies_behind_the_last_wanted_element_is_not_read(tmp_path, monkeypatch):
    array = np.ones(20_000, np.float32)
    array[[3, 5000, 19_999]] = np.nan
    with DumpWriter(tmp_path, compression=None) as writer:
        writer.log("a", array, step=0)
    monkeypatch.setattr("tensortap.index.values.BLOCK", 4000)
    log = LogIndex(tmp_path)
    log.refresh()
    run, snapshot = log.runs[0], find_snapshot(log.runs[0], "a", step=0)
    assert nonfinite_elements(run, snapshot).indices.ravel().tolist() == [3, 5000, 19_999]
    (values,) = tmp_path.rglob("*.safetensors")
    with values.open("r+b") as file:
        file.truncate(values.stat().st_size - 20_000)
    few = nonfinite_elements(run, snapshot, limit=1)
    assert (few.total, few.indices.tolist()) == (3, [[3]])
    with pytest.raises(DamagedError):
        nonfinite_elements(run, snapshot, limit=3)


def test_reading_ends_when_its_time_is_over(tmp_path):
    with DumpWriter(tmp_path) as writer:
        writer.log("a", np.arange(3000.0), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    run, snapshot = log.runs[0], find_snapshot(log.runs[0], "a", step=0)
    with time_limit(60.0), pytest.raises(LimitError, match=r"more than 0 s, the limit"), time_limit(0.0):
        read_slice(run, snapshot, "5")
    with time_limit(60.0):
        assert read_slice(run, snapshot, "5") == 5
    assert read_slice(run, snapshot, "5") == 5
