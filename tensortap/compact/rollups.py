"""Tables that compaction derives from sorted rows: merged statistics, and what opening a run needs.

Tables of rows have dictionaries for texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.dtypes import Array
from tensortap.core.records import ELEMENT_KINDS
from tensortap.stats.merge import MERGED, finite_elements, group_starts, merge_statistics

TENSOR = ("graph", "node", "slot")
SNAPSHOT = (*TENSOR, "step", "visit", "worker")
TEXTS = pa.dictionary(pa.int32(), pa.string())
_FIRST = {"worker": "first_worker", "seq": "first_seq"}
COMPARED = ("size", *ELEMENT_KINDS, "min", "max", "mean", "l2")


def roll_up(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Statistics of groups of sorted rows: of snapshots, or of a rollup by further keys.

    A rollup by tensor also says how many `steps` there are, the first and the last.
    """
    starts = group_starts(*(_key(table, name) for name in keys))
    columns = {name: table.column(name).to_numpy() for name in MERGED if name in table.column_names}
    if "snapshots" not in columns:
        columns["snapshots"] = np.ones(table.num_rows, np.int64)
        columns["finite"] = finite_elements(columns, _is_text(table))
    merged = merge_statistics(columns, starts)
    heads = table.select(list(keys)).take(starts)
    arrays = {name: heads.column(name) for name in keys}
    if "step" not in keys:
        arrays |= _step_range(table, starts)
    return pa.table(arrays | {name: pa.array(merged[name]) for name in MERGED})


def count_by_tensor(table: pa.Table, workers: Sequence[str]) -> pa.Table:
    """Numbers of snapshots by tensor, and the first one: by its worker and `seq`.

    `nonfinite` counts snapshots that have NaN or infinities, `differing` those with other statistics than the
    first worker that captured the tensor at that step and visit.

    Args:
        table: sorted rows. workers: of the run, the oldest first.
    """
    starts = group_starts(*(_key(table, name) for name in TENSOR))
    columns = {name: table.column(name).to_numpy() for name in COMPARED}
    ends = np.append(starts, table.num_rows)
    first = _first_written(table, workers, np.repeat(np.arange(len(starts)), np.diff(ends)))
    flags = {
        "snapshots": np.ones(table.num_rows, np.int64),
        "nonfinite": _is_nonfinite(columns),
        "differing": _differs(table, columns),
    }
    heads = table.select([*TENSOR, *_FIRST]).take(first)
    for name, flag in flags.items():
        heads = heads.append_column(name, pa.array(_sums(flag.astype(np.int64), starts)))
    return heads.rename_columns([_FIRST.get(name, name) for name in heads.column_names])


def _first_written(table: pa.Table, workers: Sequence[str], group: Array) -> Array:
    """The first row of each group (its number, [rows]), by the age of its worker and `seq`."""
    age = {name: number for number, name in enumerate(workers)}
    chunk = _chunk(table.column("worker"))
    ages = np.array([age.get(name, len(age)) for name in chunk.dictionary.to_pylist()], np.int64)
    worker = ages[chunk.indices.to_numpy()] if len(ages) else np.zeros(0, np.int64)
    order = np.lexsort((table.column("seq").to_numpy(), worker, group))
    found: Array = order[group_starts(group[order])]
    return found


def _differs(table: pa.Table, columns: dict[str, Array]) -> Array:
    """Which snapshots have other statistics than the first of the same tensor, step and visit."""
    starts = group_starts(*(_key(table, name) for name in (*TENSOR, "step", "visit")))
    found = np.zeros(table.num_rows, np.bool_)
    if len(starts) == table.num_rows:
        return found
    first = np.repeat(starts, np.diff(np.append(starts, table.num_rows)))
    for column in columns.values():
        usual = column[first]
        found |= (column != usual) & ~((column != column) & (usual != usual))
    return found


def _step_range(table: pa.Table, starts: Array) -> dict[str, Any]:
    if not table.num_rows:
        return {name: pa.array([], pa.int64()) for name in ("first_step", "last_step", "steps")}
    names = table.column_names
    first, last = (
        table.column(name if name in names else "step").to_numpy() for name in ("first_step", "last_step")
    )
    steps = table.column("steps").to_numpy() if "steps" in names else np.ones(table.num_rows, np.int64)
    return {
        "first_step": pa.array(np.minimum.reduceat(first, starts)),
        "last_step": pa.array(np.maximum.reduceat(last, starts)),
        "steps": pa.array(np.add.reduceat(steps, starts)),
    }


