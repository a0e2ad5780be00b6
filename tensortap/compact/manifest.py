"""`compact/manifest.json`: the Parquet files of each part of a run, and how far each worker was read."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tensortap.core.errors import DamagedError, FormatVersionError
from tensortap.core.names import GRAPHS, is_worker_name
from tensortap.dump.format.layout import COMPACT, COMPACT_MANIFEST
from tensortap.dump.format.run_files import OTHER_RUN, RunInfo, worker_info
from tensortap.dump.read.file_marks import FileFingerprints
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.stats_reader import TailPosition
from tensortap.storage.entry import Entry
from tensortap.storage.files import (
    FileReader,
    crc32c,
    crc32c_of_file,
    parse_json,
    publish,
    publish_json,
    read_json,
)
from tensortap.storage.filesystem import exists, scan, stat_path
from tensortap.storage.uri import shown_path

FOLDER, MANIFEST = COMPACT, COMPACT_MANIFEST
VERSION = 1
MAX_MANIFEST = 256 << 20  # bytes
OPENING = ("tensors", "steps", "writers", "kinds")  # with which a run opens; earlier releases had none
TABLES = ("rows", "histograms", "by_step", "by_tensor", *OPENING)  # of a part
FOOTER = ("footer_size", "footer_crc32c")
_JOINED = ".bin"  # ending of the file with the tables of all parts
_FORMAT = "tensortap compact"
_UNNAMED_SECONDS = 600.0  # that a file which no manifest names is left: a reader may be at it


@dataclass(frozen=True, slots=True)
class CompactFile:
    """A file in `compact/`: it has these bytes, or is damaged.

    `footer_size`, `footer_crc32c`: of the bytes behind the last row group of Parquet, with which a part of it
    is read (`partial_reading.py`); 0 of an earlier release.
    """

    file: str
    size: int
    crc32c: int
    footer_size: int = 0
    footer_crc32c: int = 0

    def path(self, run_dir: Path) -> Path:
        return run_dir / FOLDER / self.file


@dataclass(frozen=True, slots=True)
class CompactedPart:
    """The snapshots of the steps `first` to `last`: no other part has any of these steps.

    `bytes`: approximate number of its streams. `tensors` to `kinds`: None of an earlier release.
    """

    first: int
    last: int
    snapshots: int
    bytes: int
    rows: CompactFile
    histograms: CompactFile
    by_step: CompactFile
    by_tensor: CompactFile
    tensors: CompactFile | None = None
    steps: CompactFile | None = None
    writers: CompactFile | None = None
    kinds: CompactFile | None = None

    def files(self, tables: Sequence[str] = TABLES) -> list[CompactFile]:
        return [file for table in tables if (file := getattr(self, table)) is not None]


@dataclass(frozen=True, slots=True)
class WorkerMark:
    """How far a worker was read, and the marks of the files that were read until there.

    `closed`: its statistics end there; `about`: what its `worker.json` says.
    """

    snapshots: int
    position: TailPosition
    files: list[dict[str, Any]]
    closed: bool = False
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Manifest:
    """Parts of a compacted run. `by_tensor` is the rollup of all parts; None without parts. `tables` has the
    `opening_files` one after the other, so that a bucket is asked once; None of an earlier release."""

    workers: dict[str, WorkerMark] = field(default_factory=dict)
    parts: list[CompactedPart] = field(default_factory=list)
    by_tensor: CompactFile | None = None
    tables: CompactFile | None = None

    @property
    def snapshots(self) -> int:
        return sum(part.snapshots for part in self.parts)

    def ages(self) -> list[str]:
        """The workers, the oldest first."""
        infos = [worker_info(name, mark.about) for name, mark in self.workers.items()]
        return [info.worker for info in sorted(infos, key=lambda info: (info.started, info.worker))]

    def damage_of(self, run: RunInfo) -> list[str]:
        """A sentence if the `run.json` beside it is another run's."""
        infos = [worker_info(name, mark.about) for name, mark in self.workers.items()]
        ids = {info.run_id for info in infos} - {""}
        return [OTHER_RUN] if ids and run.described and run.id not in ids else []

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files())

    @property
    def damage(self) -> list[str]:
        """Sentences about data that was skipped in the streams."""
        return [sentence for mark in self.workers.values() for sentence in mark.position.damage]

    def files(self) -> Iterator[CompactFile]:
        """The files that it names."""
        for part in self.parts:
            yield from part.files()
        yield from (file for file in (self.by_tensor, self.tables) if file is not None)

    def opening_files(self) -> list[CompactFile]:
        """The small tables of all parts."""
        return [file for part in self.parts for file in part.files(OPENING)]

    def fits(self, run_dir: Path) -> bool:
        """Whether the streams still begin with the compacted data, or `compact/` was copied without them; and
        all files have their sizes."""
        try:
            sizes = all(file.path(run_dir).stat().st_size == file.size for file in self.files())
        except OSError:
            return False
        if not sizes or not has_streams(run_dir):
            return sizes
        return all(
            FileFingerprints(run_dir / worker, mark.files).hold() for worker, mark in self.workers.items()
        )


