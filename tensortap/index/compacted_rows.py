"""Rows of a compacted run in the catalog: counted when the run is opened, read when a column is needed.

Read rows are saved in the cache, so that the next program that opens the run maps them into memory.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tensortap.compact.manifest import CompactedPart
from tensortap.compact.rollups import shape_codes
from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError
from tensortap.system.user_dirs import is_own_folder

from .cache.cache_folders import claim, run_folder, sweep, touch
from .cache.container import ContainerError, read_container, write_container
from .cache.saved_run import VERSION
from .catalog.catalog import Catalog, TensorTotals
from .catalog.columns import StringTable, narrowed_integers
from .catalog.decode import NOT_COPIED, NOT_KEPT, STATISTICS_COLUMNS, numbers, shard_numbers
from .catalog.segments import COLUMNS, NARROW, Key, RowNumbers, Segment, postings
from .catalog.step_totals import StepTotals

FILE_COLUMNS = (
    *("step", "visit", "worker", "seq", "time", "device", "dtype", "shape"),
    *(*STATISTICS_COLUMNS, "value_codec", "value_file"),
)
# Code of the worker; position in the files of all parts, one after the other.
OWN_COLUMNS = ("worker", "place")
Read = Callable[[CompactedPart, Array | None], pa.Table]


class Summary(NamedTuple):
    """The small tables of a part: totals by tensor, by graph and step, by graph and worker, and kinds of
    snapshots."""

    tensors: pa.Table
    steps: pa.Table
    writers: pa.Table
    kinds: pa.Table


class CompactedRows:
    """The rows of consecutive parts, in the order in which they were written. Thread-safe.

    Attributes:
        parts: where they are. size: bytes of their files.

    Args:
        read: reads the columns `FILE_COLUMNS` of a part, of all rows or those in a mask; raises DamagedError.
        catalog: gets the rows.
    """

    def __init__(
        self,
        read: Read,
        catalog: Catalog,
        parts: Sequence[tuple[CompactedPart, Summary]],
        cache: RowsCache | None,
    ) -> None:
        self._read_part, self._cache = read, cache
        self.parts = [part for part, _ in parts]
        self.size = sum(part.rows.size for part in self.parts)
        self._first, self._count = catalog.rows, sum(part.snapshots for part in self.parts)
        self._lock = threading.Lock()
        self._arrays: Mapping[str, Array] | None = None
        self._workers, self._dtypes, self._devices = catalog.workers, catalog.dtypes, catalog.devices
        summaries = [summary for _, summary in parts]
        kinds, order = _by_first(catalog, [summary.kinds for summary in summaries])
        _intern(catalog.dtypes, kinds, "dtype", order)
        _intern(catalog.devices, kinds, "device", order)
        codes, shapes = shape_codes(kinds.column("shape"))
        catalog.shapes.restore(sorted((shapes[code] for code in _first_seen(codes[order])), key=len))
        tensors, order = _by_first(catalog, [summary.tensors for summary in summaries])
        _intern(catalog.tensors.graphs, tensors, "graph", order)
        _intern(catalog.tensors.nodes, tensors, "node", order)
        _encoded(catalog, tensors, order)
        self._shapes = {shape: code for code, shape in enumerate(catalog.shapes.values)}
        totals = [_tensor_totals(catalog, summary.tensors) for summary in summaries]
        self._tensors = [(each.tensor, each.snapshots) for each in totals]
        steps = [_step_totals(catalog, summary.steps) for summary in summaries]
        self._steps = np.unique(np.concatenate([each.step for each in steps]))
        self._step_codes = catalog.steps.encode(self._steps)
        has: dict[Key, Array] = {
            "tensor": np.unique(np.concatenate([codes for codes, _ in self._tensors])),
            "step": np.unique(self._step_codes),
        }
        segment = _CompactedSegment(self._first, self._count, has, self.read)
        for summary in summaries:
            graph = _mapped(summary.writers, "graph", _known(catalog.tensors.graphs))
            worker = _mapped(summary.writers, "worker", _known(catalog.workers))
            catalog.worker_rows.add(worker, numbers(summary.writers, "snapshots"))
            catalog.writers.update(zip(graph.tolist(), worker.tolist(), strict=True))
        catalog.add_compacted(segment, totals, steps)

    @property
    def is_read(self) -> bool:
        """Whether the columns are in memory, or probably in the cache."""
        return self._arrays is not None or (self._cache is not None and self._cache.has(self._first))

    def read(self) -> Mapping[str, Array]:
        """The arrays of a segment, and `OWN_COLUMNS`.

        Raises:
            DamagedError: a part cannot be read.
        """
        with self._lock:
            if self._arrays is None:
                arrays = None if self._cache is None else self._cache.get(self._first, self._count)
                self._arrays = arrays or self._stored(self.decode())
            return self._arrays

    def put(self, columns: Mapping[str, Array]) -> None:
        """Takes over what another process decoded."""
        with self._lock:
            self._arrays = self._stored(columns)

    def _stored(self, columns: Mapping[str, Array]) -> Mapping[str, Array]:
        arrays = {**columns, **postings(columns)}
        path = self.cache_file()
        if self._cache is None or path is None:
            return arrays
        try:
            write_container(path, {}, _shortened(arrays))
        except OSError:
            return arrays
        return self._cache.get(self._first, self._count) or arrays

    def cache_file(self) -> Path | None:
        """Where another process may `store` the rows; None without a cache."""
        return None if self._cache is None else self._cache.claimed(self._first)

    def store(self, path: Path) -> None:
        """Writes the rows into a file of a cache.

        Raises:
            DamagedError: they cannot be read. OSError: the disk refused.
        """
        columns = self.decode()
        write_container(path, {}, _shortened({**columns, **postings(columns)}))

    def decode(self, tensors: Array | None = None) -> dict[str, Array]:
        """The columns, as codes and numbers, of all tensors or of some (by code). Raises DamagedError."""
        found = [self._decode_part(*each, tensors) for each in zip(self.parts, self._tensors, strict=True)]
        columns = {name: np.concatenate([part.pop(name) for part in found]) for name in list(found[0])}
        order = np.lexsort((columns.pop("seq"), columns["worker"]))
        if tensors is None:
            columns["place"] = np.arange(self._first, self._first + self._count)
        for name, column in columns.items():  # narrowed first: there is less to move
            columns[name] = (narrowed_integers(column) if name in _NARROW else column)[order]
        return columns

    def _decode_part(
        self, part: CompactedPart, tensors: tuple[Array, Array], chosen: Array | None
    ) -> dict[str, Array]:
        tensor = np.repeat(*tensors).astype(np.int32)
        wanted = None if chosen is None else np.isin(tensor, chosen)
        table = self._read_part(part, wanted)
        try:
            columns = {name: numbers(table, name) for name in ("visit", "time", "seq", *STATISTICS_COLUMNS)}
            step = numbers(table, "step")
            at = np.minimum(np.searchsorted(self._steps, step), len(self._steps) - 1)
            if not np.array_equal(self._steps[at], step):
                raise KeyError("step")
            shard = shard_numbers(_mapped(table, "value_codec", bool) > 0, numbers(table, "value_file"))
            codes, shapes = shape_codes(table.column("shape"))
            return columns | {
                "tensor": tensor if wanted is None else tensor[wanted],
                "step": self._step_codes[at].astype(np.int32),
                "worker": _mapped(table, "worker", _known(self._workers)),
                "device": _mapped(table, "device", _known(self._devices)),
                "dtype": _mapped(table, "dtype", _known(self._dtypes)),
                "shape": np.array([self._shapes[shape] for shape in shapes], np.int32)[codes],
                "shard": np.where(shard > NOT_KEPT, NOT_COPIED, shard),
            }
        except KeyError as error:
            raise DamagedError(f"{part.rows.file} uses {error}, which its part does not list.") from error


_NARROW = {*NARROW, *OWN_COLUMNS}
_ALL = {*COLUMNS, *OWN_COLUMNS}


def _shortened(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The same; columns of one value have one row. Half of them are such in most runs."""
    return {
        name: array[:1] if name in _ALL and len(array) and (array == array[0]).all() else array
        for name, array in arrays.items()
    }


