"""TensorBoard event files: a histogram and scalars for each snapshot.

TFRecords of `Event` messages (tensorboard/compat/proto/event.proto and summary.proto).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import InvalidNameError
from tensortap.core.progress import AdvanceCount
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import find_histogram
from tensortap.tfproto.proto_classes import new_message
from tensortap.tfproto.tfrecord import frame_record

from .base import Exported, all_rows, is_free, new_file

SCALARS = ("mean", "std", "min", "max", "l2", "abs_max")
BAD = ("nan", "pos_inf", "neg_inf")
WRITER = "tensortap"  # in `source_metadata`: an import makes snapshots of the events again
_BATCH_SNAPSHOTS = 1000  # snapshots
_MAX_L2 = 1e154  # the square of larger numbers overflows float64
_TINY = 5e-324  # right of a bucket with nothing but zeros


def export_event_files(run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount) -> Exported:
    """Creates the folder `out` with one event file, in the order of steps, without graphs and values."""
    rows = all_rows(run, rows)
    rows = rows[np.argsort(run.catalog.column("step", rows), kind="stable")]
    if not is_free(out):
        raise InvalidNameError(f"{str(out)!r} exists.", "Choose a new folder.")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"events.out.tfevents.{int(run.created)}.tensortap"
    with new_file(path) as temporary, temporary.open("xb") as file:
        writer = {"writer": WRITER}
        _write(file, wall_time=run.created, file_version="brain.Event:2", source_metadata=writer)
        for start in range(0, len(rows), _BATCH_SNAPSHOTS):
            for snapshot in snapshots_at(run.catalog, rows[start : start + _BATCH_SNAPSHOTS]):
                summary = {"value": list(_values(run, snapshot))}
                _write(file, wall_time=snapshot.time, step=snapshot.step, summary=summary)
            advance(min(start + _BATCH_SNAPSHOTS, len(rows)), len(rows))
    return Exported(out, len(rows), path.stat().st_size, [])


def _write(file: BinaryIO, **fields: Any) -> None:
    file.write(frame_record(new_message("Event", **fields).SerializeToString()))


def _values(run: RunIndex, snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """The `Summary.Value` messages of a snapshot; without finite elements only its counts."""
    finite = snapshot.zero + snapshot.negative + snapshot.positive
    if finite:
        yield {"tag": _utf8(snapshot.tensor), "histo": _histogram(run, snapshot, finite)}
        for name in SCALARS:
            yield _scalar(f"{snapshot.tensor}/{name}", getattr(snapshot, name))
    bad = {name: getattr(snapshot, name) for name in BAD}
    for name in BAD if any(bad.values()) else ():
        yield _scalar(f"{snapshot.tensor}/{name}", bad[name])
    yield _scalar(f"{snapshot.tensor}/nonfinite", sum(bad.values()))


def _scalar(name: str, value: float) -> dict[str, Any]:
    with np.errstate(over="ignore"):
        return {"tag": _utf8(name), "simple_value": float(np.float32(value))}


def _utf8(text: str) -> str:
    """A text without lone surrogates, which a message cannot contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def _histogram(run: RunIndex, snapshot: Snapshot, finite: int) -> dict[str, Any]:
    """A `HistogramProto`: its buckets reach from one limit to the next, so gaps are separate buckets."""
    limits, counts = list[float](), list[float]()
    buckets = [*find_histogram(run, snapshot).buckets()]
    if snapshot.zero:
        buckets = sorted([*buckets, (0.0, _TINY, snapshot.zero)])
    for left, right, count in buckets:
        left, right = max(left, snapshot.min), min(right, max(snapshot.max, left))
        if limits and left > limits[-1]:
            limits.append(left)
            counts.append(0.0)
        limits.append(max(right, limits[-1] if limits else right))
        counts.append(float(count))
    squares = snapshot.l2**2 if snapshot.l2 < _MAX_L2 else float(np.finfo(np.float64).max)
    return {
        "min": snapshot.min,
        "max": snapshot.max,
        "num": float(finite),
        "sum": snapshot.mean * finite,
        "sum_squares": squares,
        "bucket_limit": limits,
        "bucket": counts,
    }
