"""TensorBoard's event files: graphs, histograms, scalars, other tensors. A folder with some is a run."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from tensortap.core.dtypes import Floats
from tensortap.core.errors import TensortapError
from tensortap.core.records import Summary
from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import tensor_array

from ..errors import RefusedError
from ..partial_summary import histogram_summary, partial_summary
from ..run_builder import RunBuilder, RunWriter
from ..safe_io import any_below, files_below
from .graphdef import graphs_of
from .protos import parse, records

WRITER = "tensortap"  # in `source_metadata` of a file's first event
_NONFINITE = "/nonfinite"  # every snapshot's last scalar
_BAD = ("nan", "pos_inf", "neg_inf")
_TINY = 5e-324  # right of the bucket of zeros
Buckets = tuple[Floats, Floats, Floats, dict[str, float]]

_MARK = ".tfevents."
_MAX_BUCKETS = 5_000  # TF1 has 1,549 at most, TF2 30 unless a program requests more
_MAX_COUNT = 1 << 53  # elements: beyond, float64 skips numbers
_SHOWN_BY_TENSORBOARD = ("images", "audio", "graph_keras_model", "pr_curves", "mesh", "projector", "hparams")
_TRACES = ("graph_run_metadata", "graph_run_metadata_graph")
_NOTE = (
    "TensorBoard stores histograms without values or shapes. Histograms are approximate (each "
    "bucket is spread evenly), and only TF1 files have mean, std and l2."
)


def matches(path: Path) -> bool:
    """Whether it is an event file, or a folder with one up to 32 levels below."""
    if path.is_dir():
        return any_below(path, is_event_file)
    return is_event_file(path) and path.is_file()


def is_event_file(below: PurePath) -> bool:
    """Whether a file is one of TensorBoard's events, by its name."""
    return _MARK in below.name


def read(path: Path, builder: RunBuilder) -> None:
    """Every folder with event files is a run; files of one folder are read in the order of their names."""
    folders: dict[str, list[Path]] = defaultdict(list)
    for found in files_below(path) if path.is_dir() else [path]:
        if is_event_file(found):
            folders[found.parent.relative_to(path).as_posix() if path.is_dir() else "."].append(found)
    for folder, files in sorted(folders.items()):
        with builder.writer("" if folder == "." else folder) as out:
            reader = _Reader(out)
            for file in files:
                for data in records(file, out.note):
                    reader.event(data, file.name)


class _Reader:
    """Reads the events of one run; only the first event of a tag has its metadata."""

    def __init__(self, out: RunWriter) -> None:
        self._out = out
        self._plugins: dict[str, str] = {}
        self._has_graph = False
        self._is_own = False  # the file was written by an export

    def event(self, data: bytes, what: str) -> None:
        try:
            event = parse("Event", data, f"An event of {what}")
            which = event.WhichOneof("value")
            if which == "graph_def":
                self._graph(event.graph_def)
            elif which == "meta_graph_def" and not self._has_graph:  # TF1 writes both of one graph
                meta = parse("MetaGraphDef", event.meta_graph_def, "A meta graph")
                self._graph(meta.graph_def.SerializeToString())
            elif which == "file_version":
                self._is_own = is_own(event)
            elif which == "summary" and self._is_own:
                self._exported(event)
            elif which == "summary":
                for value in event.summary.value:
                    self._value_or_note(event, value)
        except TensortapError as error:
            self._out.note(f"Skipped: {error}", "events skipped")

    def _exported(self, event: Message) -> None:
        tensor, histogram = tensor_of(event), histogram_of(event)
        try:
            buckets = None if histogram is None else _old_buckets(histogram)
            if buckets is not None:
                _check_buckets(*buckets[:3])
            self._log_summary(event, tensor, summary_of(event, tensor, buckets))
        except TensortapError as error:
            self._out.note(f"Skipped: {tensor[:200]}: {error}", "values skipped")

    def _value_or_note(self, event: Message, value: Message) -> None:
        """One value; a bad one takes no other of its event along."""
        try:
            self._value(event, value)
        except TensortapError as error:
            self._out.note(f"Skipped: {value.tag[:200]}: {error}", "values skipped")

    def _graph(self, data: bytes) -> None:
        for graph in graphs_of(data, "graph", self._out.note):
            self._out.graph(graph)
            self._has_graph = True

    def _traced_graphs(self, proto: Message) -> None:
        """Add the graphs that `tf.summary.trace_export` wrote: of each function that ran, not optimized."""
        for data in proto.string_val:
            for traced in parse("RunMetadata", data, "A trace").function_graphs:
                whole = traced.pre_optimization_graph
                for graph_def in [whole] if whole else traced.partition_graphs:
                    self._graph(graph_def)

    def _value(self, event: Message, value: Message) -> None:
        tag, which = value.tag, value.WhichOneof("value")
        plugin = self._plugins.setdefault(tag, value.metadata.plugin_data.plugin_name)
        if plugin in _TRACES:
            self._traced_graphs(value.tensor)
        elif event.step < 0:
            self._out.note(f"Skipped: {tag[:200]} at step {event.step}: steps start at 0.", "negative steps")
        elif which in ("image", "audio") or plugin in _SHOWN_BY_TENSORBOARD:
            kind = plugin or which
            self._out.note(f"Skipped: data of TensorBoard's {kind!r} tab ({tag[:200]} …).", f"{kind}")
        elif which == "simple_value":
            self._out.log(tag, np.float32(value.simple_value), step=event.step, time=_time(event))
        elif which == "histo":
            self._histogram(event, tag, *_old_buckets(value.histo))
        elif which == "tensor":
            self._tensor(event, tag, plugin, value.tensor)

    def _tensor(self, event: Message, tag: str, plugin: str, proto: Message) -> None:
        array = tensor_array(proto)
        if plugin == "histograms" and array.ndim == 2 and array.shape[1] == 3 and array.dtype.kind in "fiu":
            if array.size > proto.ByteSize():  # one number for all of them
                raise RefusedError("It has no buckets.")
            left, right, counts = np.asarray(array, np.float64).T
            self._histogram(event, tag, left, right, counts, {})
        else:
            self._out.log(tag, array, step=event.step, time=_time(event))

    def _histogram(
        self, event: Message, tag: str, left: Floats, right: Floats, counts: Floats, exact: dict[str, float]
    ) -> None:
        _check_buckets(left, right, counts)
        self._log_summary(event, tag, histogram_summary(left, right, counts, **exact))

    def _log_summary(self, event: Message, tag: str, summary: Summary) -> None:
        self._out.note(_NOTE)
        self._out.not_counted("subnormal")
        self._out.log_summary(tag, summary, step=event.step, time=_time(event))