def has_streams(run_dir: Path) -> bool:
    """Whether a run has the statistics of its workers, and not only `compact/`."""
    try:
        workers = [each.name for each in scan(run_dir) if each.is_folder and is_worker_name(each.name)]
        return any(entry.name.startswith("stats-") for worker in workers for entry in scan(run_dir / worker))
    except (OSError, DamagedError):
        return True  # it is unknown


def read_manifest(run_dir: Path) -> Manifest | None:
    """The manifest of a run; None if it is not compacted.

    Raises:
        DamagedError: it is damaged, or missing where its files are all that was copied.
        FormatVersionError: it is of a later version. OSError: it cannot be read.
    """
    path = run_dir / FOLDER / MANIFEST
    try:
        return _manifest_of(read_json(path, MAX_MANIFEST), path)
    except (FileNotFoundError, NotADirectoryError) as error:
        if lacks_manifest(run_dir):
            raise DamagedError(f"{shown_path(path)} is missing.", "Copy compact/ again.") from error
        return None


def lacks_manifest(run_dir: Path) -> bool:
    """Whether a run without the statistics of its workers has Parquet files in `compact/`, but no manifest.
    With statistics, `compact/` is just being written."""
    try:
        names = {entry.name for entry in scan(run_dir / FOLDER)}
    except (OSError, DamagedError):
        return False
    return MANIFEST not in names and any(n.endswith(".parquet") for n in names) and not has_streams(run_dir)


def parse_manifest(data: bytes, path: Path) -> Manifest:
    """The content of a manifest. `path`: what errors name. Raises as `read_manifest`."""
    return _manifest_of(parse_json(data, path.name), path)


def _manifest_of(record: dict[str, Any], path: Path) -> Manifest:
    version = record.get("version")
    if record.get("format") == _FORMAT and isinstance(version, int) and version > VERSION:
        raise FormatVersionError(
            f"{shown_path(path)} has version {version}; this tensortap reads version {VERSION}.",
            "Upgrade with: pip install --upgrade tensortap",
        )
    try:
        if record["format"] != _FORMAT or version != VERSION:
            raise ValueError("another format")
        return _parse(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"{shown_path(path)} is invalid: {error!r:.100}.") from error


def publish_manifest(run_dir: Path, manifest: Manifest) -> None:
    """Replaces the manifest, after writing all its files. Raises OSError."""
    record = {
        "format": _FORMAT,
        "version": VERSION,
        "created": datetime.now(UTC).isoformat(),
        "snapshots": manifest.snapshots,
        "workers": {worker: asdict(mark) for worker, mark in manifest.workers.items()},
        "parts": [asdict(part) for part in manifest.parts],
        "by_tensor": None if manifest.by_tensor is None else asdict(manifest.by_tensor),
        "tables": None if manifest.tables is None else asdict(manifest.tables),
    }
    publish_json(run_dir / FOLDER / MANIFEST, record)


def join_tables(run_dir: Path, manifest: Manifest, name: str) -> CompactFile:
    """Writes the small tables of all parts into one file. `name`: its ending.

    Raises:
        DamagedError: one is damaged. OSError.
    """
    data = b"".join(verify(run_dir, file).read_bytes() for file in manifest.opening_files())
    file = CompactFile(f"tables-{name}{_JOINED}", len(data), crc32c(data))
    publish(file.path(run_dir), data)
    return file


def split_tables(data: bytes, files: Sequence[CompactFile]) -> Iterator[tuple[CompactFile, bytes]]:
    """The inverse of `join_tables`; without tables whose bytes are others."""
    at = 0
    for file in files:
        piece = data[at : at + file.size]
        at += file.size
        if is_verified(piece, file):
            yield file, piece


def remove_unnamed(run_dir: Path, manifest: Manifest) -> None:
    """Removes files that the manifest no longer lists, once no reader can use them."""
    named = {file.file for file in manifest.files()} | {MANIFEST}
    with contextlib.suppress(OSError):
        for entry in os.scandir(run_dir / FOLDER):
            ours = entry.name.endswith((".parquet", _JOINED, ".tmp")) and entry.name not in named
            with contextlib.suppress(OSError):
                old = time.time() - entry.stat(follow_symlinks=False).st_mtime > _UNNAMED_SECONDS
                if ours and old and entry.is_file(follow_symlinks=False):
                    Path(entry.path).unlink()


_MOST_VERIFIED = 10_000  # files
_verified: dict[Path, tuple[Entry, int]] = {}  # as they were found, and their checksums


