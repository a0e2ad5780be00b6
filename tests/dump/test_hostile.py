"""Dumps made to do harm: right checksums, wrong contents. No crash, no large allocation, but a sentence."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow as pa
import pytest
from dump_tools import stats_files

from tensortap.core.errors import DamagedError
from tensortap.dump.format import frames, graphs, record_batches, schema
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.stats_reader import StatsTail
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.files import FileReader


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of one commit with three rows."""
    monkeypatch.setattr("tensortap.dump.write.writer.COMMIT_SECONDS", 1e9)
    with DumpWriter(tmp_path, compression=None) as w:
        for step in range(3):
            w.log("x", np.arange(50, dtype=np.float32), step=step)
    return tmp_path / "run"


def reseal(frame: bytes) -> bytes:
    """A frame with the checksum that fits its bytes."""
    match = re.search(rb"crc32c=([0-9a-f]{8})", frame)
    assert match is not None
    data = bytearray(frame)
    data[match.start(1) : match.end(1)] = b"00000000"
    data[match.start(1) : match.end(1)] = b"%08x" % google_crc32c.value(bytes(data))
    return bytes(data)


def tail_of(run: Path) -> StatsTail:
    reader = RunReader(run)
    return reader.tail(reader.workers()[0].worker)


def with_batch(run: Path, batch: pa.RecordBatch, compression: str | None = None) -> StatsTail:
    """The run with its commits replaced by this one."""
    (file,) = stats_files(run)
    frame = frames.encode(batch, schema.SCHEMA_MESSAGE, {}, compression)
    file.write_bytes(schema.SCHEMA_MESSAGE + frame + frames.EOS)
    return tail_of(run)


def good_batch(run: Path) -> pa.RecordBatch:
    ((commit),) = tail_of(run).poll()
    return commit.batch


