"""Values files: sealed shards any safetensors reader opens, and slices that read no more than they need."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all, values_files
from some_arrays import NUMBERS, Array, from_bits, numpy_type

from tensortap.core.errors import DamagedError
from tensortap.dump.format import value_codec
from tensortap.dump.format.block_checksums import BLOCK
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.values_reader import ValueReader, ValueRef, read_value, value_ref
from tensortap.dump.write import values_writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.compile import CannotCompileError

SIZES = {"BOOL": 1, "I8": 1, "U8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2}
SIZES |= {"I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8}


def read_shard(file: Path) -> dict[str, Any]:
    """The header of a sealed shard, checked by the rules of the safetensors format."""
    data = file.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    assert length == 262_136
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    assert set(header.pop("__metadata__")) == {"crc32c"}
    entries = sorted(header.values(), key=lambda entry: entry["data_offsets"])
    end = 0
    for entry in entries:
        start, stop = entry["data_offsets"]
        assert start == end
        assert stop - start == int(np.prod(entry["shape"])) * SIZES[entry["dtype"]]
        end = stop
    assert 8 + length + end == len(data)
    return header


def references(logdir: Path) -> list[ValueRef]:
    run = RunReader(logdir / "run")
    found = []
    for worker in run.workers():
        for commit in run.tail(worker.worker).poll():
            for row in range(commit.batch.num_rows):
                reference = value_ref(run.path, worker.worker, commit.batch, row)
                assert reference is not None
                found.append(reference)
    return found


def random_array(name: str, shape: tuple[int, ...]) -> Array:
    return from_bits(
        name, shape, np.random.default_rng(7).bytes(int(np.prod(shape)) * numpy_type(name).itemsize)
    )


def test_a_sealed_shard_follows_the_safetensors_format(tmp_path: Path) -> None:
    sparse = random_array("float32", (100, 100))
    sparse[30:] = 0
    with DumpWriter(tmp_path) as w:
        for name in NUMBERS:
            w.log(name, random_array(name, (61, 41)), step=3)
        w.log("text", np.array(["abc"] * 500), step=3)
        w.log("zeros", sparse, step=3)
    (file,) = values_files(tmp_path)
    header = read_shard(file)
    names = {name.split(":")[0]: entry for name, entry in header.items() if not name.startswith("__pad__")}
    assert names["float32"]["dtype"] == "F32"
    assert names["float32"]["shape"] == [61, 41]
    assert names["bfloat16"]["dtype"] == "BF16"
    assert names["float8_e4m3fn"]["dtype"] == "F8_E4M3"
    for name in ("complex64", "int4", "text", "zeros", "float8_e5m2fnuz"):
        assert names[name]["dtype"] == "U8"
    assert "float32:0@3#10" in header
    for reference in references(tmp_path):
        if reference.dtype in NUMBERS and reference.codec == "raw":
            assert reference.offset % numpy_type(reference.dtype).itemsize == 0


def test_a_growing_shard_has_no_header_yet(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", np.arange(1000), step=0)
        w.flush()
        (file,) = values_files(tmp_path)
        assert file.read_bytes()[:262_144] == bytes(262_144)
        (reference,) = references(tmp_path)
        assert (read_value(reference) == np.arange(1000)).all()
    read_shard(file)


def test_shards_are_sealed_by_size_and_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values_writer, "MAX_SHARD", 20_000)
    monkeypatch.setattr(values_writer, "MAX_TENSORS", 7)
    with DumpWriter(tmp_path) as w:
        for step in range(5):
            w.log("large", np.full(2000, step + 1, np.float32), step=step)
        for step in range(20):
            w.log("small", np.full(300, step + 1, np.float32), step=step)
        w.flush()
        *sealed, growing = values_files(tmp_path)
        assert len(sealed) >= 4
        for file in sealed:
            read_shard(file)
        assert growing.read_bytes()[:8] == bytes(8)
    found = read_all(tmp_path)
    assert len(found.values) == 25
    assert found.bad_values == []


def test_long_names_fill_a_header_before_its_end(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        for step in range(30):
            w.log("ü" * 4000, np.arange(200), step=step)
    files = values_files(tmp_path)
    assert len(files) > 1
    for file in files:
        read_shard(file)
    assert len(read_all(tmp_path).values) == 30


def part(reference: ValueRef, start: int, length: int) -> bytes:
    with ValueReader(reference) as reader:
        return bytes(reader.read(start, length))


@pytest.mark.parametrize("name", ["float32", "int8", "complex128", "bfloat16", "bool"])
@pytest.mark.parametrize("filled", [0.0, 0.2, 1.0])
def test_parts_of_a_value(tmp_path: Path, name: str, filled: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_codec, "CHUNK", 4096)
    array = random_array(name, (50, 173))
    array[np.random.default_rng(1).random(array.shape) >= filled] = 0
    data = array.tobytes()
    with DumpWriter(tmp_path) as w:
        w.log("x", array, step=0)
    (reference,) = references(tmp_path)
    item = 8 if name == "complex128" else array.itemsize
    assert reference.codec == {0.0: "zstd:4096", 0.2: f"nonzero:{item}:4096", 1.0: "raw"}[filled]
    assert reference.length <= len(data)
    assert read_value(reference).tobytes() == data
    rng = np.random.default_rng(2)
    for start in [0, 4095, 4096, 4097, len(data) - 1, *rng.integers(0, len(data), 20).tolist()]:
        for length in (0, 1, 17, 5000):
            length = min(length, len(data) - start)
            assert part(reference, start, length) == data[start : start + length]


def test_what_is_packed_is_bit_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative zeros and NaNs with a payload are not zero; with and without the compiler."""
    array = np.zeros(10_001, np.float32)
    array[::5] = -0.0
    array.view(np.uint32)[3::10] = 0x7FA00001
    with DumpWriter(tmp_path) as w:
        w.log("x", array, step=0)

        def missing(*_: str) -> None:
            raise CannotCompileError

        monkeypatch.setattr(value_codec, "kernel", missing)
        w.log("x", array, step=1)
    compiled, plain = references(tmp_path)
    assert compiled.codec == plain.codec == "nonzero:4:1048576"
    assert compiled.crc32c == plain.crc32c
    assert read_value(compiled).tobytes() == read_value(plain).tobytes() == array.tobytes()


