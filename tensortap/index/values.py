"""Values of snapshots: whole, slices of them, and where their non-finite elements are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, numpy_dtype
from tensortap.core.errors import DamagedError, SelectionError, ValueNotKeptError
from tensortap.core.histogram import Histogram
from tensortap.core.sampling import Sample, split_sample
from tensortap.core.slice_selection import Selection, resolve_selection
from tensortap.dump.read.values_reader import ValueReader, ValueRef, check_shape, read_value, value_ref

from .catalog.commit_cache import read_histograms
from .missing_values import no_value
from .run_index import RunIndex
from .slices import BLOCK, GAP, check_limit, read_selected, read_selected_strings
from .snapshot import Snapshot

UNVERIFIED = (
    "Not verified: format 1.0 has no checksums for parts of a value, and this value is too long to "
    "read completely. Use 'tensortap check' to verify it."
)
# Ranges in neighbouring compressed chunks (of 1 MiB) are read as one: each chunk is decoded once.
_CHUNK_GAP = 1024 * 1024


def read_slice(
    run: RunIndex, snapshot: Snapshot, selection: object = "", *, limit: int | None = None
) -> Array:
    """Reads the selected elements of a stored value, verified; only their blocks are read.

    In dumps of format 1.0 a value is read whole for its first part.

    Args:
        selection: as `select_slice` takes it.
        limit: the most bytes the result may have.

    Returns:
        A new array of the value's dtype; text as an object array of `bytes`.

    Raises:
        SelectionError: it does not fit. LimitError: the result would be larger than `limit`.
        ValueNotKeptError: the value is not there. DamagedError: the stored bytes do not add up.
    """
    return select_slice(run, snapshot, selection).read(limit, at_any_length=True)


@contextmanager
def _noting_loss(run: RunIndex, snapshot: Snapshot) -> Iterator[None]:
    """Makes a value that turns out to be damaged a part of the run's `damage`."""
    try:
        yield
    except DamagedError as error:
        what = f"the value of {snapshot.tensor} at step {snapshot.step} cannot be read: {error.message}"
        run.note_lost((snapshot.row, snapshot.worker), what)
        raise


def select_slice(run: RunIndex, snapshot: Snapshot, selection: object = "") -> ValueSlice:
    """Finds the stored value of a snapshot, and fits a selection to its shape.

    Args:
        selection: as `resolve_selection` takes it; empty for everything. A sample has one dimension
            (FORMAT.md, "Samples").

    Raises:
        SelectionError: it does not fit. ValueNotKeptError, DamagedError: as `find_value`.
    """
    ref = find_value(run, snapshot)
    return ValueSlice(run, snapshot, ref, resolve_selection(selection, ref.shape))


@dataclass(frozen=True, slots=True)
class ValueSlice:
    """The selected part of a stored value; nothing is read yet."""

    run: RunIndex
    snapshot: Snapshot
    ref: ValueRef
    selection: Selection

    @property
    def unverified(self) -> str:
        """Why `read` cannot verify a checksum, a sentence; empty if it can.

        Only parts of long values in dumps of format 1.0 are not verified.
        """
        return "" if self._is_whole or self.ref.is_verifiable else UNVERIFIED

    @property
    def _is_whole(self) -> bool:
        return self.selection.size == self.ref.size and all(axis.step == 1 for axis in self.selection.axes)

    def read(self, limit: int | None = None, *, at_any_length: bool = False) -> Array:
        """The selected elements, as `read_slice` returns them; see `unverified`.

        Args:
            at_any_length: a long value of format 1.0 is read whole, too, so that the part is verified.
        """
        with _noting_loss(self.run, self.snapshot):
            return self._read(limit, at_any_length)

    def _read(self, limit: int | None, at_any_length: bool) -> Array:
        ref, chosen = self.ref, self.selection
        dtype = numpy_dtype(ref.dtype)
        if dtype.kind == "O":
            if self._is_whole:
                check_limit(ref.length, limit, ref.length)
                return read_value(ref).reshape(chosen.shape)
            with ValueReader(ref, at_any_length=at_any_length) as reader:
                return read_selected_strings(reader.read, ref.shape, chosen, ref.length, limit)
        check_limit(chosen.size * dtype.itemsize, limit, ref.nbytes or 0)
        if self._is_whole:
            return read_value(ref).reshape(chosen.shape)
        gap = GAP if ref.codec == "raw" else _CHUNK_GAP
        with ValueReader(ref, at_any_length=at_any_length) as reader:
            return read_selected(reader.read, dtype, ref.shape, chosen, gap, reader.read_into)


