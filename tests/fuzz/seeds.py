"""The first corpus: one small whole input a target, from which the fuzzer starts."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from targets import template

from tensortap.dump.format.frames import EOS
from tensortap.dump.format.schema import SCHEMA_MESSAGE
from tensortap.tfproto.tfrecord import masked_crc32c

QUESTIONS = (
    "nan > 0 and op ~ 'Mat.*'",
    "0,:,10:20:2",
    "...,-1",
    "3:10",
    "zero / size > 0.9",
    "a/x:0",
    "(a|b)*c",
)


def write_seeds(corpus: Path) -> None:
    """Writes `corpus/<target>/seed…`."""
    for name, make in _SEEDS.items():
        folder = corpus / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seed").write_bytes(make())
    for number, text in enumerate(QUESTIONS):
        (corpus / "questions").mkdir(parents=True, exist_ok=True)
        (corpus / "questions" / f"seed-{number}").write_text(text)


def _file(pattern: str) -> bytes:
    (found,) = template().glob(pattern)
    return found.read_bytes()


def _values() -> bytes:
    return _file("*/values-*.safetensors")[:400].rstrip()


def _archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(template().rglob("*")):
            if file.is_file() and "values" not in file.name:
                archive.write(file, file.relative_to(template().parent))
    return data.getvalue()


def _numpy(save: Callable[..., None], **arrays: object) -> bytes:
    data = io.BytesIO()
    save(data, np.arange(6.0).reshape(2, 3), **arrays)
    return data.getvalue()


def _safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    return struct.pack("<Q", len(header)) + header + np.arange(6, dtype=np.float32).tobytes()


def _graphdef() -> bytes:
    """A Const of dtype float, and an Exp that reads it."""
    first = b"\x0a\x01x\x12\x05Const*\x0b\x0a\x05dtype\x12\x02\x30\x01"
    second = b"\x0a\x01y\x12\x03Exp\x1a\x01x*\x07\x0a\x01T\x12\x02\x30\x01"
    return b"".join(b"\x0a" + bytes([len(node)]) + node for node in (first, second))


def _event_file() -> bytes:
    """A version record and a scalar."""
    summary = b"\x0a\x0b\x0a\x04loss\x15\x00\x00\x80?"
    records = [
        b"\x09" + struct.pack("<d", 1.0) + b"\x1a\x0dbrain.Event:2",
        b"\x09" + struct.pack("<d", 2.0) + b"\x10\x03\x2a" + bytes([len(summary)]) + summary,
    ]
    out = b""
    for record in records:
        head = struct.pack("<Q", len(record))
        out += head + struct.pack("<I", masked_crc32c(head)) + record
        out += struct.pack("<I", masked_crc32c(record))
    return out


_SEEDS: dict[str, Callable[[], bytes]] = {
    "stats": lambda: _file("*/stats-*.arrows").removeprefix(SCHEMA_MESSAGE).removesuffix(EOS),
    "stats_file": lambda: _file("*/stats-*.arrows"),
    "values": _values,
    "graph": lambda: _file("graphs/*.arrows"),
    "events": lambda: _file("*/events-*.jsonl"),
    "run_json": lambda: _file("run.json"),
    "archive": _archive,
    "npy": lambda: _numpy(np.save),
    "npz": lambda: _numpy(np.savez, b=np.array([True])),
    "safetensors": _safetensors,
    "graphdef": _graphdef,
    "event_file": _event_file,
}