def replaced(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """The batch with other contents in one column, whatever the schema says about nulls."""
    columns = [column if name == field.name else batch.column(field.name) for field in batch.schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema.SCHEMA)


def test_a_claim_of_huge_buffers_allocates_nothing(dump: Path) -> None:
    (file,) = stats_files(dump)
    batch = good_batch(dump)
    frame = bytearray(frames.encode(batch, schema.SCHEMA_MESSAGE, {}, "zstd"))
    file.write_bytes(schema.SCHEMA_MESSAGE + frame + frames.EOS)
    with FileReader(file) as source:
        message = frames.read_frame(source, len(schema.SCHEMA_MESSAGE)).message
    assert message is not None
    body = len(frame) - message.body_length
    offset = next(offset for offset, length in message.buffers if length > 8)
    for claim in (1 << 40, -2, -(1 << 62), (128 << 20) + 1):
        struct.pack_into("<q", frame, body + offset, claim)
        file.write_bytes(schema.SCHEMA_MESSAGE + reseal(frame) + frames.EOS)
        tail = tail_of(dump)
        assert tail.poll() == []
        assert len(tail.damage) == 1
        assert tail.closed


def test_a_batch_that_decodes_to_too_much(dump: Path) -> None:
    batch = good_batch(dump)
    bomb = pa.array([bytes(50 << 20)] * 3, pa.large_binary())
    tail = with_batch(dump, replaced(batch, "value", bomb), "zstd")
    assert tail.poll() == []
    assert "limit" in tail.damage[0]


def test_nulls_where_none_may_be(dump: Path) -> None:
    batch = good_batch(dump)
    for name in ("step", "node", "mean", "shape", "bucket_id", "value_codec"):
        column = pa.array([None, *batch.column(name).to_pylist()[1:]], batch.schema.field(name).type)
        tail = with_batch(dump, replaced(batch, name, column))
        assert tail.poll() == []
        assert "nulls" in tail.damage[0]
    shapes = pa.array([[None], [1], [2]], pa.list_(pa.int64()))
    assert with_batch(dump, replaced(batch, "shape", shapes)).poll() == []


def test_text_that_is_not_utf_8(dump: Path) -> None:
    batch = good_batch(dump)
    column = pa.array([b"\xff\xfe"] * 3, pa.binary()).view(pa.string())
    tail = with_batch(dump, replaced(batch, "node", column))
    assert tail.poll() == []
    assert "UTF8" in tail.damage[0]


@pytest.mark.parametrize(("name", "value"), [("step", -1), ("slot", -1), ("visit", -2), ("size", -1)])
def test_negative_numbers(dump: Path, name: str, value: int) -> None:
    batch = good_batch(dump)
    column = pa.array([value, 1, 2], batch.schema.field(name).type)
    tail = with_batch(dump, replaced(batch, name, column))
    assert tail.poll() == []
    assert repr(name) in tail.damage[0]


@pytest.mark.parametrize("micros", [-1, 2**62])
def test_times_beyond_all_calendars(dump: Path, micros: int) -> None:
    batch = good_batch(dump)
    column = pa.array([0, 0, micros], pa.int64()).view(batch.schema.field("time").type)
    assert with_batch(dump, replaced(batch, "time", column)).poll() == []


@pytest.mark.parametrize("shape", [[-1], [1] * 255])
def test_shapes_that_no_tensor_has(dump: Path, shape: list[int]) -> None:
    column = pa.array([shape, [5, 5], []], pa.list_(pa.int64()))
    assert with_batch(dump, replaced(good_batch(dump), "shape", column)).poll() == []


@pytest.mark.parametrize(
    ("ids", "counts"),
    [([[1], [2], [3]], [[1], [2], []]), ([[511], [], []], [[1], [], []]), ([[2000], [], []], [[1], [], []])],
)
def test_histograms_that_make_no_sense(dump: Path, ids: list[list[int]], counts: list[list[int]]) -> None:
    batch = replaced(good_batch(dump), "bucket_id", pa.array(ids, pa.list_(pa.uint16())))
    tail = with_batch(dump, replaced(batch, "bucket_count", pa.array(counts, pa.list_(pa.int64()))))
    assert tail.poll() == []
    assert "histogram" in tail.damage[0]


def test_one_invalid_batch_among_many_is_skipped_alone(dump: Path) -> None:
    (file,) = stats_files(dump)
    batch = good_batch(dump)
    bad = replaced(batch, "step", pa.array([0, -1, 2], pa.int64()))
    later = replaced(batch, "seq", pa.array([6, 7, 8], pa.int64()))
    good, wrong, other = (frames.encode(b, schema.SCHEMA_MESSAGE, {}, "zstd") for b in (batch, bad, later))
    start = len(schema.SCHEMA_MESSAGE)
    file.write_bytes(schema.SCHEMA_MESSAGE + good + wrong + other + frames.EOS)
    tail = tail_of(dump)
    assert [commit.offset - start for commit in tail.poll()] == [0, len(good) + len(wrong)]
    (sentence,) = tail.damage
    assert f"byte {start + len(good)}: one commit skipped" in sentence


def test_a_later_minor_version_may_add_columns(dump: Path) -> None:
    (file,) = stats_files(dump)
    batch = good_batch(dump)
    nested = pa.array([{"a": None}] * 3, pa.struct([("a", pa.int32())]))
    wider = pa.RecordBatch.from_arrays(
        [nested, *batch.columns], schema=pa.schema([pa.field("new", nested.type), *schema.SCHEMA])
    )
    message = wider.schema.serialize().to_pybytes()
    file.write_bytes(message + frames.encode(wider, message, {}, "zstd") + frames.EOS)
    tail = tail_of(dump)
    (commit,) = tail.poll()
    assert (tail.damage, commit.batch.schema.names) == ([], batch.schema.names)
    assert commit.batch.column("step").to_pylist() == [0, 1, 2]


def test_a_schema_without_a_column_or_of_another_type(dump: Path) -> None:
    (file,) = stats_files(dump)
    batch = good_batch(dump)
    for other in (batch.drop_columns(["step"]), batch.set_column(0, "seq", pa.array(["a", "b", "c"]))):
        message = other.schema.serialize().to_pybytes()
        file.write_bytes(message + frames.encode(other, message, {}, "zstd") + frames.EOS)
        tail = tail_of(dump)
        assert tail.poll() == []
        assert "column" in tail.damage[0]


def test_a_file_of_false_starts_does_not_keep_the_reader_busy(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of overlapping frames, each claiming most of the file: quadratic work if all were checked."""
    (file,) = stats_files(dump)
    ((commit),) = tail_of(dump).poll()
    whole = file.read_bytes()
    frame = whole[commit.offset : commit.offset + commit.length]
    wrong = re.sub(rb"crc32c=[0-9a-f]{8}", b"crc32c=00000000", frame)
    metadata = 8 + struct.unpack_from("<I", wrong, 4)[0]
    head = wrong[:metadata].replace(struct.pack("<q", len(wrong) - metadata), struct.pack("<q", 4_000_000), 1)
    file.write_bytes(schema.SCHEMA_MESSAGE + head * 3000 + bytes(4_100_000))
    checked = 0
    check = google_crc32c.value

    class Counting:
        @staticmethod
        def value(data: bytes) -> int:
            nonlocal checked
            checked += len(data)
            return int(check(data))

    monkeypatch.setattr(frames, "google_crc32c", Counting)
    tail = tail_of(dump)
    assert tail.poll() == []
    assert checked < 12 * file.stat().st_size
    assert tail.pending is not None


FUZZ = """
import random, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_hostile import reseal
from tensortap.core.errors import DamagedError
from tensortap.dump.read.runs import RunReader
run, file = Path(sys.argv[1]), Path(sys.argv[2])
whole = file.read_bytes()
reader = RunReader(run)
(commit,) = reader.tail(reader.workers()[0].worker).poll()
start, end = commit.offset, commit.offset + commit.length
believed = 0
for seed in range(1500):
    rng = random.Random(seed)
    frame = bytearray(whole[start:end])
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(8, len(frame))
        if rng.random() < 0.5:
            frame[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        else:
            word = rng.choice([b"\\xff" * 4, b"\\0\\0\\0\\x40", b"\\xff\\xff\\xff\\x7f", bytes(4)])
            frame[at : at + 4] = word
    try:
        file.write_bytes(whole[:start] + reseal(bytes(frame[: end - start])) + whole[end:])
    except AssertionError:
        continue
    tail = reader.tail(commit.worker)
    for found in tail.poll():
        found.batch.to_pylist()
        believed += 1
print(believed)
"""


@pytest.mark.parametrize("compression", ["zstd", None])
def test_resealed_noise_never_crashes_the_process(dump: Path, compression: str | None) -> None:
    """Changed bytes under a right checksum, in another process, as a crash would end this one."""
    with_batch(dump, good_batch(dump), compression)
    (file,) = stats_files(dump)
    here = Path(__file__).parent
    arguments = [str(dump), str(file), str(here), str(here.parent / "support")]
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 0


def test_json_that_nests_too_deep(tmp_path: Path) -> None:
    for text in ("[" * 200_000, json.dumps({"functions": [], "stacks": 5, "sources": {"a": 1}})):
        table = pa.schema([], metadata={"graph": text})
        try:
            about = graphs._metadata(table, "g")
        except DamagedError:
            continue
        assert about == {
            "name": "",
            "functions": {},
            "layers": [],
            "variables": {},
            "stacks": [],
            "sources": {},
            "way": "",
            "graph_def": None,
        }


def test_limits_are_the_documented_ones() -> None:
    text = (Path(__file__).resolve().parents[2] / "FORMAT.md").read_text(encoding="utf-8")
    assert "at most 128 MiB" in text
    assert record_batches.MAX_DECODED == 128 << 20
