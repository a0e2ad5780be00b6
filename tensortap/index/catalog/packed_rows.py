"""The rows of a catalog as bytes: one process reads statistics, another adds the packed rows."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array

from .catalog import Catalog, CommitPlace
from .columns import StringTable
from .segments import COLUMNS

_PLACES = ("row", "worker", *CommitPlace._fields[1:])


def pack_rows(catalog: Catalog) -> bytes:
    """All rows of a catalog, without histograms, for `add_packed`."""
    graph, node, slot = catalog.tensors.columns(len(catalog.tensors))
    arrays: dict[str, Any] = {"graph": graph, "node": node, "slot": slot, "steps": catalog.steps.values}
    arrays |= {f"column {name}": catalog.parts.column(name, slice(None), catalog.rows) for name in COLUMNS}
    arrays |= {f"place {name}": catalog.places[name].view() for name in _PLACES}
    texts = {name: table.values for name, table in catalog.string_tables.items()}
    about = json.dumps({"texts": texts, "shapes": catalog.shapes.values})
    out = io.BytesIO()
    np.savez(out, about=np.frombuffer(about.encode("utf-8", "surrogatepass"), np.uint8), **arrays)
    return out.getvalue()


def add_packed(catalog: Catalog, data: bytes) -> None:
    """Adds the rows of another catalog, in their order, as if it had been read here.

    Codes are those that reading gives: in order of first appearance.
    """
    with np.load(io.BytesIO(data)) as file:
        about = json.loads(file["about"].tobytes().decode("utf-8", "surrogatepass"))
        columns = {name: file[f"column {name}"] for name in COLUMNS}
        places = {name: file[f"place {name}"] for name in _PLACES}
        tensors = [file[name] for name in ("graph", "node", "slot")]
        steps = file["steps"]
    if not len(columns["step"]):
        return
    texts = about["texts"]
    with catalog.lock:
        graph, node = (
            _interned(table, texts[name])[codes]
            for name, table, codes in (
                ("graphs", catalog.tensors.graphs, tensors[0]),
                ("nodes", catalog.tensors.nodes, tensors[1]),
            )
        )
        columns["tensor"] = catalog.tensors.encode(graph, node, tensors[2])[columns["tensor"]]
        columns["step"] = catalog.steps.encode(steps)[columns["step"]]
        columns["device"] = _interned(catalog.devices, texts["devices"])[columns["device"]]
        columns["dtype"] = _interned(catalog.dtypes, texts["dtypes"])[columns["dtype"]]
        shapes = catalog.shapes.restore([tuple(shape) for shape in about["shapes"]])
        columns["shape"] = shapes[columns["shape"]]
        places["worker"] = _interned(catalog.workers, texts["workers"])[places["worker"]]
        catalog.add_decoded(columns, places)


def _interned(table: StringTable, texts: list[str]) -> Array:
    """The code of each text."""
    return np.array([table.intern(text) for text in texts], np.int32)


def packed(arrays: Mapping[str, Array]) -> bytes:
    """Arrays as bytes, for `unpacked`."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def unpacked(data: bytes) -> dict[str, Array]:
    """The inverse of `packed`."""
    with np.load(io.BytesIO(data)) as file:
        return {name: file[name] for name in file.files}
