"""The corpus of the fuzzer and what is near it through every target; a short run of the fuzzer.

`make fuzz` does the same for long.
"""

from __future__ import annotations

import importlib.util
import platform
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
FUZZ, CORPUS = HERE / "fuzz", HERE / "corpus"
NAMES = sorted(folder.name for folder in CORPUS.iterdir())
MEMORY = 256 << 20  # bytes that an input of a few KB may take at most
CHANGES = 5  # inputs made of each one that is kept


@pytest.fixture(scope="module")
def targets() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("fuzz_targets", FUZZ / "targets.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    module._HOME.cleanup()


def changed(data: bytes, chance: random.Random) -> bytes:
    """A few bytes set to what breaks parsers, a piece doubled or left out, or an end cut off."""
    out = bytearray(data)
    for _ in range(chance.choice([1, 2, 8])):
        at = chance.randrange(len(out) or 1)
        odd = chance.choice(
            [b"\0", b"\xff", b"\x80", b"\xff\xff\xff\x7f", bytes(8), b"\xff" * 8, b"-1", b'"']
        )
        out[at : at + chance.choice([0, len(odd)])] = odd
    end = chance.choice([len(out), len(out), chance.randrange(len(out) + 1)])
    return bytes(out[:end])


def test_every_target_has_a_corpus(targets: ModuleType) -> None:
    assert set(NAMES) == set(targets.TARGETS)
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 200_000


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_and_what_is_near_it(targets: ModuleType, name: str) -> None:
    target, chance = targets.TARGETS[name], random.Random(name)
    target(next(iter(sorted((CORPUS / name).iterdir()))).read_bytes())  # what is loaded or compiled once
    tracemalloc.start()
    try:
        for file in sorted((CORPUS / name).iterdir()):
            data = file.read_bytes()
            for given in (data, *(changed(data, chance) for _ in range(CHANGES))):
                target(given)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="atheris is made for Linux on x86"
)
@pytest.mark.slow
def test_a_short_run_of_the_fuzzer() -> None:
    command = [sys.executable, str(FUZZ), "--target", "npy", "--seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "failed: none" in done.stdout and "? inputs" not in done.stdout