def test_packed_values_that_make_no_sense() -> None:
    packed = b"".join(value_codec.pack_nonzero(np.arange(20, dtype=np.uint8).repeat(2), 2))
    assert bytes(value_codec.unpack_nonzero(packed, 40, 2)) == bytes(np.arange(20, dtype=np.uint8).repeat(2))
    for frame, size in (
        (packed, 41),
        (packed, 38),
        (packed, 400),
        (packed[:-1], 40),
        (packed + b"x", 40),
        (b"", 40),
    ):
        with pytest.raises(DamagedError):
            value_codec.unpack_nonzero(frame, size, 2)


def test_parts_of_a_small_value(tmp_path: Path) -> None:
    array = np.arange(20, dtype=np.int16)
    with DumpWriter(tmp_path) as w:
        w.log("x", array, step=0)
    (reference,) = references(tmp_path)
    assert reference.inline is not None
    assert values_files(tmp_path) == []
    assert part(reference, 4, 6) == array[2:5].tobytes()


def test_a_slice_reads_only_its_chunks(tmp_path: Path) -> None:
    """Damage elsewhere in a value, behind the block that holds the table of chunks, does not show."""
    array = np.zeros(4 << 20, np.uint8)
    array[::7] = np.random.default_rng(0).integers(0, 256, array[::7].shape, np.uint8)
    with DumpWriter(tmp_path) as w:
        w.log("x", array, step=0)
    (file,) = values_files(tmp_path)
    (reference,) = references(tmp_path)
    whole = bytearray(file.read_bytes())
    damaged = slice(reference.offset + BLOCK, reference.offset + reference.length // 2)
    whole[damaged] = bytes(damaged.stop - damaged.start)
    file.write_bytes(whole)
    start = (3 << 20) + 5
    assert part(reference, start, 1000) == array[start : start + 1000].tobytes()


def test_what_is_read_can_be_changed(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", np.ones(5), step=0)
        w.log("y", np.zeros(5000), step=0)
    for reference in references(tmp_path):
        value = read_value(reference)
        value[0] = 7
        assert value[0] == 7
