"""Runs for tests of compaction, and what their compacted files hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tensortap.compact.compactor import Compaction, compact_run
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter
from tensortap.scale.registry import open_engine

ORDER = [(name, "ascending") for name in ("graph", "node", "slot", "step", "visit", "worker", "seq")]
NOT_COMPACTED = ("value", "value_blocks")


def write_worker(logdir: Path, steps: Iterable[int], tensors: int = 6, rank: int = 0, seed: int = 0) -> str:
    """Adds a worker to the run `r`; returns its name. Some tensors hold NaN, are text or empty."""
    rng = np.random.default_rng([seed, rank])
    with DumpWriter(logdir, run="r", rank=rank) as writer:
        for step in steps:
            for number in range(tensors):
                values = rng.standard_normal(40).astype(np.float32) * 10.0**number
                if number == 1:
                    values[: step % 3] = [np.nan, np.inf][: step % 3]
                writer.log(f"block_{number % 3}/op_{number}", values, step=step, keep="summary")
            writer.log("names", np.array(["a", "b"]), step=step, keep="summary")
            writer.log("empty", np.zeros((0, 3)), step=step, keep="summary")
        return writer.worker


def compact(run_dir: Path, *, rebuild: bool = False) -> Compaction:
    """Compacts a run in this process."""
    with open_engine(processes=1) as engine:
        return compact_run(run_dir, engine, rebuild=rebuild)


def copied(logdir: Path, to: Path, *names: str) -> Path:
    """A copy of a log directory with the run `r`, without its workers; or only with what is named."""
    wanted = names or ("run.json", "graphs", "compact")
    (to / "r").mkdir(parents=True)
    for path in (logdir / "r" / name for name in wanted):
        if path.is_dir():
            shutil.copytree(path, to / "r" / path.name)
        elif path.exists():
            shutil.copy(path, to / "r")
    return to


def manifest_of(run_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_dir / "compact/manifest.json").read_text())
    return found


def files_of(run_dir: Path, table: str) -> list[Path]:
    """The files of a table, in the order of their steps."""
    return [run_dir / "compact" / part[table]["file"] for part in manifest_of(run_dir)["parts"]]


def compacted(run_dir: Path, table: str) -> pa.Table:
    return pa.concat_tables(pq.read_table(path) for path in files_of(run_dir, table))


def by_tensor(run_dir: Path) -> pa.Table:
    return pq.read_table(run_dir / "compact" / manifest_of(run_dir)["by_tensor"]["file"])


def streamed(run_dir: Path) -> pa.Table:
    """All rows of the streams, sorted as compacted rows are."""
    reader = RunReader(run_dir)
    pieces = []
    for info in reader.workers():
        for commit in reader.tail(info.worker).poll():
            rows = pa.Table.from_batches([commit.batch])
            pieces.append(rows.append_column("worker", pa.array([info.worker] * rows.num_rows)))
    return pa.concat_tables(pieces).drop_columns(list(NOT_COMPACTED)).sort_by(ORDER)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Rows that can be compared: NaN as text."""
    return [
        {name: "nan" if value != value else value for name, value in row.items()} for row in table.to_pylist()
    ]
