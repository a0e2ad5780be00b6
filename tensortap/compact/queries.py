"""SQL over a run: DuckDB reads the compacted files, and newer data from the streams.

Queries only read: one SELECT, which opens no file but those of the run's `compact/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.errors import DamagedError, FormatVersionError, SelectionError
from tensortap.core.text import did_you_mean
from tensortap.dump.format.layout import missing_statistics
from tensortap.dump.format.run_files import CLOSED_FILE, worker_info, wrong_total
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS, SCHEMA
from tensortap.dump.read.runs import RunReader
from tensortap.storage.entry import Entry
from tensortap.storage.filesystem import scan
from tensortap.storage.uri import is_remote

from .manifest import CompactFile, Manifest, has_streams, read_manifest, read_parquet, read_verified, verify
from .parts import ROW_COLUMNS, STREAM_COLUMNS, stream_rows
from .rollups import SNAPSHOT, TENSOR, order_of, roll_up, with_dictionaries

if TYPE_CHECKING:
    import duckdb

TABLES = ("snapshots", "histograms", "by_step", "by_tensor", "workers")
_POLL = 16 << 20  # decoded bytes of the streams at a time
_HINT = f"Use one SELECT over the tables {', '.join(TABLES)}; see 'tensortap sql --help'."
_NO_TABLE = re.compile(r"(Catalog Error: Table with name (.*) does not exist!) Did you mean \"(.*)\"\?")


def query_run(
    run_dir: Path,
    query: str,
    damage: Callable[[Sequence[str]], None] | None = None,
    dropped: Callable[[int], None] | None = None,
) -> pa.Table:
    """Run a SELECT over the tables `TABLES` (docs/commands.md has their columns).

    Args:
        damage: called with sentences about what could not be read, and is missing in the tables.
        dropped: called with the number of snapshots and recordings that the workers report as lost.

    Raises:
        SelectionError: it is not a SELECT, or DuckDB rejects it. DamagedError: a compacted file is damaged.
        NotARunError, FormatVersionError: the run does not exist or is too new.
    """
    import duckdb

    try:
        statements = duckdb.extract_statements(query)
        if [each.type for each in statements] != [duckdb.StatementType.SELECT]:  # EXPLAIN ANALYZE may write
            raise SelectionError("Only a single SELECT is allowed; runs are read-only.", _HINT)
        with _connect(run_dir, query, damage, dropped) as connection:
            return _plain_numbers(connection.execute(query).to_arrow_table())
    except duckdb.Error as error:
        raise SelectionError(_sentence(str(error)), _HINT) from error


def _sentence(error: str) -> str:
    """The first lines of an error of DuckDB, which may suggest an internal table (`pg_enum`)."""
    text = " ".join(error.partition("\n\n")[0].split())[:500]
    missing = _NO_TABLE.fullmatch(text)
    if missing is None or missing[3] in TABLES:
        return text
    return f"{missing[1]} {did_you_mean(missing[2], TABLES, '')}".rstrip()


def _plain_numbers(table: pa.Table) -> pa.Table:
    """Decimals, as sums of counts are, as int64 where they all fit, or else as float64."""
    for at, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            column = table.column(at)
            try:
                column = column.cast(pa.int64())
            except pa.ArrowInvalid:
                column = column.cast(pa.float64())
            table = table.set_column(at, field.name, column)
    return table


@contextmanager
def _connect(
    run_dir: Path,
    query: str,
    damage: Callable[[Sequence[str]], None] | None,
    dropped: Callable[[int], None] | None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with the tables of a query, without access to anything else."""
    import duckdb

    reader = RunReader(run_dir)
    manifest = _manifest(run_dir)
    with duckdb.connect(":memory:") as connection:
        tables = _Tables(connection, run_dir, reader, manifest, query.lower())
        tables.make()
        if damage is not None:
            damage(tables.damage)
        if dropped is not None:
            dropped(sum(tables.dropped.values()))
        files = ", ".join(map(_quoted, tables.files))
        connection.execute(f"SET allowed_paths = [{files}]")
        for setting in (
            "TimeZone = 'UTC'",
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "temp_directory = ''",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        yield connection


def _manifest(run_dir: Path) -> Manifest:
    """The compacted data, if it fits the streams or replaces them; empty if everything must be read from the
    streams.

    Raises:
        DamagedError, FormatVersionError: it is unreadable, and there are no streams.
    """
    alone = not has_streams(run_dir)
    try:
        found = read_manifest(run_dir)
    except (DamagedError, FormatVersionError):
        if alone:
            raise
        return Manifest()
    if found is None or alone:
        return found or Manifest()
    return found if _is_local(run_dir) and found.fits(run_dir) else Manifest()


def _is_local(run_dir: Path) -> bool:
    """Whether a run is in a folder of this machine: neither at an address, nor in an archive."""
    return not is_remote(run_dir) and run_dir.is_dir()


class _Tables:
    """Makes views and tables of a connection."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        run_dir: Path,
        reader: RunReader,
        manifest: Manifest,
        query: str,
    ) -> None:
        self._connection, self._run_dir = connection, run_dir
        self._reader, self._manifest, self._query = reader, manifest, query
        self.files: list[str] = []  # that DuckDB opens
        # Sentences about what is missing, or of another run.
        self.damage = [*manifest.damage, *reader.missing_folders().values()]
        self.damage += filter(None, [reader.info().damage])
        self.dropped = {worker: mark.position.dropped for worker, mark in manifest.workers.items()}
        self._tables: list[pa.Table] = []  # of files that it cannot open

    def make(self) -> None:
        histograms = "histograms" in self._query
        tail = self._tail([name for name in STREAM_COLUMNS if histograms or name not in HISTOGRAM_COLUMNS])
        parts = self._manifest.parts
        self._union("snapshot_rows", ROW_COLUMNS, [part.rows for part in parts], tail.select(ROW_COLUMNS))
        self._with_tensor("snapshots", "snapshot_rows")
        if histograms:
            names = [*SNAPSHOT, *HISTOGRAM_COLUMNS]
            self._union("histogram_rows", names, [part.histograms for part in parts], tail.select(names))
            self._with_tensor("histograms", "histogram_rows")
        if "by_step" in self._query or "by_tensor" in self._query:
            self._make_rollups(tail)
        if "workers" in self._query:
            self._connection.register("workers", self._workers())

    def _tail(self, columns: Sequence[str]) -> pa.Table:
        """Rows that are not compacted."""
        pieces = []
        for info in self._reader.workers():
            tail = self._reader.tail(info.worker)
            mark = self._manifest.workers.get(info.worker)
            if mark is not None:
                tail.resume(mark.position)
            count = 0 if mark is None else mark.snapshots
            while commits := tail.poll(columns, _POLL):
                count += sum(commit.batch.num_rows for commit in commits)
                pieces.append(stream_rows([commit.batch for commit in commits], info.worker))
            self.dropped[info.worker] = tail.dropped
            missing = [*tail.damage, *filter(None, [tail.denied])]
            if tail.closed and not missing:
                missing = wrong_total(self._run_dir / info.worker, count)
            entries = _entries(self._run_dir / info.worker)
            if tail.pending and not info.is_live(self._run_dir / info.worker, entries):
                missing.append(f"{info.worker}: {tail.pending}")
            names = [entry.name for entry in entries]
            if not (tail.closed or tail.denied) and CLOSED_FILE in names:
                closed = f"{info.worker} was closed, but its statistics are truncated."
                missing.append(f"{closed} {tail.pending or ''}".strip())
            elif mark is None:
                missing += missing_statistics(info.worker, entries)
            missing += filter(None, [info.damage])
            self.damage += [sentence for sentence in missing if sentence not in self.damage]
        if not pieces:
            return stream_rows([_no_rows(columns)], "")
        return pa.concat_tables(pieces)

    def _union(self, view: str, names: Sequence[str], files: Sequence[CompactFile], tail: pa.Table) -> None:
        """A view of some files and rows."""
        self._connection.register(f"{view}_tail", tail)
        columns = ", ".join(names)
        sources = [f"SELECT {columns} FROM {view}_tail"] if tail.num_rows or not files else []
        sources += [f"SELECT {columns} FROM {self._parquet(files)}"] if files else []
        self._connection.execute(f"CREATE VIEW {view} AS {' UNION ALL '.join(sources)}")

    def _with_tensor(self, view: str, source: str) -> None:
        """A view with names of tensors, and NULL for NaN: the statistics of Parquet files, from which DuckDB
        takes maxima and compares whole files, omit NaN.
        """
        columns = self._connection.sql(f"FROM {source}")
        floats = [name for name, kind in zip(columns.columns, columns.types, strict=True) if kind == "DOUBLE"]
        known = ", ".join(f"if(isnan({name}), NULL, {name}) AS {name}" for name in floats)
        self._connection.execute(
            f"CREATE VIEW {view} AS SELECT node || ':' || slot AS tensor,"
            f" * {f'REPLACE ({known})' if floats else ''} FROM {source}"
        )

    def _make_rollups(self, tail: pa.Table) -> None:
        """`by_step`, and `by_tensor`: compacted, but for the steps that have newer rows."""
        steps = pc.unique(tail.column("step"))
        self._connection.register("tail_steps", pa.table({"step": steps}))
        newer = self._connection.execute(
            "SELECT * FROM snapshot_rows WHERE step IN (SELECT step FROM tail_steps)"
        ).to_arrow_table()
        newer = _sorted(newer, (*SNAPSHOT, "seq"))
        rolled = roll_up(newer, (*TENSOR, "step"))
        self._union("by_step_rows", rolled.column_names, [], rolled)
        files = [part.by_step for part in self._manifest.parts]
        if files:
            columns = ", ".join(rolled.column_names)
            old = f"FROM {self._parquet(files)} WHERE step NOT IN (SELECT step FROM tail_steps)"
            self._connection.execute(
                f"CREATE OR REPLACE VIEW by_step_rows AS"
                f" SELECT {columns} FROM by_step_rows_tail UNION ALL SELECT {columns} {old}"
            )
        self._with_tensor("by_step", "by_step_rows")
        if "by_tensor" in self._query:
            if self._manifest.by_tensor is not None and not len(steps):
                source = self._parquet([self._manifest.by_tensor])
            else:
                whole = self._connection.execute("SELECT * FROM by_step_rows").to_arrow_table()
                self._connection.register(
                    "by_tensor_rows", roll_up(_sorted(whole, (*TENSOR, "step")), TENSOR)
                )
                source = "by_tensor_rows"
            self._with_tensor("by_tensor", source)

    def _parquet(self, files: Sequence[CompactFile]) -> str:
        """SQL that reads some files, after verifying them."""
        if not _is_local(self._run_dir):
            name = f"files_{len(self._tables)}"
            pieces = [read_parquet(read_verified(self._run_dir, file)) for file in files]
            self._tables.append(pa.concat_tables(pieces))
            self._connection.register(name, self._tables[-1])
            return name
        patterns = []
        for file in files:
            path = str(verify(self._run_dir, file).absolute())
            pattern = re.sub(r"([*?\[])", r"[\1]", path)
            self.files += [path, pattern]
            patterns.append(_quoted(pattern))
        return f"read_parquet([{', '.join(patterns)}])"

    def _workers(self) -> pa.Table:
        known = [worker_info(name, mark.about) for name, mark in self._manifest.workers.items()]
        found = {info.worker: info for info in [*known, *self._reader.workers()]}
        workers = sorted(found.values(), key=lambda info: (info.started, info.worker))
        return pa.table(
            {
                "worker": pa.array([each.worker for each in workers], pa.string()),
                "host": pa.array([each.host for each in workers], pa.string()),
                "pid": pa.array([each.pid for each in workers], pa.int64()),
                "rank": pa.array([each.rank for each in workers], pa.int64()),
                "started": pa.array([each.started for each in workers], pa.timestamp("us", "UTC")),
            }
        )


def _entries(folder: Path) -> list[Entry]:
    """What is in a worker's folder; nothing while it is being removed."""
    try:
        return list(scan(folder))
    except (OSError, DamagedError):
        return []


def _no_rows(columns: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=pa.schema([SCHEMA.field(name) for name in columns]))


def _sorted(table: pa.Table, names: Sequence[str]) -> pa.Table:
    table = with_dictionaries(table).combine_chunks()
    return table.take(order_of(table, names))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