def find_value(run: RunIndex, snapshot: Snapshot) -> ValueRef:
    """Find the stored value of a snapshot; its shape is possible.

    Raises:
        ValueNotKeptError: it is not there (`Snapshot.no_value`). DamagedError: the dump is damaged there.
    """
    ref = None
    if snapshot.kept or snapshot.pruned:
        with _noting_loss(run, snapshot):
            commits, within = run.catalog.commits_of(np.array([snapshot.row]))
            place = run.catalog.place(int(commits[0]))
            batch = run.commits.get(run.catalog.run_dir, place)
            ref = value_ref(run.catalog.run_dir, place.worker, batch, int(within[0]))
            if ref is not None:
                check_shape(ref)
    if ref is None:
        raise _no_value_error(run, snapshot)
    return ref


def unverified_parts(run: RunIndex, snapshot: Snapshot) -> str:
    """`ValueSlice.unverified` of a part of a snapshot's value; empty if no value is stored.

    Raises:
        DamagedError: the dump is damaged there.
    """
    return "" if not snapshot.kept or find_value(run, snapshot).is_verifiable else UNVERIFIED


def stored_sample(run: RunIndex, snapshot: Snapshot) -> Sample | None:
    """The elements that were stored of a value; None for all, or if no value is stored.

    Raises:
        DamagedError: the dump is damaged there.
    """
    if not (snapshot.kept or snapshot.pruned):
        return None
    commits, within = run.catalog.commits_of(np.array([snapshot.row]))
    batch = run.commits.get(run.catalog.run_dir, run.catalog.place(int(commits[0])), ("value_codec",))
    return split_sample(batch.column("value_codec")[int(within[0])].as_py())[0]


def _no_value_error(run: RunIndex, snapshot: Snapshot) -> ValueNotKeptError:
    """The error for a value that is not there."""
    words = no_value(snapshot.no_value or "summary", run.catalog.source)
    of = f"The value of {snapshot.tensor!r} at step {snapshot.step}"
    return ValueNotKeptError(f"{of} was {words.happened}: {words.why}.", words.fix)


def find_histogram(run: RunIndex, snapshot: Snapshot) -> Histogram:
    """The histogram of a snapshot, read from its commit.

    Raises:
        DamagedError: the dump is damaged there.
    """
    (found,) = find_histograms(run, [snapshot])
    return found


def find_histograms(run: RunIndex, snapshots: Sequence[Snapshot]) -> list[Histogram]:
    """The histograms of some snapshots; one call for many is far faster than many calls.

    Raises:
        DamagedError: the dump is damaged there.
    """
    rows = np.array([snapshot.row for snapshot in snapshots], np.int64)
    try:
        found = read_histograms(run.catalog, run.commits, rows)
    except DamagedError as error:
        run.note_lost(("histograms",), f"histograms cannot be read: {error.message}")
        raise
    return [Histogram(ids, counts.astype(np.int64)) for ids, counts in found]


@dataclass(frozen=True, slots=True)
class ElementList:
    """Number of requested elements; indices (int64 [k, dims]) and spelling of the first of them.

    `unverified`: as that of `ValueSlice`.
    """

    total: int
    unverified: str
    indices: np.ndarray[Any, np.dtype[np.int64]]
    values: list[str]


