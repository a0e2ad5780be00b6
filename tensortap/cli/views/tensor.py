"""One snapshot of a tensor as text: summary, histogram, an excerpt of its values."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from tensortap.core.dtypes import Array, to_npy_dtype
from tensortap.core.errors import DamagedError, NotFoundError, ValueNotKeptError
from tensortap.core.records import COUNTS, STATISTICS
from tensortap.core.text import counted, escaped, number_text

from ..argument_types import only_step
from ..console import cell
from ..select_run import other_graphs

if TYPE_CHECKING:
    from rich.console import Console

    from tensortap.index.run_index import RunIndex
    from tensortap.index.snapshot import Snapshot

_MAX_PRINTED = 2000  # elements; of larger arrays, the edges
_ELEMENT = re.compile(r"[^\s\[\]]+")
_STYLE = "bold black on yellow"

_BINS = 16
_BAR = 40  # characters
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_EXCERPT = 8  # elements of each of the last two dimensions
_MAX_BYTES = 64 * 2**20


@dataclass(frozen=True)
class TensorView:
    """One snapshot for `tensortap show`. `values` is None if only the summary is stored."""

    snapshot: Snapshot
    steps: tuple[int, ...]
    edges: Array
    counts: Array
    selection: str
    values: Array | None
    sampled: int = 0  # how many elements were kept, if not all
    missing: ValueNotKeptError | DamagedError | None = None  # why there are no values
    why_missing: str = ""  # the same in sentences, without the tensor's name
    others: tuple[str, ...] = ()  # graphs that have another tensor of that name; `-`: none
    unverified: str = ""  # why the values were not compared with a checksum

    @classmethod
    def of(
        cls,
        run: RunIndex,
        tensor: str,
        *,
        step: str | None,
        visit: int,
        worker: str | None,
        graph: str | None,
        selection: str | None,
    ) -> TensorView:
        """Raises NotFoundError without such a snapshot, ValueNotKeptError for a selection without a value,
        SelectionError for a range of steps."""
        from tensortap.index.query.tensor_lookup import find_snapshot
        from tensortap.index.series.histograms import histograms
        from tensortap.index.values import find_value, select_slice, stored_sample

        steps = _captured_at(run, tensor, graph, worker)
        if not steps:
            raise NotFoundError(
                f"There is no snapshot of {tensor!r}.", "'tensortap show RUN' lists the tensors."
            )
        at = only_step(tensor, step)
        snapshot = find_snapshot(run, tensor, step=at, visit=visit, worker=worker, graph=graph)
        series = histograms(
            run,
            snapshot.tensor,
            graph=snapshot.graph,
            worker=snapshot.worker,
            steps=snapshot.step,
            visit=snapshot.visit,
            scale="linear",
            bins=_BINS,
        )
        chosen, sampled, unverified = selection or "", 0, ""
        missing: ValueNotKeptError | DamagedError | None = None
        try:
            sample = stored_sample(run, snapshot)
            sampled = sample.kept(snapshot.size) if sample is not None else 0
            chosen = excerpt(find_value(run, snapshot).shape) if selection is None else selection
            part = select_slice(run, snapshot, chosen)
            values, unverified = part.read(_MAX_BYTES), part.unverified
        except (ValueNotKeptError, DamagedError) as error:
            if selection is not None:
                raise
            values, missing = None, error
        counts = series.counts[-1]
        if values is not None and not chosen and not sampled:
            counts = _counts(values, series.edges)
        others = tuple(other_graphs(run, snapshot.tensor, snapshot.graph))
        if others:
            steps = _captured_at(run, tensor, snapshot.graph, worker)
        why = "" if missing is None else _why(run, snapshot, missing)
        return cls(
            snapshot, steps, series.edges, counts, chosen, values, sampled, missing, why, others, unverified
        )

    @property
    def is_damaged(self) -> bool:
        """Whether there is a value, but the dump is damaged there."""
        return isinstance(self.missing, DamagedError)

    def save(self, path: Path) -> None:
        """Writes the selected values as a .npy file.

        Raises:
            ValueNotKeptError, DamagedError: there are none.
            InvalidValueError: the format cannot store a string.
            FileExistsError: there is such a file already.
        """
        if self.values is None:
            assert self.missing is not None
            raise self.missing
        values = to_npy_dtype(self.values)
        with path.open("xb") as file:
            np.save(file, values, allow_pickle=False)

    def as_data(self) -> dict[str, Any]:
        """The view as plain data, for `--json`."""
        values = None
        if self.values is not None:
            values = {"selection": self.selection, "shape": self.values.shape, "data": self.values}
            values |= {"unverified": self.unverified} if self.unverified else {}
        histogram = {"edges": self.edges, "counts": self.counts}
        data = self.snapshot.as_dict() | {"steps": self.steps, "histogram": histogram, "values": values}
        return data | ({"missing": self.why_missing} if self.missing is not None else {})

    def print(self, out: Console, highlights: Sequence[Highlight] = ()) -> None:
        """Writes it as a page of text, the elements in the ranges of `highlights` marked."""
        snapshot = self.snapshot
        out.print(cell(snapshot.tensor, "bold"))
        visit = f", iteration {snapshot.visit}" if snapshot.visit else ""
        step = f"step {snapshot.step}{visit} ({_steps(self.steps)})"
        out.print(cell(f"{snapshot.dtype} {snapshot_shape_text(snapshot)}, {step}, worker {snapshot.worker}"))
        if self.others:
            others = ", ".join(f"{graph} (no graph)" if graph == "-" else graph for graph in self.others)
            here = "no graph" if snapshot.graph == "-" else f"graph {snapshot.graph}"
            out.print(cell(f"of {here}; use --graph for {others}", "yellow"))
        out.print()
        unknown = snapshot.not_counted
        size = 0 if "size" in snapshot.unknown else snapshot.size
        for name in COUNTS if snapshot.dtype != "string" else ():
            count = getattr(snapshot, name)
            is_bad = name in ("nan", "pos_inf", "neg_inf")
            if not count and name in snapshot.unknown:
                out.print(cell(f"  {name:<10}{'unknown':>14}", "dim"))
                continue
            bad = count and is_bad
            out.print(cell(f"  {name:<10}{count:>14,}{_share(count, size)}", "red" if bad else ""))
        if unknown:
            out.print(cell(f"  not counted{unknown:>13,}{_share(unknown, snapshot.size)}"))
        self._print_distribution(out)
        out.print()
        out.print(cell(self._values_heading(), "red" if self.is_damaged else ""))
        if self.unverified:
            out.print(cell(self.unverified, "yellow"))
        if self.values is not None:
            for row in value_lines(self.values, out.width, highlights):
                out.print(row)
            if highlights:
                out.print(cell(_highlighted(self.values, highlights)))

    def _print_distribution(self, out: Console) -> None:
        """Prints statistics and histogram, or why there are none."""
        nothing = _no_numbers(self.snapshot)
        if nothing:
            out.print(f"  {nothing}: no statistics or histogram")
            return
        for name in STATISTICS:
            out.print(f"  {name:<10}{statistic_text(self.snapshot, name):>14}")
        out.print()
        unknown = self.snapshot.unknown or self.snapshot.not_counted
        nothing = "no histogram available" if unknown else "no finite values"
        room = max(min(_BAR, out.width - 40), 8)
        for line in bars(self.edges, self.counts, room) if np.any(self.counts) else [f"  {nothing}"]:
            out.print(line)

    def _values_heading(self) -> str:
        if self.missing is not None:
            return f"values: {self.why_missing}"
        if self.sampled:
            return f"sampled values: {self.sampled:,} of {self.snapshot.size:,} elements, [{self.selection}]"
        return f"values[{self.selection}]" if self.selection else "values"


def snapshot_shape_text(snapshot: Snapshot) -> str:
    """`3×4`; imported runs may lack the shape."""
    if "size" in snapshot.unknown:
        return "unknown"
    return "×".join(map(str, snapshot.shape)) or "scalar"


def excerpt(shape: tuple[int, ...]) -> str:
    """The selection of the first elements: at most 8 × 8 of the last two dimensions; empty for all of it."""
    if all(size <= _EXCERPT for size in shape[-2:]) and len(shape) <= 2:
        return ""
    first = ["0"] * max(len(shape) - 2, 0)
    return ",".join(first + [f":{_EXCERPT}" if size > _EXCERPT else ":" for size in shape[-2:]])


def statistic_text(snapshot: Snapshot, name: str) -> str:
    """A statistic as text; missing ones of an import are unknown, not NaN."""
    value: float = getattr(snapshot, name)
    finite = snapshot.zero + snapshot.negative + snapshot.positive
    unknown = finite or snapshot.not_counted or "size" in snapshot.unknown
    return "unknown" if math.isnan(value) and unknown else number_text(value, 6)


def _captured_at(run: RunIndex, tensor: str, graph: str | None, worker: str | None) -> tuple[int, ...]:
    """The steps of a tensor's snapshots, ascending."""
    from tensortap.index.series.history import history

    seen = history(run, tensor, graph=graph, worker=worker).columns
    return tuple(sorted({int(one) for one in seen["step"]}))


