"""The columns format: rows as a few flat buffers, so that a page reads 100,000 nodes without parsing JSON.

Layout (http_api.md, "Columns"): `TTCOLS01`, u32 header length, JSON header padded so that data begins at a
multiple of 8, then the buffers, each at a multiple of 8. `write` and `read` are next to each other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .json_encoding import to_json

MAGIC = b"TTCOLS01"
CONTENT_TYPE = "application/vnd.tensortap.columns"
_TYPES = {"i32": "<i4", "u32": "<u4", "f64": "<f8", "u8": "u1"}
_FIXED = len(MAGIC) + 4


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `type`: `i32`, `u32`, `f64`, `u8` (numbers), `utf8` (Texts), `dict` (codes of `values`)."""

    name: str
    type: str
    data: Any
    values: Sequence[str] = ()


def write_columns(meta: Mapping[str, Any], columns: Iterable[Column]) -> bytes:
    """The bytes of an answer."""
    buffers: list[bytes] = []
    at = 0

    def append(data: bytes) -> dict[str, int]:
        nonlocal at
        place = {"offset": at, "length": len(data)}
        buffers.extend((data, bytes(-len(data) % 8)))
        at += len(data) + -len(data) % 8
        return place

    described = []
    texts: dict[int, dict[str, Any]] = {}  # columns of the very same texts share their place
    for column in columns:
        entry: dict[str, Any] = {"name": column.name, "type": column.type, "count": len(column.data)}
        if column.type == "utf8":
            if id(column.data) not in texts:
                offsets = append(column.data.offsets.astype("<u4", copy=False).tobytes())
                place = append(column.data.data)
                place = {"bytes_offset": place["offset"], "bytes_length": place["length"]}
                texts[id(column.data)] = offsets | place
            entry |= texts[id(column.data)]
        elif column.type == "dict":
            entry |= append(np.asarray(column.data, "<i4").tobytes()) | {"values": list(column.values)}
        else:
            entry |= append(np.asarray(column.data, _TYPES[column.type]).tobytes())
        described.append(entry)
    header = to_json({"meta": meta, "columns": described})
    header += b" " * (-(_FIXED + len(header)) % 8)
    return b"".join((MAGIC, struct.pack("<I", len(header)), header, *buffers))


def read_columns(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """`(meta, columns by name)`: arrays for numbers, lists of strings for `utf8` and `dict`.

    Raises ValueError if `data` is not such a response.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("not a columns response: it does not start with TTCOLS01")
    (length,) = struct.unpack_from("<I", data, len(MAGIC))
    header = json.loads(data[_FIXED : _FIXED + length])
    body = memoryview(data)[_FIXED + length :]
    return header["meta"], {entry["name"]: _read(entry, body) for entry in header["columns"]}


def _read(entry: Mapping[str, Any], body: memoryview) -> Any:
    raw = body[entry["offset"] : entry["offset"] + entry["length"]]
    if entry["type"] == "utf8":
        offsets = np.frombuffer(raw, "<u4")
        text = bytes(body[entry["bytes_offset"] : entry["bytes_offset"] + entry["bytes_length"]])
        return [text[a:b].decode() for a, b in pairwise(offsets)]
    if entry["type"] == "dict":
        return [entry["values"][code] for code in np.frombuffer(raw, "<i4")]
    return np.frombuffer(raw, _TYPES[entry["type"]])
