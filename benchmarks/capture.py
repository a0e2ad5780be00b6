"""What capturing costs a training step, next to TensorFlow's own tfdbg2.

    python benchmarks/capture.py [--quick] [--json FILE] [--model cnn|transformer]

Two models are trained: a CNN and a 4-layer transformer. A measurement is a block of consecutive steps, all
of them captured, and the flush after them; `sustained` is its time divided by the steps, so that work in
the background counts; `step` is the median time until a step returns; `cpu` is the processor time of all
threads, which other programs on the machine disturb least. Blocks of all modes are interleaved, and
medians are given. tfdbg2 changes the whole process, so each of its modes runs in a process of its own,
with plain blocks before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

TFDBG_MODES = ("CURT_HEALTH", "FULL_HEALTH", "FULL_TENSOR")
PLAIN = "plain"


@dataclass
class Row:
    """Figures of one mode of one model; seconds and bytes a step."""

    model: str
    mode: str
    step: float
    sustained: float
    cpu: float
    plain_sustained: float
    plain_cpu: float
    nbytes: float = 0.0

    @property
    def ratio(self) -> float:
        return self.sustained / self.plain_sustained

    @property
    def cpu_ratio(self) -> float:
        return self.cpu / self.plain_cpu


@dataclass
class Timings:
    steps: list[float] = field(default_factory=list)
    blocks: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


Step = Callable[[], Any]


def make_step(model: str, quick: bool) -> Step:
    """A train step over one batch, like a user's custom loop."""
    import tensorflow as tf

    keras_model, x, y = cnn(quick) if model == "cnn" else transformer(quick)
    from keras import losses, optimizers

    loss_of = losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = optimizers.Adam(1e-3)
    optimizer.build(keras_model.trainable_variables)

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, keras_model(x, training=True))
        gradients = tape.gradient(loss, keras_model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, keras_model.trainable_variables, strict=True))
        return loss

    batch = tf.constant(x), tf.constant(y)
    return lambda: train(*batch).numpy()


def cnn(quick: bool) -> tuple[Any, Any, Any]:
    import numpy as np
    from keras import Model, layers

    size = 16 if quick else 32
    inputs = x = layers.Input((size, size, 3))
    for index, filters in enumerate((32, 64, 64)):
        x = layers.Conv2D(filters, 3, padding="same", name=f"conv{index}")(x)
        x = layers.BatchNormalization(name=f"norm{index}")(x)
        x = layers.MaxPooling2D(2, name=f"pool{index}")(layers.ReLU(name=f"relu{index}")(x))
    outputs = layers.Dense(10, name="logits")(layers.Dense(64, "relu", name="hidden")(layers.Flatten()(x)))
    random = np.random.default_rng(0)
    batch = random.standard_normal((32, size, size, 3)).astype(np.float32), random.integers(0, 10, 32)
    return Model(inputs, outputs, name="cnn"), *batch


