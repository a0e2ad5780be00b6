"""What compacting a run costs: CPU, memory, bytes per snapshot, compared with reading the streams.

    python benchmarks/compact.py [--snapshots 1000000] [--tensors 500] [--workers 4] [--rounds 3]

The run is written by several workers. Each measurement is a separate process, and its figures are medians
of some rounds, in turn: *read* decodes and verifies all statistics as an index does; *compact* writes the
run again in one process; *2 processes* does so in two; *two runs at once* is the limit of this machine:
two runs compacted at the same time, in one process each; *add 10 %* compacts it again after a further worker
wrote that much; the queries are SQL over what is compacted.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _table import print_table

from tensortap.core.records import Summary
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import summarize

VARIANTS = 200  # different summaries of a tensor
QUERIES = {
    "one step": "SELECT tensor, mean FROM snapshots WHERE step = {step}",
    "history": "SELECT step, mean FROM snapshots WHERE tensor = 'model/block_0/dense_1/Relu:0' ORDER BY step",
    "condition": "SELECT count(*) FROM snapshots WHERE abs_max > 3 AND nan = 0",
    "overview": "SELECT tensor, snapshots, abs_max FROM by_tensor",
}


def some_summaries(tensors: int, each: int) -> list[tuple[str, list[Summary]]]:
    """(name, summaries) as of a network's tensors."""
    rng = np.random.default_rng(0)
    found = []
    for number in range(tensors):
        name = f"model/block_{number // 8}/dense_{number % 8}/{('MatMul', 'Relu')[number % 2]}:0"
        arrays = [rng.standard_normal(500).astype(np.float32) * 10 ** rng.uniform(-3, 1) for _ in range(each)]
        found.append((name, [summarize(np.maximum(a, 0) if number % 2 else a) for a in arrays]))
    return found


def write_run(folder: Path, snapshots: int, tensors: int, workers: int) -> None:
    steps = snapshots // tensors // workers
    each = min(steps, VARIANTS)
    summaries = some_summaries(tensors, each)
    for rank in range(workers):
        with DumpWriter(folder, run="r", rank=rank) as writer:
            for step in range(steps):
                for name, several in summaries:
                    writer.log_summary(
                        name, several[(step + 7 * rank) % each], step=step, device="/device:GPU:0"
                    )


def read_streams(run_dir: Path) -> int:
    rows = 0
    reader = RunReader(run_dir)
    for info in reader.workers():
        tail = reader.tail(info.worker)
        while commits := tail.poll(max_bytes=16 << 20):
            rows += sum(commit.batch.num_rows for commit in commits)
    return rows


def compact(run_dir: Path, processes: int, rebuild: bool) -> int:
    from tensortap.compact.compactor import compact_run
    from tensortap.scale.registry import open_engine

    with open_engine(processes=processes) as engine:
        return compact_run(run_dir, engine, rebuild=rebuild).bytes


def ask(run_dir: Path, query: str) -> int:
    from tensortap.compact.queries import query_run

    return query_run(run_dir, query).num_rows


def measured(work: Callable[[], int]) -> dict[str, float]:
    """CPU seconds (children included), seconds, peak memory of one process, and what the work returned."""
    before, start = cpu_seconds(), time.perf_counter()
    answer = work()
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "cpu": cpu_seconds() - before,
        "wall": time.perf_counter() - start,
        "peak": peak / 1024,
        "answer": answer,
    }


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def work(what: str, run_dir: Path) -> int:
    if what == "read":
        return read_streams(run_dir)
    if what in ("compact", "2 processes"):
        return compact(run_dir, 2 if what == "2 processes" else 1, rebuild=True)
    if what == "add":
        return compact(run_dir, 1, rebuild=False)
    return ask(run_dir, what)


def in_a_process_of_its_own(what: str, run_dir: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", what, str(run_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def two_at_once(run_dir: Path, other: Path) -> dict[str, float]:
    """A run of two, each compacted in one process at the same time."""
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(in_a_process_of_its_own, ("compact", "compact"), (run_dir, other))
    wall = max(one["wall"], two["wall"]) / 2
    return {**one, "cpu": (one["cpu"] + two["cpu"]) / 2, "wall": wall}


def median_of(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(each[name] for each in found) for name in found[0]}


def measure(base: Path, snapshots: int, tensors: int, workers: int, rounds: int) -> None:
    write_run(base, snapshots, tensors, workers)
    run_dir = base / "r"
    streams = sum(path.stat().st_size for path in run_dir.rglob("stats-*.arrows"))
    kinds = ("read", "compact", "2 processes")
    times: dict[str, list[dict[str, float]]] = {kind: [] for kind in (*kinds, "two runs at once")}
    other = shutil.copytree(run_dir, base / "other")
    for _ in range(rounds):
        for kind in kinds:
            times[kind].append(in_a_process_of_its_own(kind, run_dir))
        times["two runs at once"].append(two_at_once(run_dir, other))
    shutil.rmtree(other)
    medians = {kind: median_of(found) for kind, found in times.items()}
    size = medians["compact"]["answer"]
    queries = {
        name: median_of(
            [
                in_a_process_of_its_own(query.format(step=snapshots // tensors // workers // 2), run_dir)
                for _ in range(rounds)
            ]
        )
        for name, query in QUERIES.items()
    }
    write_run(base, snapshots // 10, tensors, 1)
    medians["add 10 %"] = in_a_process_of_its_own("add", run_dir)
    million = snapshots / 1e6
    table = [
        [kind, f"{each['cpu'] / million:.1f}", f"{each['wall'] / million:.1f}", f"{each['peak']:,.0f}"]
        for kind, each in medians.items()
    ]
    title = (
        f"{snapshots:,} snapshots of {workers} workers: {streams / snapshots:.0f} bytes per "
        "snapshot in streams"
    )
    head = ["", "CPU s a million", "s a million", "peak MB per process"]
    print_table(f"{title}, {size / snapshots:.0f} compacted", head, table)
    rows = [
        [name, f"{each['wall'] * 1e3:.0f}", f"{each['cpu'] * 1e3:.0f}", f"{each['answer']:,.0f}"]
        for name, each in queries.items()
    ]
    print_table("SQL, with checksums of the files verified first", ["", "ms", "CPU ms", "rows"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--snapshots", type=int, default=1_000_000)
    parser.add_argument("--tensors", type=int, default=500)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path, help="folder to write to (default: the temporary folder)")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, run_dir = options.measure
        print(json.dumps(measured(lambda: work(what, Path(run_dir)))))
        return
    base = Path(tempfile.mkdtemp(dir=options.dir))
    try:
        measure(base, options.snapshots, options.tensors, options.workers, options.rounds)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
