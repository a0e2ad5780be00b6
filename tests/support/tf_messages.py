"""TensorFlow's files written by hand: events and tensors as no program of TensorFlow would write them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensortap.importers.tf_formats.leveldb_table import MAGIC
from tensortap.importers.tf_formats.protos import parse
from tensortap.tfproto.tfrecord import masked_crc32c

FLOAT, DOUBLE, STRING, COMPLEX64 = 1, 2, 7, 8


def message(kind: str) -> Any:
    """An empty message."""
    return parse(kind, b"", kind)


def tensor_proto(shape: Sequence[int], dtype: int = FLOAT, into: Any = None, **fields: Any) -> Any:
    """A TensorProto, or `into` filled as one: `double_val=[1.0]`, `tensor_content=b"…"`."""
    proto = message("TensorProto") if into is None else into
    proto.dtype = dtype
    for extent in shape:
        proto.tensor_shape.dim.add(size=extent)
    for name, content in fields.items():
        if name == "tensor_content":
            proto.tensor_content = content
        else:
            getattr(proto, name).extend(content)
    return proto


def event(step: int = 0) -> Any:
    """An Event to be filled."""
    return message("Event").__class__(wall_time=1.7e9, step=step)


def scalar(step: int = 0, tag: str = "loss") -> Any:
    """An Event with a good scalar."""
    made = event(step)
    made.summary.value.add(tag=tag).simple_value = 1.0
    return made


def tensor_event(shape: Sequence[int], plugin: str = "", **given: Any) -> Any:
    """An Event with a tensor `odd`."""
    made = event()
    value = made.summary.value.add(tag="odd")
    value.metadata.plugin_data.plugin_name = plugin
    tensor_proto(shape, into=value.tensor, **given)
    return made


def old_histogram_event(bucket: Sequence[float], limits: Sequence[float], **facts: float) -> Any:
    """An Event with a histogram `odd` as TF1 has them."""
    made = event()
    histo = made.summary.value.add(tag="odd").histo
    histo.bucket.extend(bucket)
    histo.bucket_limit.extend(limits)
    for name, number in facts.items():
        setattr(histo, name, number)
    return made


def tfrecord(data: bytes) -> bytes:
    """One record with its checksums."""
    head = struct.pack("<Q", len(data))
    crc = struct.pack("<I", masked_crc32c(head))
    return head + crc + data + struct.pack("<I", masked_crc32c(data))


def write_events(folder: Path, *events: Any) -> Path:
    """An event file in a new folder; returns the folder."""
    folder.mkdir(parents=True)
    records = b"".join(tfrecord(made.SerializeToString()) for made in events)
    (folder / "events.out.tfevents.1.host").write_bytes(records)
    return folder


def write_tfdbg1(
    folder: Path, tensors: dict[str, Any], device: str = "device_CPU_0", op: str = "DebugIdentity"
) -> Path:
    """The dump of a session run with tensors as a debug op leaves them; returns its folder."""
    place = folder / "run_1" / f"_tfdbg_device_,job_localhost,replica_0,task_0,{device}"
    place.mkdir(parents=True)
    for number, (name, proto) in enumerate(tensors.items()):
        made = message("Event").__class__(wall_time=1.7e15)
        made.summary.value.add(node_name=f"{name}:0:{op}").tensor.CopyFrom(proto)
        (place / f"{name}_0_{op}_{number}").write_bytes(made.SerializeToString())
    return folder / "run_1"


def leveldb_table(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """A table of LevelDB with one block."""

    def varint(number: int) -> bytes:
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    def block(rows: list[tuple[bytes, bytes]]) -> bytes:
        data = b"".join(
            varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in rows
        )
        data += struct.pack("<II", 0, 1)
        return data + b"\0" + struct.pack("<I", masked_crc32c(data + b"\0"))

    def handle(offset: int, length: int) -> bytes:
        return varint(offset) + varint(length - 5)

    first = block(pairs)
    second = block([(b"~", handle(0, len(first)))])
    footer = varint(0) + varint(0) + handle(len(first), len(second))
    return first + second + footer.ljust(40, b"\0") + MAGIC