def verify(run_dir: Path, file: CompactFile, *, again: bool = False) -> Path:
    """The path of a file, verified by checksum in this process since its last change.

    Args:
        again: verify it now, as a disk may lose bytes without a change.

    Raises:
        DamagedError: it is damaged or missing; the hint says how to make it again.
    """
    path = file.path(run_dir)
    try:
        found = stat_path(path)
        known, checksum = _verified.get(path, (None, 0))
        if again or known != found:
            checksum = crc32c_of_file(path, found.size)
            if len(_verified) >= _MOST_VERIFIED:
                _verified.clear()
            _verified[path] = found, checksum
        sound = found.size == file.size and checksum == file.crc32c
    except (OSError, DamagedError):
        sound = False
    if not sound:
        hint = f"Rebuild it with: tensortap compact {shown_path(run_dir)} --rebuild"
        raise DamagedError(f"{shown_path(path)} is damaged or missing.", hint)
    return path


def is_verified(data: bytes, file: CompactFile) -> bool:
    """Whether these are the bytes of a file."""
    return len(data) == file.size and crc32c(data) == file.crc32c


def read_verified(run_dir: Path, file: CompactFile) -> bytes:
    """The bytes of a file, also of one at an address or in an archive. Raises DamagedError, OSError."""
    with FileReader(file.path(run_dir)) as source:
        data = bytes(source.read(0, source.size))
    if not is_verified(data, file):
        raise DamagedError(f"{file.file} does not match its checksum.", "Copy compact/ again.")
    return data


def read_parquet(
    source: Path | bytes, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> pa.Table:
    """A Parquet file, or some of its columns in their order, of some row groups; texts as dictionaries.

    Unlike `pyarrow.parquet.read_table` it does not import pandas, which takes each process a second.

    Raises:
        pyarrow.ArrowException, OSError: it is not one. KeyError: it has no such column.
    """
    place = pa.BufferReader(source) if isinstance(source, bytes) else source
    with pq.ParquetFile(place) as file:
        schema = file.schema_arrow
        names = schema.names if columns is None else list(columns)
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
    place = pa.BufferReader(source) if isinstance(source, bytes) else source
    with pq.ParquetFile(place, read_dictionary=texts) as file:
        table = file.read(names) if groups is None else file.read_row_groups(groups, names)
        return table.select(names)


def check_compacted(run_dir: Path) -> tuple[int, list[str]]:
    """Number of snapshots in `compact/`, and sentences about damage; reads all of its files."""
    try:
        manifest = read_manifest(run_dir) or Manifest()
    except (DamagedError, FormatVersionError) as error:
        return 0, [str(error)]
    damage = []
    for file in manifest.files():
        try:
            verify(run_dir, file, again=True)
        except DamagedError as error:
            damage.append(str(error))
    if not (damage or has_streams(run_dir)):
        damage = manifest.damage_of(RunReader(run_dir).info())
        damage += _missing_graphs(run_dir, manifest) if exists(run_dir / GRAPHS) else []
    return manifest.snapshots, damage


def _missing_graphs(run_dir: Path, manifest: Manifest) -> list[str]:
    """Sentences about graphs that compacted snapshots name, and that were not copied with the others."""
    named: set[str] = set()
    for part in manifest.parts:
        named |= set(pc.unique(read_parquet(part.rows.path(run_dir), ["graph"]).column("graph")).to_pylist())
    try:
        gone = named - {"", *RunReader(run_dir).graph_ids()}
    except OSError:  # reported with the run's own files
        return []
    return [f"graph {graph}: its file is missing. Copy it again." for graph in sorted(gone)]


def _parse(record: Mapping[str, Any]) -> Manifest:
    workers = {}
    for name, mark in record["workers"].items():
        if not is_worker_name(name):
            raise ValueError(f"a worker {name[:80]!r}")
        where = TailPosition.of(mark["position"])
        closed, about = mark.get("closed", False) is True, dict(mark.get("about", {}))
        workers[name] = WorkerMark(_count(mark["snapshots"]), where, list(mark["files"]), closed, about)
    parts = [_parse_part(part) for part in record["parts"]]
    if any(one.last >= other.first for one, other in pairwise(parts)):
        raise ValueError("overlapping parts")
    by_tensor, tables = record["by_tensor"], record.get("tables")
    return Manifest(
        workers,
        parts,
        None if by_tensor is None else _parse_file(by_tensor),
        None if tables is None else _parse_file(tables, _JOINED),
    )


def _parse_part(record: Mapping[str, Any]) -> CompactedPart:
    first, last, snapshots, size = (_count(record[name]) for name in ("first", "last", "snapshots", "bytes"))
    if first > last:
        raise ValueError("a part whose end is before its start")
    files = {name: _parse_file(record[name]) for name in TABLES if name not in OPENING or record.get(name)}
    return CompactedPart(first, last, snapshots, size, **files)


def _parse_file(record: Mapping[str, Any], ending: str = ".parquet") -> CompactFile:
    name = record["file"]
    if not isinstance(name, str) or "/" in name or "\\" in name or not name.endswith(ending):
        raise ValueError(f"a file {name!r:.80}")
    numbers = [_count(record[key]) for key in ("size", "crc32c")]
    return CompactFile(name, *numbers, *(_count(record.get(key, 0)) for key in FOOTER))


def _count(number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{number!r:.40} for a count")
    return number
