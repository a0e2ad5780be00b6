"""What verifying costs: slices of stored values with and without their checksums, read and sent.

    python benchmarks/slices.py [--seconds 1] [--side 4096]

`read` is `tensortap.index.values.read_slice`, from the page cache: the worst case, as a disk takes longer.
`sent` is the answer of the server to such a request, through Flask, without the network. `plain` is the
same code without comparing checksums: it reads the bytes of the slice only, not the blocks that contain them.
`written` is what `DumpWriter` takes to encode and store a value, next to the checksum of the whole alone.
CPU times of one thread, in turn; read the ratios.

Seen on two busy cores: answers to what the page requests take 1.00 to 1.06 (elements, rows, tables, texts),
1.12 (a tile of 256 x 256 out of 64 MiB), 1.3 (every 16th element) and 1.6 times as long (a column: all
64 MiB are read and verified for 16 KiB, at 10 GB/s); writing 1.05.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from _table import interleaved, print_table
from flask.testing import FlaskClient

from tensortap.dump.read.values_reader import Octets, ValueReader
from tensortap.dump.write import values_writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.values import read_slice
from tensortap.server import create_app

SLICES = (  # tensor, selection, format in which the page requests it, description
    ("dense", "5,7", "npy", "an element"),
    ("dense", "5", "npy", "a row"),
    ("dense", "0:64,0:32", "npy", "a page of the table"),
    ("dense", "0:256,0:256", "png", "a tile"),
    ("dense", "::16,::16", "png", "every 16th"),
    ("dense", ":,5", "npy", "a column"),
    ("dense", "0:512", "npy", "rows, an eighth"),
    ("relu", "5", "npy", "a row, packed"),
    ("relu", "0:256,0:256", "png", "a tile, packed"),
    ("text", "1000:1500", "json", "500 texts"),
)


def write(folder: Path, side: int) -> None:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((side, side), np.float32)
    with DumpWriter(folder, "r") as writer:
        writer.log("dense", dense, step=0)
        writer.log("relu", np.where(dense > 0.7, dense, np.float32(0)), step=0)
        texts = [b"x" * int(length) for length in rng.integers(5, 60, 200_000)]
        writer.log("text", np.array(texts, object), step=0)


@contextmanager
def unverified() -> Iterator[None]:
    """Within, blocks are not compared, and bytes around a slice not read."""
    fill = ValueReader._fill

    def plain(self: ValueReader, start: int, octets: Octets) -> None:
        self._stored.read_into(start, octets)

    ValueReader._fill = plain  # type: ignore[method-assign]
    try:
        yield
    finally:
        ValueReader._fill = fill  # type: ignore[method-assign]


def pair(work: Callable[[], object], seconds: float) -> tuple[float, float]:
    """CPU seconds of some reading, plain and verified."""

    def plain() -> None:
        with unverified():
            work()

    found = interleaved({"plain": plain, "verified": work}, seconds)
    return found["plain"], found["verified"]


def measure_reading(folder: Path, seconds: float) -> None:
    log = LogIndex(folder, use_cache=False)
    log.refresh()
    run = log.runs[0]
    client: FlaskClient = create_app(folder).test_client()
    rows = []
    for tensor, selection, format_, what in SLICES:
        snapshot = find_snapshot(run, tensor, step=0)
        address = f"/api/runs/{run.id}/value?tensor={tensor}&step=0&selection={selection}&format={format_}"
        assert client.get(address).status_code == 200, client.get(address).text
        read = pair(lambda s=snapshot, at=selection: read_slice(run, s, at), seconds)  # type: ignore[misc]
        sent = pair(lambda at=address: client.get(at).data, seconds)  # type: ignore[misc]
        cells = [cell for plain, checked in (read, sent) for cell in _cells(plain, checked)]
        rows.append([f"{what}: {tensor}[{selection}]", *cells])
    head = ["slice", "read plain ms", "verified ms", "ratio", "sent plain ms", "verified ms", "ratio"]
    print_table("Slices, CPU", head, rows)


def _cells(plain: float, checked: float) -> list[str]:
    return [f"{plain * 1e3:.2f}", f"{checked * 1e3:.2f}", f"{checked / plain:.2f}"]


def measure_writing(folder: Path, side: int, seconds: float) -> None:
    array = np.random.default_rng(0).standard_normal((side, side), np.float32)
    real = values_writer.value_checksums
    whole = lambda data: (google_crc32c.value(data), ())  # noqa: E731
    number = 0

    def work(checksums: Any) -> None:
        nonlocal number
        number += 1
        values_writer.value_checksums = checksums  # type: ignore[assignment]
        with DumpWriter(folder, f"w{number}") as writer:
            writer.log("x", array, step=0)
        for path in (folder / f"w{number}").rglob("values-*"):
            path.unlink()

    found = interleaved({"plain": lambda: work(whole), "verified": lambda: work(real)}, seconds)
    values_writer.value_checksums = real
    size = f"{array.nbytes >> 20} MiB, written"
    print_table(
        "Writing, CPU",
        ["value", "whole only ms", "and blocks ms", "ratio"],
        [[size, *_cells(**{"plain": found["plain"], "checked": found["verified"]})]],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds to measure each slice")
    parser.add_argument("--side", type=int, default=4096, help="side of the float32 matrices")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / "logs", arguments.side)
        measure_reading(Path(name) / "logs", arguments.seconds)
        measure_writing(Path(name), arguments.side, arguments.seconds)


if __name__ == "__main__":
    main()