def _why(run: RunIndex, snapshot: Snapshot, error: ValueNotKeptError | DamagedError) -> str:
    from tensortap.index.missing_values import no_value

    if isinstance(error, DamagedError):
        return f"cannot be read: {error}"
    if not snapshot.no_value:  # it was pruned just now
        return str(error)
    words = no_value(snapshot.no_value, run.catalog.source)
    return f"{words.happened}: {words.why}. {words.fix}".rstrip()


def _no_numbers(snapshot: Snapshot) -> str:
    if snapshot.dtype == "string":
        return "text"
    return "" if snapshot.size or snapshot.unknown else "no elements"


def _counts(values: Array, edges: Array) -> Array:
    """Exact counts of all elements; the dump's histogram only has native buckets."""
    if values.dtype == object or len(edges) < 2:
        return np.zeros(max(len(edges) - 1, 0))
    numbers = (np.abs(values) if np.iscomplexobj(values) else values).astype(np.float64)
    counts: Array = np.histogram(numbers[np.isfinite(numbers)], edges)[0]
    return counts


def bars(edges: Array, counts: Array, room: int = _BAR) -> list[str]:
    """A histogram as lines, one a bin, with bars of up to `room` characters, in eighths of one."""
    top = max(float(np.max(counts, initial=0)), 1.0)
    lines = []
    for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
        eighths = round(float(count) / top * room * 8)
        if count > 0:
            eighths = max(eighths, 1)
        bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        span = f"{number_text(left, 6):>12} … {number_text(right, 6):<12}"
        lines.append(f"  {span} {bar:<{room}} {_count_text(float(count))}")
    return lines


