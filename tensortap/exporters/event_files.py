"""TensorBoard event files: a histogram and scalars for each snapshot.

TFRecords (length, masked CRC-32C of it, record, masked CRC-32C of that) of `Event` protos, written here by
their field numbers in tensorboard/compat/proto/event.proto and summary.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import InvalidNameError
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, take
from tensortap.index.values import find_histogram
from tensortap.storage.files import crc32c

from .base import Advance, Exported, all_rows, is_free, new_file

SCALARS = ("mean", "std", "min", "max", "l2", "abs_max")
BAD = ("nan", "pos_inf", "neg_inf")
WRITER = "tensortap"  # in `source_metadata`: an import makes snapshots of the events again
_AT_ONCE = 1000  # snapshots
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types
_MASK = 0xA282EAD8
_MAX_L2 = 1e154  # the square of more is no float64
_TINY = 5e-324  # right of a bucket with nothing but zeros


def export(run: RunIndex, rows: Array | None, out: Path, advance: Advance) -> Exported:
    """Makes the folder `out` with one event file, in the order of steps. Graphs and values are left out."""
    rows = all_rows(run, rows)
    rows = rows[np.argsort(run.catalog.column("step", rows), kind="stable")]
    if not is_free(out):
        raise InvalidNameError(f"{str(out)!r} exists.", "Name a new folder.")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"events.out.tfevents.{int(run.created)}.tensortap"
    with new_file(path) as temporary, temporary.open("xb") as file:
        _write_record(
            file, _double(1, run.created) + _text(3, "brain.Event:2") + _message(10, _text(1, WRITER))
        )
        for start in range(0, len(rows), _AT_ONCE):
            for snapshot in take(run.catalog, rows[start : start + _AT_ONCE]):
                _write_record(file, _event(run, snapshot))
            advance(min(start + _AT_ONCE, len(rows)), len(rows))
    return Exported(out, len(rows), path.stat().st_size, [])


def _event(run: RunIndex, snapshot: Snapshot) -> bytes:
    values = b"".join(_message(1, value) for value in _values(run, snapshot))
    return _double(1, snapshot.time) + _varint_field(2, snapshot.step) + _message(5, values)


def _values(run: RunIndex, snapshot: Snapshot) -> Iterator[bytes]:
    """The `Summary.Value` messages of a snapshot; what has no finite element has counts only."""
    finite = snapshot.zero + snapshot.negative + snapshot.positive
    if finite:
        yield _text(1, snapshot.tensor) + _message(5, _histogram(run, snapshot, finite))
        for name in SCALARS:
            yield _scalar(f"{snapshot.tensor}/{name}", getattr(snapshot, name))
    bad = {name: getattr(snapshot, name) for name in BAD}
    for name in BAD if any(bad.values()) else ():
        yield _scalar(f"{snapshot.tensor}/{name}", bad[name])
    yield _scalar(f"{snapshot.tensor}/nonfinite", sum(bad.values()))


def _scalar(name: str, value: float) -> bytes:
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    return _text(1, name) + _key(2, _FLOAT) + struct.pack("<f", single)


def _histogram(run: RunIndex, snapshot: Snapshot, finite: int) -> bytes:
    """A `HistogramProto`: its buckets reach from one limit to the next, so gaps are buckets of their own."""
    limits, counts = list[float](), list[float]()
    buckets = [*find_histogram(run, snapshot).buckets()]
    if snapshot.zero:
        buckets = sorted([*buckets, (0.0, _TINY, snapshot.zero)])
    for left, right, count in buckets:
        left, right = max(left, snapshot.min), min(right, max(snapshot.max, left))
        if limits and left > limits[-1]:
            limits.append(left)
            counts.append(0.0)
        limits.append(max(right, limits[-1] if limits else right))
        counts.append(float(count))
    squares = snapshot.l2**2 if snapshot.l2 < _MAX_L2 else float(np.finfo(np.float64).max)
    head = (snapshot.min, snapshot.max, float(finite), snapshot.mean * finite, squares)
    fields = b"".join(_double(number, value) for number, value in enumerate(head, 1))
    return fields + _message(6, _doubles(limits)) + _message(7, _doubles(counts))


def _doubles(values: list[float]) -> bytes:
    return np.array(values, "<f8").tobytes()


def _write_record(file: BinaryIO, record: bytes) -> None:
    length = struct.pack("<Q", len(record))
    file.write(length + _masked(length) + record + _masked(record))


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF)


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint_field(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value)


def _double(number: int, value: float) -> bytes:
    return _key(number, _DOUBLE) + struct.pack("<d", value)


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode("utf-8", "backslashreplace"))


def _message(number: int, data: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(data)) + data
