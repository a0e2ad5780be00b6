"""Paths of the files of a worker: statistics, values, and the marks of pruned values (FORMAT.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tensortap.core.names import is_worker_name
from tensortap.storage.entry import Entry
from tensortap.storage.filesystem import exists, scan

HEADER = 256 << 10  # bytes reserved at the start of a shard; the length word says HEADER - 8

# Only these are safetensors dtypes everywhere; one unknown name makes a whole shard unreadable.
SAFETENSORS = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip

Shard = tuple[str, int]  # worker, number


def stats_path(worker_dir: Path, number: int) -> Path:
    """Where statistics file `number` of a worker is."""
    return worker_dir / f"stats-{number:06d}.arrows"


def values_path(worker_dir: Path, number: int) -> Path:
    """Where values file `number` of a worker is."""
    return worker_dir / f"values-{number:06d}.safetensors"


def mark_path(values: Path) -> Path:
    """The mark that a values file leaves."""
    return values.with_suffix(".pruned")


def is_pruned(values: Path) -> bool:
    """Whether a values file was removed on purpose."""
    return exists(mark_path(values))


def pruned_files(names: Iterable[str]) -> frozenset[int]:
    """The numbers of a worker's values files that were removed on purpose, by the names in its folder."""
    there = set(names)
    marks = (
        name.removeprefix("values-").removesuffix(".pruned") for name in there if name.endswith(".pruned")
    )
    found = (digits for digits in marks if _is_shard_number(digits))
    return frozenset(int(digits) for digits in found if f"values-{digits}.safetensors" not in there)


def shards_of(run_dir: Path) -> dict[Shard, Entry]:
    """The values files of a run."""
    found = {}
    for folder in scan(run_dir):
        if folder.is_folder and is_worker_name(folder.name):
            for entry in scan(run_dir / folder.name):
                digits = entry.name.removeprefix("values-").removesuffix(".safetensors")
                if entry.is_file and _is_shard_number(digits):
                    found[folder.name, int(digits)] = entry
    return found


def _is_shard_number(digits: str) -> bool:
    return len(digits) == 6 and digits.isascii() and digits.isdigit()
