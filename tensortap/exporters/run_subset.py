"""Some snapshots of a run as a run of their own: summaries, kept values, graphs, events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, InvalidValueError, ValueNotKeptError
from tensortap.core.records import COUNTS, STATISTICS, Summary
from tensortap.dump.format.events import EventsTail
from tensortap.dump.format.schema import LOST, REFUSED
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.catalog.tensor_table import NO_GRAPH
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import find_histogram, read_slice, stored_sample

from .base import Advance

_AT_ONCE = 1000  # snapshots
_LOST = {"refused": REFUSED, "damaged": LOST}  # what became of a value, by `Snapshot.no_value`
_NAMED = {"kind", "step"}  # what `event` takes by itself


def copy_part(run: RunIndex, rows: Array, logdir: Path, name: str, advance: Advance) -> list[str]:
    """Writes the run `name` below `logdir`; returns sentences about values that are lost.

    What several workers captured becomes one worker's; steps, visits, times, devices and values stay.
    """
    left_out: list[str] = []
    info = run.info | {"exported from": run.name}
    with DumpWriter(logdir, name, info=info) as writer:
        graphs = _copy_graphs(run, writer, left_out)
        _copy_events(run, writer, set(run.catalog.column("step", rows).tolist()), left_out)
        for start in range(0, len(rows), _AT_ONCE):
            for snapshot in snapshots_at(run.catalog, rows[start : start + _AT_ONCE]):
                place: dict[str, Any] = {
                    "step": snapshot.step,
                    "visit": snapshot.visit,
                    "graph": graphs.get(snapshot.graph, ""),
                    "device": snapshot.device,
                    "time": snapshot.time,
                }
                try:
                    _copy(run, writer, snapshot, place)
                except (DamagedError, ValueNotKeptError) as error:
                    left_out.append(f"{snapshot.tensor} at step {snapshot.step}: {error.message}")
                    writer.log_summary(snapshot.tensor, _summary(run, snapshot), kept=LOST, **place)
            advance(min(start + _AT_ONCE, len(rows)), len(rows))
    return left_out


def _copy(run: RunIndex, writer: DumpWriter, snapshot: Snapshot, place: dict[str, Any]) -> None:
    sample = stored_sample(run, snapshot)
    if snapshot.kept and sample is None:
        writer.log(snapshot.tensor, read_slice(run, snapshot), **place)
        return
    lost = _LOST.get(snapshot.no_value)
    kept = lost if sample is None else (read_slice(run, snapshot), sample)
    writer.log_summary(snapshot.tensor, _summary(run, snapshot), kept=kept, **place)


def _copy_events(run: RunIndex, writer: DumpWriter, steps: set[int], left_out: list[str]) -> None:
    """What happened at the steps that are copied, and to the run as a whole, as it was told."""
    for worker in RunReader(run.path).workers():
        tail = EventsTail(run.path, worker.worker)
        while records := tail.poll():
            for record in records:
                kind, step = record.get("kind"), record.get("step")
                of_part = step is None or (isinstance(step, int) and step in steps)
                if not isinstance(kind, str) or not of_part:
                    continue
                try:
                    writer.event(kind, step=step, **{name: record[name] for name in record.keys() - _NAMED})
                except InvalidValueError as error:
                    left_out.append(f"an event at step {step}: {error.message}")
        left_out += tail.left_out


def _summary(run: RunIndex, snapshot: Snapshot) -> Summary:
    names = ("dtype", "shape", "size", *COUNTS, *STATISTICS)
    return Summary(
        **{name: getattr(snapshot, name) for name in names}, histogram=find_histogram(run, snapshot)
    )


def _copy_graphs(run: RunIndex, writer: DumpWriter, left_out: list[str]) -> dict[str, str]:
    reader, ids = RunReader(run.path), {NO_GRAPH: ""}
    for graph_id in reader.graph_ids():
        try:
            ids[graph_id] = writer.graph(reader.graph(graph_id))
        except DamagedError as error:
            left_out.append(f"graph {graph_id}: {error.message}")
    return ids