def transformer(quick: bool) -> tuple[Any, Any, Any]:
    import numpy as np
    from keras import Model, layers

    width, length, words = (64, 32, 200) if quick else (128, 64, 1000)
    inputs = layers.Input((length,), dtype="int32")
    x = layers.Embedding(words, width, name="embedding")(inputs)
    for index in range(4):
        normal = layers.LayerNormalization(name=f"norm{index}a")(x)
        x = x + layers.MultiHeadAttention(4, width // 4, name=f"attention{index}")(normal, normal)
        hidden = layers.Dense(4 * width, "gelu", name=f"up{index}")(
            layers.LayerNormalization(name=f"norm{index}b")(x)
        )
        x = x + layers.Dense(width, name=f"down{index}")(hidden)
    outputs = layers.Dense(words, name="logits")(x)
    random = np.random.default_rng(0)
    batch = random.integers(0, words, (8, length)).astype(np.int32), random.integers(0, words, (8, length))
    return Model(inputs, outputs, name="transformer"), *batch


def timed_block(steps: int, step: Step, settle: Step, into: Timings) -> None:
    """Runs a block of steps and what must follow it."""
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        before = time.perf_counter()
        step()
        into.steps.append(time.perf_counter() - before)
    settle()
    into.blocks.append((time.perf_counter() - began) / steps)
    into.cpu.append((time.process_time() - cpu) / steps)


def tap_rows(model: str, quick: bool, steps: int, rounds: int) -> list[Row]:
    """Plain steps and all ways of tapping, interleaved."""
    from tensorflow.python.eager import context

    from tensortap.capture import Tap, Watch

    untouched = context.Context.call_function
    step = make_step(model, quick)
    chosen = ["output", "gradient"]
    watches = {
        "tap, step not watched": Watch(steps=lambda step: False),
        "tap, summaries of layer outputs and gradients": Watch(kinds=chosen, steps=1),
        "tap, summaries of all nodes": Watch(steps=1),
        "tap, values of all nodes": Watch(steps=1, keep="value"),
    }

    @contextmanager
    def without_hook() -> Iterator[None]:
        hooked = context.Context.call_function
        context.Context.call_function = untouched
        try:
            yield
        finally:
            context.Context.call_function = hooked

    def plain() -> Any:
        with without_hook():
            return step()

    def tapped(tap: Tap) -> Any:
        with tap.step():
            return step()

    with tempfile.TemporaryDirectory() as logdir:
        taps = {
            mode: Tap(Path(logdir) / str(index), watch) for index, (mode, watch) in enumerate(watches.items())
        }
        runs: dict[str, tuple[Step, Step]] = {PLAIN: (plain, lambda: None)}
        with next(iter(taps.values())).step(0):
            step()  # traced under a tap: layers and gradients are known only then
        for mode, tap in taps.items():
            runs[mode] = (lambda tap=tap: tapped(tap)), tap.flush
        timings = interleaved(runs, steps, rounds)
        written = {mode: folder_bytes(tap.run_dir) / (steps * (rounds + 1)) for mode, tap in taps.items()}
        for tap in taps.values():
            tap.close()
    return [
        row_of(model, mode, found, timings[PLAIN], written.get(mode, 0.0)) for mode, found in timings.items()
    ]


def interleaved(runs: dict[str, tuple[Step, Step]], steps: int, rounds: int) -> dict[str, Timings]:
    """A warm-up round, then `rounds` blocks of each mode, in turn."""
    timings = {mode: Timings() for mode in runs}
    for round_number in range(rounds + 1):
        for mode, (step, settle) in runs.items():
            timed_block(steps, step, settle, Timings() if round_number == 0 else timings[mode])
    return timings


def tfdbg_row(model: str, quick: bool, mode: str, steps: int, rounds: int) -> Row:
    """tfdbg2 in this process, which must do nothing else."""
    import tensorflow as tf

    plain, plain_times, debugged_times = make_step(model, quick), Timings(), Timings()
    plain()
    for _ in range(max(1, rounds // 2)):
        timed_block(steps, plain, lambda: None, plain_times)
    with tempfile.TemporaryDirectory() as dump:
        writer = tf.debugging.experimental.enable_dump_debug_info(
            dump, tensor_debug_mode=mode, circular_buffer_size=-1
        )

        def settle() -> None:
            writer.FlushNonExecutionFiles()
            writer.FlushExecutionFiles()

        debugged = make_step(model, quick)
        debugged()
        settle()
        before = folder_bytes(Path(dump))
        for _ in range(rounds):
            timed_block(steps, debugged, settle, debugged_times)
        nbytes = (folder_bytes(Path(dump)) - before) / (rounds * steps)
        tf.debugging.experimental.disable_dump_debug_info()
    for _ in range(max(1, rounds // 2)):
        timed_block(steps, plain, lambda: None, plain_times)
    return row_of(model, f"tfdbg2 {mode}", debugged_times, plain_times, nbytes)


def row_of(model: str, mode: str, timings: Timings, plain: Timings, nbytes: float) -> Row:
    median = statistics.median
    return Row(
        model,
        mode,
        median(timings.steps),
        median(timings.blocks),
        median(timings.cpu),
        median(plain.blocks),
        median(plain.cpu),
        nbytes,
    )


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def run_apart(*arguments: str) -> list[Row]:
    """This program in a process of its own, with the rows it prints."""
    command = [sys.executable, __file__, *arguments]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [Row(**row) for row in json.loads(found.splitlines()[-1])]


def table(rows: list[Row]) -> str:
    heads = f"{'step':>10}{'sustained':>12}{'/ plain':>9}{'cpu':>12}{'/ plain':>9}{'MB/step':>10}"
    lines = [f"{'':47}{heads}"]
    for model in dict.fromkeys(row.model for row in rows):
        lines.append(model)
        for row in rows:
            if row.model == model:
                times = f"{row.step * 1e3:7.1f} ms{row.sustained * 1e3:9.1f} ms{row.ratio:9.2f}"
                cpu = f"{row.cpu * 1e3:9.1f} ms{row.cpu_ratio:9.2f}"
                lines.append(f"  {row.mode:46}{times}{cpu}{row.nbytes / 1e6:10.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller models, fewer steps")
    parser.add_argument("--model", choices=("cnn", "transformer"), action="append", help="only this one")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    steps, rounds = (3, 2) if options.quick else (5, 5)
    models = options.model or ["cnn", "transformer"]
    if options.part:
        (model,) = models
        if options.part == "taps":
            rows = tap_rows(model, options.quick, steps, rounds)
        else:
            rows = [tfdbg_row(model, options.quick, options.part, steps, rounds)]
        print(json.dumps([asdict(row) for row in rows]))
        return
    rows = []
    for model in models:
        for part in ("taps", *TFDBG_MODES):
            rows += run_apart("--model", model, "--part", part, *(["--quick"] if options.quick else []))
            print(f"{model} {part}: done", file=sys.stderr)
    print(table(rows))
    if options.json:
        options.json.write_text(
            json.dumps(
                [asdict(row) | {"ratio": row.ratio, "cpu_ratio": row.cpu_ratio} for row in rows], indent=1
            )
        )


if __name__ == "__main__":
    main()