def _time(event: Message) -> float | None:
    """Seconds since 1970; now, if the event does not say."""
    return event.wall_time if 0 <= event.wall_time < 2.5e11 else None


def _check_buckets(left: Floats, right: Floats, counts: Floats) -> None:
    """Raises RefusedError: there are too many, or edges or counts are invalid."""
    if len(counts) > _MAX_BUCKETS:
        raise RefusedError(f"It has {len(counts):,} buckets; the limit is {_MAX_BUCKETS:,}.")
    finite = np.all(np.isfinite(np.concatenate([left, right, counts])))
    if not finite or not np.all(left <= right) or not np.all(counts >= 0) or counts.sum() >= _MAX_COUNT:
        raise RefusedError("Its buckets are invalid.")


def _old_buckets(histo: Message) -> tuple[Floats, Floats, Floats, dict[str, float]]:
    """TF1's histogram: edges and counts, and exact statistics.

    Raises:
        RefusedError: edges and counts do not fit together, or there are none.
    """
    counts, limits = np.array(histo.bucket, np.float64), np.array(histo.bucket_limit, np.float64)
    if len(counts) != len(limits):
        raise RefusedError(f"It has {len(limits):,} edges for {len(counts):,} buckets.")
    if not len(counts):
        raise RefusedError("It has no buckets.")
    right = np.clip(limits, histo.min, histo.max)
    left = np.concatenate([[histo.min], right[:-1]])
    exact: dict[str, float] = {}
    if histo.num > 0:
        mean = histo.sum / histo.num
        variance = max(histo.sum_squares / histo.num - mean * mean, 0.0)
        exact = {"min": histo.min, "max": histo.max, "mean": mean, "std": math.sqrt(variance)}
        exact["l2"] = math.sqrt(max(histo.sum_squares, 0.0))
    return left, right, counts, exact


def is_own(event: Message) -> bool:
    """Whether the first event of a file marks it as an export of tensortap."""
    return bool(event.source_metadata.writer == WRITER)


def histogram_of(event: Message) -> Message | None:
    """The histogram of an event, if it has one."""
    found = [value.histo for value in event.summary.value if value.WhichOneof("value") == "histo"]
    return found[0] if found else None


def tensor_of(event: Message) -> str:
    """The tensor that an event is about; empty if it does not say."""
    tags = [value.tag for value in event.summary.value if value.tag.endswith(_NONFINITE)]
    return tags[-1].removesuffix(_NONFINITE) if tags else ""


def summary_of(event: Message, tensor: str, buckets: Buckets | None) -> Summary:
    """The summary of an event: its counts, and its statistics from the histogram `buckets`.

    Raises:
        RefusedError: a count is invalid, or nothing was counted.
    """
    scalars = {
        value.tag.removeprefix(f"{tensor}/"): value.simple_value
        for value in event.summary.value
        if value.WhichOneof("value") == "simple_value"
    }
    bad: dict[str, Any] = {name: _count(scalars.get(name, 0.0)) for name in _BAD}
    if buckets is None:
        known = partial_summary("float64", (), 0)
    else:
        left, right, counts, exact = buckets
        zeros = right == _TINY
        exact |= {"std": scalars["std"]} if math.isfinite(scalars.get("std", math.nan)) else {}
        known = histogram_summary(np.where(zeros, 0, left), np.where(zeros, 0, right), counts, **exact)
    size = known.size + sum(bad.values())
    if not size:
        raise RefusedError("It is text or empty, so event files have no data for it.")
    return replace(known, size=size, shape=(size,), **bad)


def _count(value: float) -> int:
    if not 0 <= value < _MAX_COUNT:
        raise RefusedError(f"A count of {value} is invalid.")
    return int(value)
