"""Reads an HDF5 file in a separate process, because its C library crashes on some damaged files.

Run as a script: `hdf5_child.py FILE MAX_UNPACKED USUAL_RATIO` (see `safe_io.UnpackBudget`). Sends a message
for each dataset, with its bytes, and a last one that says it is done. Imports little of tensortap, so that it
starts fast.
"""

from __future__ import annotations

import contextlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.system.sandbox import limit_memory
from tensortap.system.subprocess_worker import Channel

MAX_DATASET = 4 << 30  # bytes
MAX_DATASETS = 1_000_000
MEMORY = 256 << 20  # bytes that HDF5 takes itself, beside two copies of the largest dataset


def main(path: str, max_unpacked: int, usual_ratio: int) -> None:
    """Sends the datasets of a file."""
    channel = Channel()
    largest = min(MAX_DATASET, max_unpacked + usual_ratio * Path(path).stat().st_size)
    import h5py

    limit_memory(MEMORY + 2 * largest)
    left = max_unpacked

    found: list[tuple[str, Any]] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and len(found) < MAX_DATASETS:
            found.append((name, item))

    with h5py.File(path, "r") as file:
        file.visititems(visit)  # follows hard links only, and each object once
        for name, dataset in _titled(found):
            try:
                if refused := _refused(dataset):
                    channel.send({"name": name, "refused": refused})
                    continue
                size, stored = _bytes(dataset)
                if size > usual_ratio * stored + left:
                    channel.send({"name": name, "too_large": [size, stored]})
                    continue
                left -= max(0, size - usual_ratio * stored)
                _send(name, dataset, channel)
            except MemoryError:
                channel.send(
                    {"name": name, "refused": ("It would expand to more memory than its stored size allows.")}
                )
            except Exception as error:
                channel.send({"name": name, "refused": f"{type(error).__name__}: {str(error)[:300]}"})
    channel.send({"end": True})


def _titled(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Replaces Keras' numbered layers (`layers/dense_1/vars/0`) by their names, which are stored next to
    them."""
    titled: dict[str, Any] = {}
    own: dict[str, str] = {}
    for name, dataset in found:
        *path, last = name.split("/")
        better = "/".join([*(_own_name(dataset.file, path[: i + 1], own) for i in range(len(path))), last])
        titled[better if better not in titled else name] = dataset
    return list(titled.items())


def _own_name(file: Any, path: list[str], known: dict[str, str]) -> str:
    """The author's name of a layer, also in nested models: an attribute of the group `vars`."""
    place = "/".join(path)
    if place not in known:
        name = None
        if path[-1] != "optimizer":
            with contextlib.suppress(Exception):  # no layer; or a damaged attribute, which costs no tensor
                name = file[f"{place}/vars"].attrs["name"]
        known[place] = name if isinstance(name, str) and name and "/" not in name else path[-1]
    return known[place]


def _send(name: str, dataset: Any, channel: Channel) -> None:
    empty = dataset.shape is None  # HDF5's null dataspace: a dtype and no elements
    record = {"name": name, "shape": [0] if empty else dataset.shape}
    if dataset.dtype.hasobject:
        found = [] if empty else _flat(dataset[()])
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in found]
        channel.send(record | {"dtype": "string", "lengths": list(map(len, texts))}, b"".join(texts))
        return
    native = dataset.dtype.kind != "V"
    dtype = dataset.dtype.str if native else str(dataset.attrs.get("dtype", ""))
    values = np.ascontiguousarray(np.zeros(0, dataset.dtype) if empty else dataset[()])
    channel.send(record | {"dtype": dtype, "native": native}, values.reshape(-1).view(np.uint8).data)


def _flat(array: Any) -> list[Any]:
    return array.reshape(-1).tolist() if hasattr(array, "reshape") else [array]


def _refused(dataset: Any) -> str:
    """Why a dataset is not read, or empty."""
    if dataset.external or dataset.is_virtual:
        return "Its data are in external files, which are not read."
    if dataset.dtype.names is not None or dataset.dtype.subdtype is not None:
        return "It contains structs."
    size, _ = _bytes(dataset)
    if size > MAX_DATASET:
        return f"It takes {size:,} bytes; the limit is 4 GiB."
    return ""


def _bytes(dataset: Any) -> tuple[int, int]:
    """(bytes of the values, bytes that they are stored in)."""
    if dataset.shape is None:
        return 0, 0
    return math.prod(dataset.shape) * dataset.dtype.itemsize, dataset.id.get_storage_size()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
