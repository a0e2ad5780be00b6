"""The work of `statistics.py`: measuring arrays, next to memcpy and to NumPy's reductions."""

from __future__ import annotations

import argparse
import time
from typing import Any

import ml_dtypes
import numpy as np
from _table import interleaved, print_table

from tensortap.core.dtypes import Array
from tensortap.stats.summarize import summarize


def with_numpy(array: Array) -> list[Any]:
    """The counts, statistics and histogram of `summarize`, by NumPy's reductions."""
    if array.dtype.kind not in "biufc":  # bfloat16, float8: NumPy itself cannot reduce them
        array = array.astype(np.float32)
    finite = np.isfinite(array)
    values = array if finite.all() else array[finite]
    counts = [np.isnan(array).sum(), np.isposinf(array).sum(), np.isneginf(array).sum()]
    counts += [(values == 0).sum(), (values < 0).sum(), (values > 0).sum()]
    values = values.view(np.uint8) if values.dtype == bool else values
    low, high = values.min(), values.max()
    mean, std = values.mean(dtype=np.float64), values.std(dtype=np.float64)
    l2 = np.sqrt(np.square(values, dtype=np.float64).sum())
    return [*counts, low, high, mean, std, l2, *np.histogram(values, 60)]


def large_arrays(nbytes: int) -> dict[str, Array]:
    """Arrays of `nbytes` bytes, as training makes them."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(nbytes // 4, dtype=np.float32)
    one_nan = normal.copy()
    one_nan[len(normal) // 2] = np.nan
    wide = rng.standard_normal(nbytes // 8)
    short = rng.standard_normal(nbytes // 2, dtype=np.float32)
    return {
        "float32": normal,
        "float32, after ReLU": np.maximum(normal, 0),
        "float32, constant": np.ones_like(normal),
        "float32, one NaN": one_nan,
        "float64": wide,
        "bfloat16": short.astype(ml_dtypes.bfloat16),
        "float16": short.astype(np.float16),
        "int64": (wide * 1000).astype(np.int64),
        "int32": (normal * 1000).astype(np.int32),
        "uint8": rng.integers(0, 256, nbytes, np.uint8),
        "bool": rng.random(nbytes) < 0.5,
    }


def measure_large(nbytes: int, seconds: float) -> None:
    rows = []
    for name, array in large_arrays(nbytes).items():
        copy = np.empty_like(array)
        found = interleaved(
            {
                "memcpy": lambda copy=copy, array=array: np.copyto(copy, array),
                "tensortap": lambda array=array: summarize(array),
                "NumPy": lambda array=array: with_numpy(array),
            },
            seconds,
            rounds=3,
        )
        speed = {kind: array.nbytes / time / 1e9 for kind, time in found.items()}
        rows.append(
            [
                name,
                *(f"{speed[kind]:.2f}" for kind in ("memcpy", "tensortap", "NumPy")),
                f"{speed['tensortap'] / speed['memcpy']:.2f}",
                f"{speed['tensortap'] / speed['NumPy']:.1f}",
            ]
        )
    head = ["array", "memcpy GB/s", "tensortap GB/s", "NumPy GB/s", "of memcpy", "times NumPy"]
    print_table(f"Arrays of {nbytes >> 20} MiB", head, rows)


def measure_small(seconds: float) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for size in (1, 10, 100, 1_000, 10_000, 100_000):
        array = rng.standard_normal(size, dtype=np.float32)
        calls = max(1, 100_000 // (size + 1_000))  # in a row, as the layers of a model come
        found = interleaved(
            {
                "tensortap": lambda array=array, calls=calls: [summarize(array) for _ in range(calls)],
                "NumPy": lambda array=array, calls=calls: [with_numpy(array) for _ in range(calls)],
            },
            seconds / 4,
        )
        ours, numpys = (found[name] / calls * 1e6 for name in ("tensortap", "NumPy"))
        rows.append([f"{size:,}", f"{ours:.1f}", f"{numpys:.1f}", f"{numpys / ours:.1f}"])
    print_table("Small float32 arrays", ["elements", "tensortap us", "NumPy us", "times NumPy"], rows)


def measure_start() -> None:
    start = time.perf_counter()
    summarize(np.ones(8, np.float32))
    print(
        f"\nFirst array of this process: {time.perf_counter() - start:.2f} s (numba's import and the kernel)."
    )


def main(description: str) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller arrays, fewer rounds")
    quick = parser.parse_args().quick
    measure_start()
    measure_large(8 << 20 if quick else 64 << 20, 0.3 if quick else 3.0)
    measure_small(0.4 if quick else 2.0)