def nonfinite_elements(
    run: RunIndex, snapshot: Snapshot, *, limit: int = 100, at_any_length: bool = False
) -> ElementList:
    """Finds the NaN and infinite elements of a stored value, in order of position; needs 8 MB of memory.

    What comes after the `limit`-th, or the last one that the statistics count, is not read; of a sample all
    is, as the statistics are those of the whole.

    Args:
        limit: how many are returned at most. at_any_length: as for `ValueSlice.read`.

    Raises:
        ValueNotKeptError, DamagedError: as `read_slice`. LimitError: it takes too long (`time_limit`).
    """
    ref = find_value(run, snapshot)
    counted = snapshot.nan + snapshot.pos_inf + snapshot.neg_inf
    total, positions, values = 0, [np.zeros(0, np.int64)], list[str]()
    for first, block in _blocks(run, snapshot, ref, at_any_length) if counted else ():
        if ref.sample is None and len(values) >= min(counted, limit):
            total = counted
            break
        found = np.flatnonzero(~np.isfinite(block))
        total += len(found)
        found = found[: limit - len(values)]
        positions.append(found + first)
        values += [_spell(value) for value in block[found]]
    return ElementList(
        total,
        "" if at_any_length else _unverified(ref),
        _indices(np.concatenate(positions), ref.shape),
        values,
    )


def zero_elements(run: RunIndex, snapshot: Snapshot, *, limit: int = 100) -> ElementList:
    """Finds the zeros of a stored value, in order of position, and stops at number `limit`.

    Raises:
        ValueNotKeptError, DamagedError: as `read_slice`. LimitError: it takes too long (`time_limit`).
        SelectionError: it is text.
    """
    ref = find_value(run, snapshot)
    positions, count = [np.zeros(0, np.int64)], 0
    for first, block in _blocks(run, snapshot, ref):
        found = np.flatnonzero(block == 0)[: limit - count]
        positions.append(found + first)
        count += len(found)
        if count >= limit:
            break
    total = count if ref.sample is not None else max(count, snapshot.zero)
    return ElementList(total, _unverified(ref), _indices(np.concatenate(positions), ref.shape), ["0"] * count)


def extreme_element(run: RunIndex, snapshot: Snapshot, largest: bool) -> ElementList:
    """Finds the first of the largest, or smallest, finite elements of a stored value, if there is any.

    Raises:
        ValueNotKeptError, DamagedError: as `read_slice`. LimitError: it takes too long (`time_limit`).
        SelectionError: it is text.
    """
    ref = find_value(run, snapshot)
    best, place = -np.inf, -1
    for first, block in _blocks(run, snapshot, ref):
        numbers = np.abs(block) if np.iscomplexobj(block) else block
        numbers = numbers.astype(np.float64) if numbers.dtype.kind not in "iu" else numbers
        finite = np.flatnonzero(np.isfinite(numbers))
        if not len(finite):
            continue
        at = int(finite[np.argmax(numbers[finite]) if largest else np.argmin(numbers[finite])])
        value = numbers[at] if largest else -numbers[at].astype(np.float64)
        if place < 0 or value > best:
            best, place = value, first + at
    positions = np.array([place] if place >= 0 else [], np.int64)
    return ElementList(
        len(positions),
        _unverified(ref),
        _indices(positions, ref.shape),
        [str(best if largest else -best)][: len(positions)],
    )


def _indices(positions: Array, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """int64 [k, dims]: where the elements at these positions are."""
    if not shape:
        return np.zeros((len(positions), 0), np.int64)
    return np.stack(np.unravel_index(positions, shape), axis=-1)


def _unverified(ref: ValueRef) -> str:
    """A sentence if parts of the value have no checksum to compare with; empty where all have."""
    return "" if ref.is_verifiable else UNVERIFIED


def _blocks(
    run: RunIndex, snapshot: Snapshot, ref: ValueRef, at_any_length: bool = False
) -> Iterator[tuple[int, Array]]:
    """(number of the first element, elements) of pieces of a value."""
    dtype = numpy_dtype(ref.dtype)
    if dtype.kind == "O":
        raise SelectionError(
            "Text has no zeros, and no largest or smallest element.", "Name a numeric tensor."
        )
    per_block = BLOCK // dtype.itemsize
    with _noting_loss(run, snapshot), ValueReader(ref, at_any_length=at_any_length) as reader:
        for first in range(0, ref.size, per_block):
            count = min(per_block, ref.size - first)
            yield first, np.frombuffer(reader.read(first * dtype.itemsize, count * dtype.itemsize), dtype)


def _spell(value: Any) -> str:
    parts = (
        np.array([value.real, value.imag], np.float64)
        if np.iscomplexobj(value)
        else np.array([value], np.float64)
    )
    if np.isnan(parts).any():
        return "NaN"
    return "-Infinity" if len(parts) == 1 and parts[0] < 0 else "Infinity"
