"""How fast a dump is written: rows of statistics, and values next to `os.write` and `np.save`.

    python benchmarks/write.py [--quick] [--dir FOLDER] [--json FILE]

Statistics: summaries measured beforehand are logged, with a commit every few hundred rows; bytes are those of
the files, times those of the CPU. Values: arrays are written to the same folder in turn by the writer
(statistics, checksums and commits included, and again with the values alone), by plain `os.write`, and by
`np.save`. Medians of wall times are given first; the last table has the CPU time of the process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _records import Figure, report
from _table import print_table

from tensortap.core.dtypes import Array
from tensortap.core.records import Summary
from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write import writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats import batch
from tensortap.stats.summarize import summarize


def some_summaries(count: int) -> list[tuple[str, Summary]]:
    """(name, summary) as of a network's tensors: names in scopes, normal and ReLU values of many scales."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(count):
        values = rng.standard_normal(2000).astype(np.float32) * 10 ** rng.uniform(-3, 1)
        name = f"model/block_{i // 8}/dense_{i % 8}/{('MatMul', 'Relu')[i % 2]}:0"
        found.append((name, summarize(np.maximum(values, 0) if i % 2 else values)))
    return found


def write_rows(folder: Path, rows: int, per_commit: int) -> tuple[float, float, float]:
    """(CPU seconds of writing, bytes, CPU seconds of reading all back)."""
    summaries = some_summaries(200)
    writer.COMMIT_ROWS = writer.SOON_ROWS = per_commit
    writer.COMMIT_SECONDS = 1e9
    with DumpWriter(folder) as w:
        start = time.thread_time()
        for row in range(rows):
            name, summary = summaries[row % 200]
            w.log_summary(name, summary, step=row // 200, device="/device:CPU:0")
        w.flush()
        seconds = time.thread_time() - start
    size = sum(file.stat().st_size for file in folder.rglob("stats-*.arrows"))
    run = RunReader(w.run_dir)
    start = time.thread_time()
    commits = run.tail(run.workers()[0].worker).poll()
    reading = time.thread_time() - start
    assert sum(commit.batch.num_rows for commit in commits) == rows
    return seconds, size, reading


def measure_rows(base: Path, rows: int) -> None:
    table = []
    for per_commit in (1, 10, 100, 500):
        count = rows if per_commit > 1 else rows // 10
        folder = Path(tempfile.mkdtemp(dir=base))
        seconds, size, reading = write_rows(folder, count, per_commit)
        shutil.rmtree(folder)
        table.append(
            [
                f"{per_commit}",
                f"{count / seconds:,.0f}",
                f"{seconds / count * 1e6:.1f}",
                f"{size / count:.0f}",
                f"{reading / count * 1e6:.1f}",
            ]
        )
    head = ["rows per commit", "rows/s", "us/row", "bytes/row", "us/row to read back"]
    print_table("Statistics", head, table)


def write_steps(folder: Path, tensors: int, steps: int) -> tuple[float, float, float, int]:
    """(CPU seconds of writing, bytes, CPU seconds of reading all back, commits) of steps."""
    rng = np.random.default_rng(0)
    scales = [10 ** rng.uniform(-3, 1) for _ in range(tensors)]
    arrays = [[rng.standard_normal(200).astype(np.float32) * scale for scale in scales] for _ in range(8)]
    names = [f"model/block_{i // 8}/dense_{i % 8}/MatMul:0" for i in range(tensors)]
    with DumpWriter(folder) as w:
        start = time.thread_time()
        for step in range(steps):
            logged = zip(names, arrays[step % 8], strict=True)
            w.log_many(
                [Snapshot(name, array, None, "/device:CPU:0", "summary") for name, array in logged], step=step
            )
        w.flush()
        seconds = time.thread_time() - start
    size = sum(file.stat().st_size for file in folder.rglob("stats-*.arrows"))
    run = RunReader(w.run_dir)
    start = time.thread_time()
    commits = run.tail(run.workers()[0].worker).poll()
    return seconds, size, time.thread_time() - start, len(commits)


def measure_steps(base: Path, rows: int, rounds: int) -> list[Figure]:
    table, figures = [], []
    for tensors in (10, 100, 250, 1000):
        found = []
        for _ in range(rounds):
            folder = Path(tempfile.mkdtemp(dir=base))
            found.append(write_steps(folder, tensors, rows // tensors))
            shutil.rmtree(folder)
        seconds, size, reading, commits = sorted(found)[rounds // 2]
        each = [f"{seconds / rows * 1e6:.1f}", f"{size / rows:.0f}", f"{reading / rows * 1e6:.1f}"]
        table.append([f"{tensors}", *each, f"{rows / commits:.0f}"])
        figures.append(Figure(f"summary of 800 bytes, {tensors} a step", "us", seconds / rows * 1e6))
    head = ["tensors a step", "us/row", "bytes/row", "us/row to read back", "rows per commit"]
    print_table("Steps of summaries, measured and committed as they come", head, table)
    return figures


def with_writer(folder: Path, arrays: list[Array]) -> None:
    with DumpWriter(folder) as w:
        for step, array in enumerate(arrays):
            w.log("x:0", array, step=step)


def values_only(folder: Path, arrays: list[Array]) -> None:
    """The writer with summaries that were measured before."""
    known = {id(array): summarize(array) for array in arrays[:1]}
    summary = known[id(arrays[0])]
    measured = batch.summarize_normal
    batch.summarize_normal = lambda values, dtype: summary
    try:
        with_writer(folder, arrays)
    finally:
        batch.summarize_normal = measured


def with_os_write(folder: Path, arrays: list[Array]) -> None:
    fd = os.open(folder / "plain", os.O_WRONLY | os.O_CREAT)
    for array in arrays:
        view = memoryview(array).cast("B")
        while view.nbytes:
            view = view[os.write(fd, view) :]
    os.close(fd)


def with_np_save(folder: Path, arrays: list[Array]) -> None:
    for step, array in enumerate(arrays):
        np.save(folder / f"{step}.npy", array)


WAYS: dict[str, Callable[[Path, list[Array]], None]] = {
    "os.write": with_os_write,
    "np.save": with_np_save,
    "DumpWriter": with_writer,
    "values alone": values_only,
}


def measure_values(base: Path, total: int, rounds: int) -> list[Figure]:
    rng = np.random.default_rng(0)
    table, figures = [], []
    for size in (4 << 10, 64 << 10, 1 << 20, 16 << 20):
        arrays = [rng.standard_normal(size // 4, dtype=np.float32)] * max(1, min(total // size, 2000))
        times: dict[str, list[float]] = {name: [] for name in WAYS}
        cpu: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(rounds):
            for name, way in WAYS.items():
                folder = Path(tempfile.mkdtemp(dir=base))
                start, worked = time.perf_counter(), time.process_time()
                way(folder, arrays)
                times[name].append(time.perf_counter() - start)
                cpu[name].append((time.process_time() - worked) / len(arrays) * 1e6)
                shutil.rmtree(folder)
        limit, peer, now, _ = (sorted(found)[rounds // 2] for found in cpu.values())
        figures.append(Figure(f"value of {size >> 10:,} KiB", "us", now, limit, peer))
        medians = {name: sorted(found)[rounds // 2] for name, found in times.items()}
        speeds = {name: size * len(arrays) / seconds / 1e6 for name, seconds in medians.items()}
        table.append(
            [
                f"{size >> 10:,} KiB",
                *(f"{speeds[name]:,.0f}" for name in WAYS),
                f"{speeds['DumpWriter'] / speeds['os.write']:.2f}",
                f"{speeds['values alone'] / speeds['os.write']:.2f}",
                f"{speeds['DumpWriter'] / speeds['np.save']:.2f}",
            ]
        )
    head = ["float32 values of", *(f"{name} MB/s" for name in WAYS)]
    print_table("Values", [*head, "of os.write", "alone of os.write", "of np.save"], table)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, fewer bytes")
    parser.add_argument(
        "--dir", type=Path, help="folder to write to (default: the system's temporary folder)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a record to this file")
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(dir=options.dir))
    try:
        figures = measure_values(base, (32 if options.quick else 256) << 20, 3 if options.quick else 5)
        figures += measure_steps(base, 20_000 if options.quick else 100_000, 3 if options.quick else 5)
        report("write", figures, options.json)
        measure_rows(base, 10_000 if options.quick else 100_000)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