class _CompactedSegment(Segment):
    """Rows whose arrays are read when they are needed.

    Args:
        has: the codes in it, ascending.
    """

    def __init__(
        self, first: int, count: int, has: dict[Key, Array], read: Callable[[], Mapping[str, Array]]
    ):
        super().__init__(first, _Lazy(read))
        self._count, self._has = count, has

    def __len__(self) -> int:
        return self._count

    def rows_of(self, key: Key, code: int, length: int) -> RowNumbers:
        """Rows (catalog numbers) below `length` with the code `code`, ascending."""
        at = int(np.searchsorted(self._has[key], code))
        if at == len(self._has[key]) or self._has[key][at] != code:
            return np.zeros(0, np.int32)
        return super().rows_of(key, code, length)


class _Lazy(Mapping[str, Array]):
    """Arrays that are read when one is needed; until then it lists none."""

    def __init__(self, read: Callable[[], Mapping[str, Array]]) -> None:
        self._read = read
        self._known: Mapping[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if not self._known:
            self._known = self._read()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known


class RowsCache:
    """Files with rows that were read, of one state of a compacted run. Damaged entries are read again.

    Args:
        checksum: of the manifest.
    """

    def __init__(self, cache: Path, run_dir: Path, checksum: int) -> None:
        self._cache, self._run_dir = cache, run_dir
        self._folder = run_folder(cache, run_dir, VERSION)
        self._prefix = f"compact-{checksum:08x}-"
        self._is_claimed = False
        if is_own_folder(self._folder):
            touch(self._folder)

    def _path(self, first: int) -> Path:
        return self._folder / f"{self._prefix}{first}.index"

    def has(self, first: int) -> bool:
        """Whether there is a file of the rows from `first` on."""
        return self._path(first).exists()

    def get(self, first: int, count: int) -> Mapping[str, Array] | None:
        """The arrays of the rows from `first` on, or None."""
        if not is_own_folder(self._folder):
            return None
        with contextlib.suppress(ContainerError):
            arrays = read_container(self._path(first))[1]
            for name in _ALL:
                if name in arrays and len(arrays[name]) == 1:
                    arrays[name] = np.broadcast_to(arrays[name], count)
            if arrays.keys() >= _ALL and {len(arrays[name]) for name in _ALL} == {count}:
                return arrays
        return None

    def summaries(self) -> dict[int, Summary]:
        """The small tables of parts that were stored, by first step."""
        found: dict[int, Summary] = {}
        if is_own_folder(self._folder):
            with contextlib.suppress(ContainerError, pa.ArrowException):
                tables = {name: _unpacked(data) for name, data in read_container(self._summaries)[1].items()}
                for first in {name.partition("-")[0] for name in tables}:
                    found[int(first)] = Summary(*(tables[f"{first}-{name}"] for name in Summary._fields))
        return found

    def store_summaries(self, summaries: Mapping[int, Summary]) -> None:
        """Stores the small tables of parts, by first step, if possible."""
        if self._claim():
            with contextlib.suppress(OSError):
                arrays = {
                    f"{first}-{name}": _packed(table)
                    for first, summary in summaries.items()
                    for name, table in summary._asdict().items()
                }
                write_container(self._summaries, {}, arrays)

    @property
    def _summaries(self) -> Path:
        return self._folder / f"{self._prefix}summaries.index"

    def claimed(self, first: int) -> Path | None:
        """The file for the rows from `first` on, in a folder that is there; None if that is not possible."""
        return self._path(first) if self._claim() else None

    def _claim(self) -> bool:
        try:
            if not self._is_claimed:
                claim(self._cache, self._folder, self._run_dir)
                sweep(self._cache)
                self._is_claimed = True
                self._remove_others()
        except OSError:
            return False
        return True

    def _remove_others(self) -> None:
        """Removes files of earlier states of the run."""
        for path in self._folder.glob("compact-*"):
            if not path.name.startswith(self._prefix):
                with contextlib.suppress(OSError):
                    path.unlink()


def _packed(table: pa.Table) -> Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.unify_dictionaries().combine_chunks())
    return np.frombuffer(sink.getvalue(), np.uint8)


