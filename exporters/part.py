"""Some snapshots of a run as a run of their own: summaries, kept values and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensortap.dump import COUNTS, STATISTICS, DamagedError, DumpWriter, RunReader, Summary, ValueNotKeptError
from tensortap.index import NO_GRAPH, RunIndex, Snapshot, find_histogram, read_slice, take

from .exported import Advance, Array

_AT_ONCE = 1000  # snapshots


def copy_part(run: RunIndex, rows: Array, logdir: Path, name: str, advance: Advance) -> list[str]:
    """Writes the run `name` below `logdir`; returns sentences about values that are lost.

    What several workers captured becomes one worker's; steps, visits, times, devices and values stay.
    """
    left_out: list[str] = []
    info = run.info | {"exported from": run.name}
    with DumpWriter(logdir, name, info=info) as writer:
        graphs = _copy_graphs(run, writer, left_out)
        for start in range(0, len(rows), _AT_ONCE):
            for snapshot in take(run.catalog, rows[start : start + _AT_ONCE]):
                place: dict[str, Any] = {
                    "step": snapshot.step,
                    "visit": snapshot.visit,
                    "graph": graphs.get(snapshot.graph, ""),
                    "device": snapshot.device,
                    "time": snapshot.time,
                }
                if snapshot.kept:
                    try:
                        writer.log(snapshot.tensor, read_slice(run, snapshot), **place)
                        continue
                    except (DamagedError, ValueNotKeptError) as error:
                        left_out.append(f"{snapshot.tensor} at step {snapshot.step}: {error.message}")
                writer.log_summary(snapshot.tensor, _summary(run, snapshot), **place)
            advance(min(start + _AT_ONCE, len(rows)), len(rows))
    return left_out


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
