"""Histograms of a segment, node-major and compressed: those of one tensor are in one or few blocks.

A block holds consecutive rows in the order of `Segment.by_tensor`. Each has a checksum, which is verified on
reading: opening a run reads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.storage.files import crc32c

from .ragged import Ragged, concatenated, narrowed, starts_of

_MIN_BLOCK_ROWS = 64  # minimum rows for a separate block; rows of rarer tensors share one
_MANY = 4096  # rows of one block: half a megabyte
_CODEC = pa.Codec("zstd", 1)

Take = Callable[[Array], Ragged]  # the histograms of some rows, in their order

ARRAYS = ("block_row", "block_start", "block_size", "block_crc32c", "blocks")


class PackedError(Exception):
    """Internal: a block does not match its checksum; the dump itself must be read."""


def pack_histograms(take: Take, order: Array, tensor_starts: Array) -> dict[str, Array]:
    """The arrays of `Packed`, made block by block.

    Args:
        take: returns the histograms of pieces of `order`.
        order: the rows by tensor.
        tensor_starts: int64 [tensors + 1], where each tensor's rows begin in `order`.
    """
    edges = _edges(tensor_starts, len(order))
    stored, sizes = [], []
    for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        raw = _to_bytes(take(order[first:stop]))
        sizes.append(len(raw))
        stored.append(_CODEC.compress(raw, asbytes=True))
    return {
        "block_row": edges,
        "block_start": starts_of(np.array([len(block) for block in stored], np.int64)),
        "block_size": np.array(sizes, np.int64),
        "block_crc32c": np.array([crc32c(block) for block in stored], np.uint32),
        "blocks": np.frombuffer(b"".join(stored), np.uint8),
    }


def has_packed(arrays: Mapping[str, Array]) -> bool:
    """Whether some arrays hold packed histograms."""
    return all(name in arrays for name in ARRAYS)


class Packed:
    """Reads the output of `pack_histograms`."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._row, self._start, self._size, self._crc, self._blocks = (arrays[name] for name in ARRAYS)

    def rows(self, first: int, stop: int) -> Ragged:
        """The histograms of consecutive rows.

        Raises:
            PackedError: a block is damaged.
        """
        if stop <= first:
            return concatenated([])
        lowest = int(np.searchsorted(self._row, first, "right")) - 1
        highest = int(np.searchsorted(self._row, stop, "left"))
        found = concatenated([self._block(number) for number in range(lowest, highest)])
        base = int(self._row[lowest])
        return found.take(np.arange(first - base, stop - base))

    def _block(self, number: int) -> Ragged:
        start, stop = self._start[number : number + 2].tolist()
        data = self._blocks[start:stop]
        if crc32c(data) != int(self._crc[number]):
            raise PackedError(f"Block {number} of a segment is damaged.")
        return _from_bytes(_CODEC.decompress(data, int(self._size[number]), asbytes=True))


def _edges(tensor_starts: Array, rows: int) -> Array:
    """The first rows of blocks, and the end: where a tensor begins, but not too close together or apart."""
    starts = np.unique(tensor_starts)
    starts = starts[np.append(True, np.diff(starts // _MIN_BLOCK_ROWS) > 0)] if len(starts) else starts
    return np.unique(np.concatenate((starts, np.arange(0, rows, _MANY), [0, rows]))).astype(np.int64)


def _to_bytes(histograms: Ragged) -> bytes:
    counts = narrowed(histograms.counts)
    head = np.array([len(histograms), counts.itemsize], np.int64)
    lengths = np.diff(histograms.starts).astype(np.uint16)  # at most 1,022 buckets
    parts = (head, lengths, histograms.ids.astype(np.uint16, copy=False), counts)
    return b"".join(part.tobytes() for part in parts)


def _from_bytes(data: bytes) -> Ragged:
    rows, itemsize = np.frombuffer(data, np.int64, 2).tolist()
    starts = starts_of(np.frombuffer(data, np.uint16, rows, 16))
    total, at = int(starts[-1]), 16 + 2 * rows
    ids = np.frombuffer(data, np.uint16, total, at)
    return Ragged(starts, ids, np.frombuffer(data, f"<u{itemsize}", total, at + 2 * total))
