"""Files of a worker: paths of statistics, values and marks of pruned values; the header of a values file."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError
from tensortap.core.names import is_worker_name
from tensortap.storage.entry import Entry
from tensortap.storage.files import crc32c
from tensortap.storage.filesystem import exists, scan

COMPACT = "compact"  # the folder of a run's compacted statistics
RECORDINGS = "recordings"  # the folder of a run's recordings
COMPACT_MANIFEST = "manifest.json"  # in it
VIEWER_PART = "viewer/story.json.gz"  # in a .tap.zip, beside its run
HEADER = 256 << 10  # bytes reserved at the start of a shard; the length word says HEADER - 8

# Only these are safetensors dtypes everywhere; one unknown name makes a whole shard unreadable.
SAFETENSORS = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip

_METADATA = b'{"__metadata__":{"crc32c":"%08x"}'
_SEALED = re.compile(rb'\{"__metadata__":\{"crc32c":"([0-9a-f]{8})"\}')
HEADER_TEXT = HEADER - 8 - len(_METADATA % 0) - 1  # bytes of its entries, a comma in front of each

Shard = tuple[str, int]  # worker, number


def stats_path(worker_dir: Path, number: int) -> Path:
    """Path of statistics file `number` of a worker."""
    return worker_dir / f"stats-{number:06d}.arrows"


def values_path(worker_dir: Path, number: int) -> Path:
    """Path of values file `number` of a worker."""
    return worker_dir / f"values-{number:06d}.safetensors"


def missing_statistics(worker: str, entries: Iterable[Entry]) -> list[str]:
    """A sentence where all statistics of a worker are missing: values are only written after the first.

    Args:
        entries: of its folder.
    """
    sizes: dict[str, int] = {}  # by kind of file
    for entry in entries:
        kind = entry.name.split("-")[0]
        sizes[kind] = sizes.get(kind, 0) + entry.size
    if "values" not in sizes or sizes.get("stats"):
        return []
    return [f"{worker}: {stats_path(Path(), 0).name} is {'empty' if 'stats' in sizes else 'missing'}."]


def is_foreign(worker: str, record: Mapping[str, Any]) -> bool:
    """Whether a file in the folder of `worker` says that it was written by another one."""
    return record.get("worker") not in (None, worker)


def foreign_text(record: Mapping[str, Any]) -> str:
    """Error and fix for such a file."""
    return f"It belongs to worker {str(record['worker'])[:120]!r}. Copy the run again."


def sealed_header(entries: Sequence[str]) -> bytes:
    """The first `HEADER` bytes of a complete values file, with their checksum.

    `entries`: members of its JSON object.
    """
    text = _METADATA % 0 + "".join(f",{entry}" for entry in entries).encode() + b"}"
    header = struct.pack("<Q", HEADER - 8) + text.ljust(HEADER - 8)
    return header.replace(_METADATA % 0, _METADATA % crc32c(header), 1)


def check_header(header: bytes, *, sealed: bool) -> None:
    """Checks the first `HEADER` bytes of a values file.

    Args:
        sealed: it must have a checksum; else one of version 1.0, which has none, is let through.

    Raises:
        DamagedError: it does not match its checksum.
    """
    found = _SEALED.match(header, 8)
    if found is None and not sealed:
        return
    plain = header if found is None else header[: found.start(1)] + b"0" * 8 + header[found.end(1) :]
    if found is None or b"%08x" % crc32c(plain) != found[1]:
        raise DamagedError("Its safetensors header does not match its checksum.")


def length_of_data(header: bytes) -> int:
    """Bytes after the header of a sealed values file, according to the header.

    Raises:
        DamagedError: it is not a safetensors header.
    """
    try:
        entries = json.loads(header[8:HEADER])
        return max(
            (int(e["data_offsets"][1]) for name, e in entries.items() if name != "__metadata__"), default=0
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise DamagedError("Its safetensors header cannot be read.") from error


def mark_path(values: Path) -> Path:
    """The mark that replaces a removed values file."""
    return values.with_suffix(".pruned")


def is_pruned(values: Path) -> bool:
    """Whether a values file was removed on purpose."""
    return exists(mark_path(values))


def pruned_files(names: Iterable[str]) -> frozenset[int]:
    """The numbers of a worker's values files that were removed on purpose, by the names in its folder."""
    there = set(names)
    return frozenset(
        number
        for name in there
        if (number := file_number(name, "values-", ".pruned")) is not None
        and values_path(Path(), number).name not in there
    )


def shards_of(run_dir: Path) -> dict[Shard, Entry]:
    """The values files of a run."""
    found = {}
    for folder in scan(run_dir):
        if folder.is_folder and is_worker_name(folder.name):
            for entry in scan(run_dir / folder.name):
                number = file_number(entry.name, "values-", ".safetensors")
                if entry.is_file and number is not None:
                    found[folder.name, number] = entry
    return found


def file_number(name: str, prefix: str, suffix: str) -> int | None:
    """The number of a file such as `values-000007.safetensors`; None for other names."""
    digits = name.removeprefix(prefix).removesuffix(suffix)
    fits = name == f"{prefix}{digits}{suffix}" and len(digits) == 6 and digits.isascii() and digits.isdigit()
    return int(digits) if fits else None
