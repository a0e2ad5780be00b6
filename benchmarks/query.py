"""Opening a long run and asking it: time and memory, against TensorBoard's EventAccumulator.

    python benchmarks/query.py [--snapshots 200000] [--tensors 200] [--no-tensorboard]

Both read the same summaries, one after the other, each in a separate process, imports not counted;
TensorBoard gets only their histograms. Read the ratios: times depend on the machine and what else it does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.records import Summary
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import summarize

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorBoard imports TensorFlow, if it is there

Measured = dict[str, float]

_REPEATS = 9
_COMMIT = 100  # rows; what a training process that logs without pause commits


def rows(snapshots: int, tensors: int) -> Iterator[tuple[int, str, Summary]]:
    """(step, tensor name, summary) of a synthetic run; one NaN at three quarters of it."""
    rng = np.random.default_rng(0)
    scales = 10.0 ** rng.uniform(-3, 1, 64)
    summaries = [summarize(rng.normal(size=2000).astype(np.float32) * scale) for scale in scales]
    steps = snapshots // tensors
    for step in range(steps):
        for number in range(tensors):
            summary = summaries[(step * 7 + number) % len(summaries)]
            if (step, number) == (steps * 3 // 4, tensors // 2):
                summary = replace(summary, nan=3)
            yield step, f"model/block_{number // 8}/layer_{number % 8}/Relu:0", summary


def write_dump(folder: Path, snapshots: int, tensors: int) -> None:
    with DumpWriter(folder) as writer:
        for step, name, summary in rows(snapshots, tensors):
            writer.log_summary(name, summary, step=step)


def write_events(folder: Path, snapshots: int, tensors: int) -> None:
    """Histogram summaries as TensorFlow 1 and PyTorch write them, which EventAccumulator reads fastest."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import HistogramProto
    from tensorboard.compat.proto.summary_pb2 import Summary as SummaryProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    for step, name, summary in rows(snapshots, tensors):
        buckets = summary.histogram.buckets()
        proto = HistogramProto(min=summary.min, max=summary.max, num=summary.size)
        proto.sum, proto.sum_squares = summary.mean * summary.size, summary.l2**2
        proto.bucket_limit.extend(right for _, right, _ in buckets)
        proto.bucket.extend(count for _, _, count in buckets)
        value = SummaryProto.Value(tag=name, histo=proto)
        writer.add_event(Event(step=step, wall_time=float(step), summary=SummaryProto(value=[value])))
    writer.close()


def timed(ask: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of the first call, and the median of the following ones."""
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - start) * 1e3)
    return taken[0], float(np.median(taken[1:]))


def opened(open_it: Callable[[], Any]) -> Measured:
    """Wall and CPU seconds, and MB of memory, that opening takes."""
    memory = resident()
    wall, cpu = time.perf_counter(), time.process_time()
    open_it()
    return {
        "open, s": time.perf_counter() - wall,
        "open, CPU s": time.process_time() - cpu,
        "memory, MB": resident() - memory,
        "peak, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def ask_tensortap(folder: Path, tensor: str) -> Measured:
    from tensortap.index.logdir_index import LogIndex
    from tensortap.index.query.search import snapshots
    from tensortap.index.series.histograms import histograms
    from tensortap.index.series.history import history
    from tensortap.index.series.step_statistics import step_statistics

    log = LogIndex(folder)
    found = opened(log.refresh)
    (run,) = log.runs
    step = int(run.steps.step[len(run.steps) // 2])
    questions: dict[str, Callable[[], Any]] = {
        "history": lambda: history(run, tensor),
        "histograms, 100 steps": lambda: histograms(run, tensor, limit=100),
        "one step": lambda: step_statistics(run, "-", step),
        "find by pattern": lambda: snapshots(run, match="block_1/.*Relu", sort="-abs_max", limit=100),
        "first NaN": lambda: snapshots(run, where="nan > 0", limit=1),
        "nothing new (poll)": log.refresh,
    }
    for name, ask in questions.items():
        found[f"{name}, first, ms"], found[f"{name}, ms"] = timed(ask)
    return found


def ask_tensorboard(folder: Path, tensor: str) -> Measured:
    from tensorboard.backend.event_processing.event_accumulator import HISTOGRAMS, EventAccumulator

    with tempfile.TemporaryDirectory() as empty:  # imports TensorFlow, if it is there
        write_events(Path(empty), 1, 1)
        EventAccumulator(empty).Reload()
    events = EventAccumulator(str(folder), size_guidance={HISTOGRAMS: 0})
    found = opened(events.Reload)
    found["histograms, 100 steps, first, ms"], found["histograms, 100 steps, ms"] = timed(
        lambda: events.Histograms(tensor)[::10]
    )
    found["nothing new (poll), first, ms"], found["nothing new (poll), ms"] = timed(events.Reload)
    return found


READERS = {"tensortap": ask_tensortap, "tensorboard": ask_tensorboard}


def in_a_process_of_its_own(reader: str, folder: Path, tensor: str) -> Measured:
    command = [sys.executable, __file__, "--ask", reader, str(folder), tensor]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    measured: Measured = json.loads(done.stdout)
    return measured


def print_table(results: dict[str, Measured]) -> None:
    ours, theirs = results["tensortap"], results.get("tensorboard", {})
    print(f"{'':34}{'tensortap':>12}{'TensorBoard':>14}{'ratio':>8}")
    for name, value in ours.items():
        other = theirs.get(name)
        ratio = "" if other is None or not value else f"{other / value:8.2f}"
        print(f"{name:34}{value:12.3f}{'-' if other is None else format(other, '.3f'):>14}{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--snapshots", type=int, default=200_000)
    parser.add_argument("--tensors", type=int, default=200)
    parser.add_argument("--no-tensorboard", action="store_true", help="skip the comparison")
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        reader, folder, tensor = options.ask
        print(json.dumps(READERS[reader](Path(folder), tensor)))
        return
    with tempfile.TemporaryDirectory() as folder:
        dump, events = Path(folder, "dump"), Path(folder, "events")
        write_dump(dump, options.snapshots, options.tensors)
        tensor = next(name for _, name, _ in rows(options.tensors, options.tensors))
        results = {"tensortap": in_a_process_of_its_own("tensortap", dump, tensor)}
        if not options.no_tensorboard:
            write_events(events, options.snapshots, options.tensors)
            results["tensorboard"] = in_a_process_of_its_own("tensorboard", events, tensor)
        print(f"{options.snapshots:,} snapshots of {options.tensors} tensors, {_COMMIT} rows per commit")
        print_table(results)


if __name__ == "__main__":
    main()
