"""Which share of the disk's bandwidth a step with the values of all nodes gets, by what else runs.

    python benchmarks/share.py [--quick] [--model cnn|transformer] [--rounds 5]

The limit is `O_DIRECT` from one aligned buffer, measured in the same rounds. Tensors of a step are written
while training continues with two threads or with one (`tf.config.threading`), and without training: then the
tensors of one step are given to the writer repeatedly. Each way runs in a separate process. Medians.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _table import print_table
from _tap_costs import DIRECT_BYTES, Discard, direct_writer, folder_bytes, ready_step

GOAL = 0.8
WAYS = {"training with two threads": 2, "training with one thread": 1, "without training": 0}
Write = Callable[[], int]
"""Writes values, waits until they are there, and returns their bytes."""


def measure(write: Write, direct: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """(MB/s of values, MB/s of the disk) after a round to warm up."""
    values, limit = [], []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        nbytes = write()
        values.append(nbytes / (time.perf_counter() - began) / 1e6)
        began = time.perf_counter()
        for _ in range(4):
            direct()
        limit.append(4 * DIRECT_BYTES / (time.perf_counter() - began) / 1e6)
    return median(values[1:]), median(limit[1:])


def training(model: str, quick: bool, threads: int, folder: Path, rounds: int) -> tuple[float, float]:
    import tensorflow as tf

    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    step = ready_step(model, quick)
    with Tap(folder / "r", Watch(steps=1, keep="value")) as tap:

        def write() -> int:
            before = folder_bytes(tap.run_dir)
            for _ in range(5):
                with tap.step():
                    step()
            tap.flush()
            return folder_bytes(tap.run_dir) - before

        return measure(write, direct_writer(folder / "direct"), rounds)


def writing(model: str, quick: bool, folder: Path, rounds: int) -> tuple[float, float]:
    """The tensors of one step, without training."""
    from tensortap.capture.pipeline.messages import TensorBatch
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch
    from tensortap.dump.write.writer import DumpWriter

    batches: list[list[Any]] = []

    class Keep(Discard):
        def write(self, message: Any) -> int:
            if isinstance(message, TensorBatch):
                batches.append(list(message.tensors))
            return 0

    step = ready_step(model, quick)
    with (
        mock.patch("tensortap.capture.tap.BatchWriter", lambda *_: Keep()),
        Tap(folder / "r", Watch(steps=1, keep="value")) as tap,
    ):
        with tap.step():
            step()
        tap.flush()
    with DumpWriter(folder, run="again") as writer:
        number = iter(range(1_000_000))

        def write() -> int:
            before = folder_bytes(writer.run_dir)
            for _ in range(5):
                at = next(number)
                for batch in batches:
                    writer.log_many(batch, step=at)
            writer.flush()
            return folder_bytes(writer.run_dir) - before

        return measure(write, direct_writer(folder / "direct"), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller models")
    parser.add_argument("--model", choices=("cnn", "transformer"), action="append", help="only this one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    models = options.model or ["cnn", "transformer"]
    if options.way:
        threads = WAYS[options.way]
        with tempfile.TemporaryDirectory() as folder:
            arguments = (Path(folder), options.rounds)
            print(
                json.dumps(
                    training(models[0], options.quick, threads, *arguments)
                    if threads
                    else writing(models[0], options.quick, *arguments)
                )
            )
        return
    rows = []
    for model in models:
        for way in WAYS:
            command = [sys.executable, __file__, "--model", model, "--way", way]
            command += ["--rounds", str(options.rounds), *(["--quick"] if options.quick else [])]
            found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            values, disk = json.loads(found.splitlines()[-1])
            share = values / disk
            reached = "yes" if share >= GOAL else "no"
            rows.append([model, way, f"{values:,.0f}", f"{disk:,.0f}", f"{share:.2f}", reached])
    head = ("model", "", "values, MB/s", "disk, MB/s", "share", f">= {GOAL}")
    print_table("Values of all nodes", head, rows)


if __name__ == "__main__":
    main()