def count_by_step(table: pa.Table) -> pa.Table:
    """Numbers of snapshots by graph and step, and when the first and the last of them were captured.

    `nan`, `inf` and `nonfinite` count snapshots that have such elements, `partial` those whose counts do not
    add up to their size.
    """
    graph, step = _key(table, "graph"), table.column("step").to_numpy()
    order = np.lexsort((step, graph))
    starts = group_starts(graph[order], step[order])
    columns = {name: table.column(name).to_numpy() for name in ("size", *ELEMENT_KINDS)}
    counted = np.sum([columns[name] for name in ELEMENT_KINDS], axis=0)
    flags = {
        "snapshots": np.ones(table.num_rows, np.int64),
        "nan": columns["nan"] > 0,
        "inf": (columns["pos_inf"] > 0) | (columns["neg_inf"] > 0),
        "nonfinite": _is_nonfinite(columns),
        "partial": (columns["size"] > counted) & ~_is_text(table),
    }
    heads = table.select(["graph", "step"]).take(order[starts])
    time = table.column("time").cast(pa.int64()).to_numpy()[order]
    ends = (
        (np.minimum.reduceat(time, starts), np.maximum.reduceat(time, starts)) if len(starts) else (time,) * 2
    )
    return pa.table(
        {name: heads.column(name) for name in ("graph", "step")}
        | {name: pa.array(_sums(flag[order].astype(np.int64), starts)) for name, flag in flags.items()}
        | {name: pa.array(end) for name, end in zip(("first_time", "last_time"), ends, strict=True)}
    )


def count_by_worker(table: pa.Table) -> pa.Table:
    """Numbers of snapshots by graph and worker."""
    graph, worker = _codes(table, "graph").astype(np.int64), _codes(table, "worker")
    _, first, counts = np.unique(
        graph * _texts(table, "worker") + worker, return_index=True, return_counts=True
    )
    heads = table.select(["graph", "worker"]).take(first)
    return heads.append_column("snapshots", pa.array(counts.astype(np.int64)))


def list_kinds(table: pa.Table, workers: Sequence[str]) -> pa.Table:
    """The combinations of dtype, device and shape of snapshots, how many have each, and the first one, as of
    `count_by_tensor`."""
    shape, shapes = shape_codes(table.column("shape"))
    group = _codes(table, "dtype").astype(np.int64)
    for codes, count in ((_codes(table, "device"), _texts(table, "device")), (shape, len(shapes))):
        group = np.unique(group * count + codes, return_inverse=True)[1]
    first = _first_written(table, workers, group)
    heads = table.select(["dtype", "device", "shape", *_FIRST]).take(first)
    heads = heads.append_column("snapshots", pa.array(np.bincount(group)))
    return heads.rename_columns([_FIRST.get(name, name) for name in heads.column_names])


def shape_codes(column: pa.ChunkedArray | pa.ListArray) -> tuple[Array, list[tuple[int, ...]]]:
    """The code of each shape, in order of appearance, and the shapes by code."""
    shapes = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(shapes, pa.ChunkedArray):
        shapes = pa.concat_arrays(shapes.chunks)
    offsets = shapes.offsets.to_numpy().astype(np.int64) * 8
    extents = np.ascontiguousarray(shapes.values.to_numpy())
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(extents)]
    octets = pa.Array.from_buffers(pa.large_binary(), len(shapes), buffers).dictionary_encode()
    found = [tuple(np.frombuffer(each, np.int64).tolist()) for each in octets.dictionary.to_pylist()]
    return octets.indices.to_numpy(), found


def _codes(table: pa.Table, name: str) -> Array:
    """The codes of texts with a dictionary."""
    found: Array = _chunk(table.column(name)).indices.to_numpy()
    return found


def _texts(table: pa.Table, name: str) -> int:
    return len(_chunk(table.column(name)).dictionary)


def _chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    chunk = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return chunk.chunk(0) if isinstance(chunk, pa.ChunkedArray) else chunk


def _is_text(table: pa.Table) -> Array:
    found: Array = pc.equal(table.column("dtype").cast(pa.string()), "string").to_numpy(zero_copy_only=False)
    return found


def _is_nonfinite(columns: dict[str, Array]) -> Array:
    found: Array = (columns["nan"] > 0) | (columns["pos_inf"] > 0) | (columns["neg_inf"] > 0)
    return found


def _sums(counts: Array, starts: Array) -> Array:
    return np.add.reduceat(counts, starts) if len(starts) else counts[:0]


def with_dictionaries(table: pa.Table) -> pa.Table:
    """The same, with dictionaries for texts."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(at, field.name, table.column(at).dictionary_encode().cast(TEXTS))
    return table


def order_of(table: pa.Table, names: Sequence[str]) -> Array:
    """Indices that sort a table by some columns; texts are dictionaries."""
    keys = [_key(table, name) for name in reversed(names)]
    return np.lexsort(keys)


def _key(table: pa.Table, name: str) -> Array:
    """Numbers with the sort order of a column; texts sort by their UTF-8 bytes."""
    column = table.column(name)
    found: Array
    if not pa.types.is_dictionary(column.type):
        found = column.to_numpy()
        return found
    if not table.num_rows:
        return np.zeros(0, np.int32)
    chunk = _chunk(column)
    ranks = np.empty(len(chunk.dictionary), np.int32)
    ranks[pc.sort_indices(chunk.dictionary).to_numpy()] = np.arange(len(ranks), dtype=np.int32)
    found = ranks[chunk.indices.to_numpy()]
    return found