def _count_text(count: float) -> str:
    """Bins may have parts of native buckets: half an element is not zero."""
    return "<1" if 0 < count <= 0.5 else f"{count:,.0f}"


def _highlighted(values: Array, highlights: Sequence[Highlight]) -> str:
    if not can_highlight(values):
        return "nothing highlighted: text and complex numbers cannot be in a range"
    return f"{highlighted_count(values, highlights):,} of {counted(values.size, 'element')} highlighted"


def _share(count: int, size: int) -> str:
    return f"{count / size:>8.1%}" if count and size else ""


def _steps(steps: tuple[int, ...]) -> str:
    if len(steps) == 1:
        return "the only step"
    return escaped(f"one of {len(steps)} steps, {steps[0]}…{steps[-1]}")


@dataclass(frozen=True, slots=True)
class Highlight:
    """Elements to highlight: from `low` to `high`, both included, or the NaNs."""

    low: float = -math.inf
    high: float = math.inf
    nan: bool = False

    def mask(self, values: Array) -> Array:
        """The highlighted elements, bool, in the shape of `values`."""
        if self.nan:
            return np.asarray(values != values)
        return np.asarray((values >= self.low) & (values <= self.high))


def parse_highlight(text: str) -> Highlight:
    """`nan`, `inf` (both infinities are `inf` and `-inf`), `1:`, `:-1`, `-1:1`, or one number.

    Raises:
        argparse.ArgumentTypeError: it is not one of these.
    """
    if text.strip().lower() == "nan":
        return Highlight(nan=True)
    low, colon, high = text.partition(":")
    try:
        first = float(low) if low.strip() or not colon else -math.inf
        last = (float(high) if high.strip() else math.inf) if colon else first
    except ValueError:
        first = last = math.nan
    if math.isnan(first) or math.isnan(last) or first > last:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range; use 'nan', '1:', ':-1', '-1:1' or a number"
        )
    return Highlight(first, last)


def value_lines(values: Array, width: int, highlights: Sequence[Highlight] = ()) -> Iterator[Text]:
    """The lines of an array as NumPy prints it; arrays above 2,000 elements are cut, and not highlighted."""
    with np.printoptions(threshold=_MAX_PRINTED, linewidth=min(width, 200), precision=5):
        text = str(_printable(values))
    marks = _marks(values, highlights) if values.size <= _MAX_PRINTED else iter(())
    for line in text.splitlines():
        yield _marked(line, marks)


def _printable(values: Array) -> Any:
    """Text as text if it is UTF-8; numbers whose width NumPy does not know as float32."""
    if values.dtype == object:
        texts = np.array([_text(value) for value in values.ravel().tolist()], object)
        return texts.reshape(values.shape) if values.ndim else repr(texts[0])
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def _text(value: Any) -> Any:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def can_highlight(values: Array) -> bool:
    """Whether the elements can be in a range: false for text and complex numbers."""
    return values.dtype.kind in "biufV" and not values.dtype.hasobject


def highlighted_count(values: Array, highlights: Sequence[Highlight]) -> int:
    """How many elements are in one of the ranges."""
    return sum(_marks(values, highlights))


def _marks(values: Array, highlights: Sequence[Highlight]) -> Iterator[bool]:
    """For each element, in the order in which they are printed, whether it is highlighted."""
    if not highlights or not can_highlight(values):
        return iter(())
    numbers = values.astype(np.float64)
    found: Array = np.logical_or.reduce([highlight.mask(numbers) for highlight in highlights])
    return iter(found.ravel().tolist())


def _marked(line: str, marks: Iterator[bool]) -> Text:
    text = Text(escaped(line))
    if len(text) == len(line):  # nothing was escaped: positions are the same
        for element in _ELEMENT.finditer(line):
            if next(marks, False):
                text.stylize(_STYLE, *element.span())
    return text
