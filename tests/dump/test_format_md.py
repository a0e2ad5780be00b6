"""FORMAT.md is enough to write a reader from: here is one that imports nothing of tensortap."""

from __future__ import annotations

import json
import math
import re
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
from some_arrays import NUMBERS, from_bits, numpy_type

import tensortap.dump as dump
from tensortap.core.dtypes import Array

FORMAT = Path(__file__).resolve().parents[2] / "FORMAT.md"
EOS = bytes.fromhex("ffffffff00000000")


def crc32c(data: bytes) -> int:
    """Castagnoli's CRC, from its polynomial."""
    crc = 0xFFFFFFFF
    for octet in data:
        crc = CRC_TABLE[(crc ^ octet) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _crc_row(octet: int) -> int:
    for _ in range(8):
        octet = (octet >> 1) ^ (0x82F63B78 if octet & 1 else 0)
    return octet


CRC_TABLE = [_crc_row(octet) for octet in range(256)]


def read_stats(file: Path) -> list[dict[str, Any]]:
    """Section "Statistics": walks the messages, checks their checksums, decodes with Arrow."""
    data = file.read_bytes()
    schema_message, at = message_at(data, 0)
    schema = pa.ipc.read_schema(pa.py_buffer(schema_message))
    assert schema.metadata == {b"format": b"tensortap", b"version": b"1", b"minor": b"1"}
    rows: list[dict[str, Any]] = []
    while data[at:] != EOS:
        message, at = message_at(data, at)
        (metadata,) = struct.unpack_from("<I", message, 4)
        ((start, text),) = [
            (m.start(), m.group())
            for m in re.finditer(rb"crc32c=[0-9a-f]{8};schema=[0-9a-f]{8}", message[: 8 + metadata])
        ]
        zeroed = message[: start + 7] + b"00000000" + message[start + 15 :]
        assert text == b"crc32c=%08x;schema=%08x" % (crc32c(zeroed), crc32c(schema_message))
        batch = pa.ipc.read_record_batch(pa.ipc.read_message(message), schema)
        batch.validate(full=True)
        rows += batch.to_pylist()
    return rows


def message_at(data: bytes, at: int) -> tuple[bytes, int]:
    mark, metadata = struct.unpack_from("<II", data, at)
    assert (mark, metadata % 8) == (0xFFFFFFFF, 0)
    body = pa.ipc.read_message(data[at:]).body
    end = at + 8 + metadata + (body.size if body is not None else 0)
    return data[at:end], end


def read_kept(worker: Path, row: dict[str, Any]) -> Array | None:
    """Section "Values"."""
    if row["value_codec"] == "":
        return None
    stored = row["value"]
    if stored is None:
        file = worker / f"values-{row['value_file']:06d}.safetensors"
        stored = file.read_bytes()[row["value_offset"] : row["value_offset"] + row["value_length"]]
    assert len(stored) == row["value_length"]
    assert crc32c(stored) == row["value_crc32c"]
    blocks = [stored[at : at + 32768] for at in range(0, len(stored), 32768)]
    assert row["value_blocks"] == (list(map(crc32c, blocks)) if len(blocks) > 1 else [])
    if row["value_codec"] != "raw":
        stored = unpack(stored, *row["value_codec"].split(":"), row)
    if row["dtype"] == "string":
        offsets = struct.unpack_from(f"<{row['size'] + 1}q", stored)
        texts = stored[8 * (row["size"] + 1) :]
        items = [texts[a:b] for a, b in pairwise(offsets)]
        return np.array(items, object).reshape(row["shape"])
    return np.frombuffer(stored, dtype_of(row["dtype"])).reshape(row["shape"])


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def unpack(stored: bytes, codec: str, *rest: Any) -> bytes:
    *item, chunk, row = rest
    (count,) = struct.unpack_from("<I", stored)
    lengths = struct.unpack_from(f"<{count}I", stored, 4)
    left = row["size"] * dtype_of(row["dtype"]).itemsize
    at, parts = 4 + 4 * count, []
    for length in lengths:
        size, frame = min(int(chunk), left), stored[at : at + length]
        if codec == "zstd":
            parts.append(pa.decompress(frame, size, codec="zstd", asbytes=True))
        else:
            parts.append(spread(frame, size, int(item[0])))
        at, left = at + length, left - size
    assert (at, left) == (len(stored), 0)
    return b"".join(parts)


def spread(frame: bytes, size: int, item: int) -> bytes:
    """`nonzero:I:N`."""
    at = -(-size // item // 8)
    items = []
    for i in range(size // item):
        some = frame[i // 8] >> (i % 8) & 1
        items.append(frame[at : at + item] if some else bytes(item))
        at += item if some else 0
    assert at == len(frame)
    return b"".join(items)


def edges(bucket: int) -> tuple[float, float]:
    """Section "Histogram buckets"."""

    def f(i: int) -> float:
        return (
            math.inf
            if i == 511
            else 2.0**128
            if i == 510
            else struct.unpack("<f", struct.pack("<I", i << 22))[0]
        )

    low, high = f(bucket & 511), f((bucket & 511) + 1)
    return (-high, -low) if bucket >= 512 else (low, high)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Array]]:
    """A dump of all dtypes, and what was logged, by seq."""
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for name in NUMBERS:
        for shape in ((), (3, 5), (40, 70)):
            size = int(np.prod(shape)) * numpy_type(name).itemsize
            arrays.append(from_bits(name, shape, rng.bytes(size)))
    sparse = rng.standard_normal((700, 900))
    sparse[:600] = 0
    arrays += [
        sparse,
        sparse[:650].astype(np.complex64),
        np.zeros(20_000, np.int16),
        np.array([[b"a", b""], ["ü".encode(), b"x" * 2000]], object),
        np.empty((0, 3), np.int8),
    ]
    logdir = tmp_path_factory.mktemp("dump")
    node = dump.Node("x", "Const", output_dtypes=("float32",), output_shapes=((None, 2),))
    graph = dump.Graph("g", (node,), graph_def=b"\n\x05\n\x01x\x12\x00")
    with dump.DumpWriter(logdir, "some/run", rank=1) as writer:
        graph_id = writer.graph(graph)
        for step, array in enumerate(arrays):
            writer.log("x:2", array, step=step, graph=graph_id, visit=4, device="cpu", time=12.5)
        writer.log("x:2", arrays[0], step=0, keep="summary")
    return logdir / "some" / "run", arrays


def test_descriptions(logged: tuple[Path, list[Array]]) -> None:
    run, _ = logged
    sums = {"checksum", "crc32c"}
    assert {"format", "version", "minor", "run", "id", "created", "info"} | sums == set(
        read_json(run / "run.json")
    )
    (worker,) = [path for path in run.iterdir() if path.is_dir() and path.name != "graphs"]
    assert re.fullmatch(r"[\w.]+-\d+-[0-9a-f]{8}", worker.name)
    assert set(read_json(worker / "worker.json")) == {
        *("worker", "run_id", "host", "pid", "rank", "started", "minor", "info", *sums)
    }
    assert read_json(worker / "worker.json")["run_id"] == read_json(run / "run.json")["id"]
    assert (run / f"{worker.name}.started").read_bytes() == b""
    closed = read_json(worker / "closed.json")
    assert set(closed) == {"worker", "closed", "snapshots", "dropped", "events", *sums}
    assert closed["snapshots"] == len(read_stats(worker / "stats-000000.arrows"))


def read_json(file: Path) -> dict[str, Any]:
    """Section "Checksums of JSON files"."""
    data = file.read_bytes()
    found = re.search(rb'"crc32c": "([0-9a-f]{8})"\s*\}\s*\Z', data)
    assert found is not None
    assert int(found[1], 16) == crc32c(data[: found.start(1)] + b"00000000" + data[found.end(1) :])
    record: dict[str, Any] = json.loads(data)
    assert next(iter(record)) == "checksum"
    return record


def test_the_header_of_values_has_a_checksum(logged: tuple[Path, list[Array]]) -> None:
    run, _ = logged
    (file,) = run.glob("*/values-000000.safetensors")
    header = file.read_bytes()[:262_144]
    text = json.loads(header[8:])["__metadata__"]["crc32c"]
    assert header.count(text.encode()) == 1
    assert int(text, 16) == crc32c(header.replace(text.encode(), b"00000000"))


def test_statistics_and_values(logged: tuple[Path, list[Array]]) -> None:
    run, arrays = logged
    (stats,) = run.glob("*/stats-000000.arrows")
    rows = read_stats(stats)
    assert [row["seq"] for row in rows] == list(range(len(arrays) + 1))
    assert read_kept(stats.parent, rows.pop()) is None
    for row, array in zip(rows, arrays, strict=True):
        value = read_kept(stats.parent, row)
        assert value is not None
        assert value.shape == array.shape == tuple(row["shape"])
        assert (
            value.tolist() == array.tolist() if array.dtype == object else value.tobytes() == array.tobytes()
        )
        assert (row["node"], row["slot"], row["visit"], row["device"]) == ("x", 2, 4, "cpu")
        assert (row["time"].timestamp(), row["size"]) == (12.5, array.size)


def test_histograms(logged: tuple[Path, list[Array]]) -> None:
    run, arrays = logged
    (stats,) = run.glob("*/stats-000000.arrows")
    for row, array in zip(read_stats(stats), arrays, strict=False):
        if array.dtype.kind in "c" or array.dtype == object:
            continue
        with np.errstate(invalid="ignore"):
            numbers = array.astype(np.float64).reshape(-1)
        for bucket, count in zip(row["bucket_id"], row["bucket_count"], strict=True):
            low, high = edges(bucket)
            inside = (
                (low <= numbers) & (numbers < high) if bucket < 512 else (low < numbers) & (numbers <= high)
            )
            assert np.count_nonzero(inside & (numbers != 0)) == count > 0
        counted = row["nan"] + row["pos_inf"] + row["neg_inf"] + row["zero"]
        assert counted + row["negative"] + row["positive"] == row["size"]
        assert sum(row["bucket_count"]) == row["negative"] + row["positive"]


def test_graphs(logged: tuple[Path, list[Array]]) -> None:
    run, _ = logged
    (file,) = (run / "graphs").glob("*.arrows")
    assert re.fullmatch(r"[\w.]{1,80}-[0-9a-f]{12}", file.stem)
    with pa.ipc.open_stream(file) as stream:
        table = stream.read_all()
    about = json.loads(table.schema.metadata[b"graph"])
    assert set(about) == {"name", "functions", "stacks", "sources", "way", "graph_def"}
    data = file.with_suffix(".pb").read_bytes()
    assert about["graph_def"] == {"length": len(data), "crc32c": f"{crc32c(data):08x}"}
    assert table.column("output_shapes").to_pylist() == [["[null,2]"]]


def test_the_columns_of_the_document_are_those_of_the_files(logged: tuple[Path, list[Array]]) -> None:
    run, _ = logged
    for section, file in (("## Statistics", "*/stats-000000.arrows"), ("## Graphs", "graphs/*.arrows")):
        with pa.ipc.open_stream(next(run.glob(file))) as stream:
            found = [(field.name, str(field.type)) for field in stream.schema]
        assert found == documented_columns(section)


def documented_columns(section: str) -> list[tuple[str, str]]:
    text = FORMAT.read_text(encoding="utf-8").split(section, 1)[1].split("\n## ")[0]
    text = text.partition("| column |")[2].partition("\n\n")[0]  # the section has tables of keys, too
    columns = []
    for names, kind in re.findall(r"^\| ([\w, ]+) \| ([\w\\<>\[\], ]+) \|", text, re.MULTILINE):
        kind = kind.replace("\\", "").removesuffix(", nullable").replace(", ", ", tz=")
        kind = re.sub(r"list<(\w+)>", r"list<item: \1>", kind).replace("float64", "double")
        columns += [(name, kind) for name in names.split(", ") if name != "column"]
    return columns