def _unpacked(data: Array) -> pa.Table:
    return pa.ipc.open_stream(data.tobytes()).read_all()


def _by_first(catalog: Catalog, tables: Sequence[pa.Table]) -> tuple[pa.Table, Array]:
    """Rows of tables together, and their order by the first snapshot that they count."""
    table = pa.concat_tables(tables).unify_dictionaries()
    worker = _mapped(table, "first_worker", _known(catalog.workers))
    return table, np.lexsort((numbers(table, "first_seq"), worker))


def _first_seen(codes: Array) -> list[int]:
    """Distinct codes, in the order in which they appear."""
    found, first = np.unique(codes, return_index=True)
    known: list[int] = found[np.argsort(first)].tolist()
    return known


def _encoded(catalog: Catalog, table: pa.Table, order: Array | slice = slice(None)) -> Array:
    """The codes of tensors, new ones where needed."""
    graph = _mapped(table, "graph", _known(catalog.tensors.graphs))
    node = _mapped(table, "node", _known(catalog.tensors.nodes))
    return catalog.tensors.encode(graph[order], node[order], numbers(table, "slot")[order])


def _tensor_totals(catalog: Catalog, table: pa.Table) -> TensorTotals:
    columns = [numbers(table, name) for name in TensorTotals._fields[1:]]
    return TensorTotals(_encoded(catalog, table), *columns)


def _step_totals(catalog: Catalog, table: pa.Table) -> StepTotals:
    columns = [numbers(table, name) for name in StepTotals._fields[1:]]
    return StepTotals(_mapped(table, "graph", catalog.tensors.graphs.intern), *columns)


def _intern(texts: StringTable, table: pa.Table, name: str, order: Array) -> None:
    """Adds the texts of a column, in the order in which they appear in `order`."""
    column = table.column(name)
    known = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    codes = _mapped(table, name, {text: code for code, text in enumerate(known)}.__getitem__)
    for code in _first_seen(codes[order]):
        texts.intern(known[code])


def _known(texts: StringTable) -> Callable[[str], int]:
    """Finds the code of a text; KeyError if it has none."""
    return {text: code for code, text in enumerate(texts.values)}.__getitem__


def _mapped(table: pa.Table, name: str, number_of: Callable[[str], int]) -> Array:
    """A number (int32) for each text of a column with dictionaries."""
    found = [np.zeros(0, np.int32)]
    for each in table.column(name).chunks:
        numbers_of_texts = np.array(list(map(number_of, each.dictionary.to_pylist())), np.int32)
        found.append(numbers_of_texts[each.indices.to_numpy()])
    return np.concatenate(found)
