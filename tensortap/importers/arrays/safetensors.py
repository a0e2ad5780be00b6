"""`.safetensors`: a JSON header and the bytes of arrays; also in shards that an index file lists."""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensortap.core.dtypes import Array, numpy_dtype
from tensortap.core.text import bytes_text

from ..errors import RefusedError
from ..run_builder import RunBuilder
from ..safe_io import file_size, files_beside, open_file, parse_json, read_range, read_whole
from .stored_array import StoredArray, from_bytes, read_arrays

INDEX = ".safetensors.index.json"
MAX_HEADER = 100_000_000  # bytes, the limit of the format's own library
_PADDING = re.compile(r"__pad__\d+")
_DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8",
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64",
    "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "C64": "complex64",
}  # fmt: skip


def is_safetensors(path: Path) -> bool:
    """Whether it is a file of that name, or the index of shards."""
    return path.is_file() and path.name.endswith((".safetensors", INDEX))


def is_shard_folder(path: Path) -> bool:
    """Whether it is a folder with an index of shards."""
    return bool(_indexes(path))


def read_shard_folder(path: Path, builder: RunBuilder) -> None:
    """The arrays of the shards that the first index of a folder names."""
    read_arrays(stored_arrays, _indexes(path)[0], builder)


def _indexes(path: Path) -> list[Path]:
    return sorted(path.glob(f"*{INDEX}")) if path.is_dir() else []


def stored_arrays(path: Path) -> Iterator[StoredArray]:
    """The arrays of one file, or of all shards if it is an index.

    Raises:
        RefusedError: a header is damaged, or an index names files outside its folder.
    """
    if path.name.endswith(INDEX):
        for shard in shards(path):
            yield from _arrays(shard)
    else:
        yield from _arrays(path)


def shards(index: Path) -> list[Path]:
    """The shards, next to the index. Names with folders in them are refused: they could lead anywhere."""
    record = parse_json(read_whole(index, MAX_HEADER), index.name)
    names = record.get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise RefusedError(f"{index.name} has no weight_map.")
    return files_beside(index, set(names.values()), ".safetensors")


def _arrays(path: Path) -> Iterator[StoredArray]:
    with open_file(path) as file:
        (length,) = struct.unpack("<Q", read_range(file, 0, 8, f"The header of {path.name}"))
        if length > MAX_HEADER:
            raise RefusedError(f"The header of {path.name} claims {length:,} bytes; the limit is 100 MB.")
        header = parse_json(read_range(file, 8, length, f"The header of {path.name}"), path.name)
        size = file_size(file) - 8 - length
    header.pop("__metadata__", None)
    sharing, note = _layout(header, size, path.name)
    for name, entry in header.items():
        if _PADDING.fullmatch(name) and isinstance(entry, dict) and entry.get("dtype") == "U8":
            continue  # a gap in a dump's values file

        def load(name: str = name, entry: Any = entry) -> Array:
            if name in sharing:
                raise RefusedError("Its bytes overlap those of another tensor.")
            return _array(path, name, entry, 8 + length)

        yield StoredArray(name, load, note)
        note = ""


def _layout(header: dict[str, Any], size: int, what: str) -> tuple[set[str], str]:
    """(tensors that share bytes with an earlier one, a sentence about bytes of no tensor).

    The format allows neither; its own library refuses such files.
    """
    places = []
    for name, entry in header.items():
        with contextlib.suppress(RefusedError):  # said when it is read
            _, _, begin, end = _checked(entry)
            if begin < end <= size:
                places.append((begin, end, name))
    sharing, holes, covered = set(), 0, 0
    for begin, end, name in sorted(places):
        if begin < covered:
            sharing.add(name)
        holes += max(0, begin - covered)
        covered = max(covered, end)
    parts = [f"{bytes_text(holes)} between tensors"] * bool(holes)
    parts += [f"{bytes_text(size - covered)} after the last one"] * (covered < size)
    note = f"{what} has bytes outside all tensors: {' and '.join(parts)}." if parts else ""
    return sharing, note


def _array(path: Path, name: str, entry: Any, start: int) -> Array:
    kind, shape, begin, end = _checked(entry)
    if kind not in _DTYPES:
        raise RefusedError(f"Its dtype {kind[:40]!r} is unknown.")
    dtype = numpy_dtype(_DTYPES[kind])
    with open_file(path) as file:
        data = read_range(file, start + begin, end - begin, name[:200])
    return from_bytes(data, dtype, shape, name[:200])


def _checked(entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    try:
        kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError("Its entry in the header is damaged.") from error
    numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
    if not isinstance(kind, str) or not all(type(number) is int and number >= 0 for number in numbers):
        raise RefusedError("Its entry in the header is damaged.")
    return kind, tuple(shape), begin, end
