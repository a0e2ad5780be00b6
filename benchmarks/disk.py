"""What it costs to write the values of a step, by each way that the system offers.

    python benchmarks/disk.py [--quick] [--dir FOLDER] [--json FILE]

240 MB in tensors of 256 KiB go into files of 64 MB: through the page cache, over files that were written
before, and past the cache from aligned buffers; with and without a checksum of each 32 KiB. The files of the
first two tables are removed each time, so that the system has cached pages to spare. In the last one they
stay, as those of a run do: then each page is a fresh one, which a virtual machine first gets from its host.
Medians of the CPU time of this process and of the clock.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import google_crc32c
import numpy as np
from _table import print_table

from tensortap.core.dtypes import Array
from tensortap.storage.append_file import AppendFile

MB = 1 << 20
SHARD, TENSOR, BLOCK = 64 * MB, 256 << 10, 32 << 10


def check_sums(tensor: Array) -> None:
    for at in range(0, tensor.size, BLOCK):
        google_crc32c.value(tensor[at : at + BLOCK])


def cached(folder: Path, tensors: list[Array], checked: bool, *, preallocated: bool = False) -> None:
    for number, shard in enumerate(shards_of(tensors)):
        fd = os.open(folder / str(number), os.O_WRONLY | os.O_CREAT)
        if preallocated:
            os.posix_fallocate(fd, 0, SHARD)
        for tensor in shard:
            if checked:
                check_sums(tensor)
            os.write(fd, tensor)
        os.close(fd)


def direct(folder: Path, tensors: list[Array], checked: bool, *, size: int) -> None:
    """From one buffer, so that copying and writing take turns."""
    buffer = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    for number, shard in enumerate(shards_of(tensors)):
        fd = os.open(folder / str(number), os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        used = 0
        for tensor in shard:
            if checked:
                check_sums(tensor)
            buffer[used : used + TENSOR] = tensor
            used += TENSOR
            if used == size:
                os.write(fd, buffer)
                used = 0
        os.write(fd, buffer[:used])
        os.close(fd)


def append_file(folder: Path, tensors: list[Array], checked: bool) -> None:
    """As the dump's writer: buffers are written beside the thread that fills them."""
    file = AppendFile(folder)
    for number, shard in enumerate(shards_of(tensors)):
        path = folder / str(number)
        file.open(os.open(path, os.O_WRONLY | os.O_CREAT), path, 0)
        for tensor in shard:
            if checked:
                check_sums(tensor)
            file.append(tensor)
        file.flush()
        file.close()
    file.end()


def shards_of(tensors: list[Array]) -> list[list[Array]]:
    count = SHARD // TENSOR
    return [tensors[at : at + count] for at in range(0, len(tensors), count)]


Way = Callable[[Path, list[Array], bool], None]
OVER = "page cache, over files that are there"
WAYS: dict[str, Way] = {
    "page cache, new files": cached,
    "page cache, new files, preallocated": partial(cached, preallocated=True),
    OVER: cached,
    "O_DIRECT, 1 MB": partial(direct, size=MB),
    "O_DIRECT, 4 MB": partial(direct, size=4 * MB),
    "O_DIRECT, 16 MB": partial(direct, size=16 * MB),
    "AppendFile": append_file,
}
LASTING = ("page cache, new files", "O_DIRECT, 4 MB", "AppendFile")


def measure(
    base: Path, ways: list[str], tensors: list[Array], checked: bool, rounds: int, stays: bool
) -> dict[str, tuple[float, float]]:
    """(CPU seconds, seconds) by way. `stays`: files are removed at the end, and ways do not take turns."""
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    turns = [way for way in ways for _ in range(rounds)] if stays else ways * rounds
    with tempfile.TemporaryDirectory(dir=base) as temporary:
        for number, way in enumerate(turns):
            folder = Path(temporary) / (OVER if way == OVER else str(number))
            folder.mkdir(exist_ok=True)
            cpu, clock = time.process_time(), time.perf_counter()
            WAYS[way](folder, tensors, checked)
            times[way].append((time.process_time() - cpu, time.perf_counter() - clock))
            if not stays and way != OVER:
                shutil.rmtree(folder)
    return {
        way: (statistics.median(cpu for cpu, _ in found), statistics.median(clock for _, clock in found))
        for way, found in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the bytes, fewer rounds")
    parser.add_argument("--dir", type=Path, help="where to write; a folder on a real disk")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    base = options.dir or Path(tempfile.gettempdir())
    total, rounds = (64 * MB, 3) if options.quick else (240 * MB, 5)
    rng = np.random.default_rng(0)
    tensors = [rng.integers(0, 255, TENSOR, np.uint8) for _ in range(total // TENSOR)]
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for title, ways, checked, stays in (
        ("without checksums", list(WAYS), False, False),
        ("with checksums", list(WAYS), True, False),
        ("with checksums, files stay", list(LASTING), True, True),
    ):
        found[title] = measure(base, ways, tensors, checked, rounds, stays)
        rows = [
            [way, f"{cpu * 1e3:.0f}", f"{clock * 1e3:.0f}", f"{total / clock / 1e9:.2f}"]
            for way, (cpu, clock) in found[title].items()
        ]
        print_table(f"{total // MB} MB, {title}", ("way", "CPU ms", "ms", "GB/s"), rows)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
