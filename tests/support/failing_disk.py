"""Disks that fail on demand: a library preloaded into a program (failing_disk.c), and its switch.

No root and no file system of our own is needed; what fails is what the C library is called for, so NumPy,
Arrow and TensorFlow meet it as Python does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

OPEN, WRITE, SYNC, CUT, RENAME, FOLDER = 1, 2, 4, 8, 16, 32
_WORDS = "5i"
_SOURCE = Path(__file__).with_suffix(".c")


class Switch:
    """What fails now; the parent and the program share it."""

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDWR)
        self._shared = mmap.mmap(fd, struct.calcsize(_WORDS))
        os.close(fd)

    def fail(self, calls: int, error: int = 0, *, most: int = 0, wait: int = 0) -> None:
        """These calls fail with `error`; take `most` bytes at once; take `wait` ms. From now on."""
        self._shared[:] = struct.pack(_WORDS, calls, error, most, wait, 0)

    def heal(self) -> int:
        """Nothing fails any more; returns how many calls were harmed."""
        met = int(struct.unpack(_WORDS, self._shared[:])[-1])
        self.fail(0)
        return met


def built(folder: Path) -> Path:
    """The library, compiled into that folder; skips the test where that is not possible."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and LD_PRELOAD")
    library = folder / "failing_disk.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


def run_on_failing_disk(
    program: str, folder: Path, *arguments: str, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs Python code whose `sys.argv[1]` is the folder that may fail; `failing()` fails it."""
    control = folder.parent / "control"
    control.write_bytes(bytes(struct.calcsize(_WORDS)))
    environment = {
        **os.environ,
        "LD_PRELOAD": str(built(folder.parent)),
        "FAILING_BELOW": str(folder),
        "FAILING_CONTROL": str(control),
        "PYTHONPATH": str(Path(__file__).parent),
    }
    return subprocess.run(
        [sys.executable, "-c", program, str(folder), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@contextlib.contextmanager
def failing(calls: int, error: int = 0, *, most: int = 0, wait: int = 0) -> Iterator[None]:
    """Inside of the program: the disk fails within this block."""
    switch = here()
    switch.fail(calls, error, most=most, wait=wait)
    try:
        yield
    finally:
        assert switch.heal(), "nothing was harmed"


def here() -> Switch:
    """Inside of the program: its switch."""
    return Switch(os.environ["FAILING_CONTROL"])
