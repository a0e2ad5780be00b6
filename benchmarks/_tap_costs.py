"""Measuring a train step with a tap, in every way that a tap can be used."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from _train_steps import Step, make_step
from disk import MB, TENSOR, direct

PLAIN = "plain"
RETURNED = "TensorFlow alone, all tensors returned"
DELIVERED = "tap, values of all nodes delivered"
SUMMARIES = "tap, summaries of all nodes"
VALUES = "tap, values of all nodes"
DIRECT = "writing past the page cache"
FIRST_CALLS = ("first plain", "first returning all", "first tapped")
Figures = dict[str, float]


@dataclass
class Row:
    """Figures of one mode of one model; seconds and bytes per step."""

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


class Discard:
    """A sink that throws everything away."""

    def prepare(self) -> None: ...

    def write(self, message: Any) -> int:
        getattr(message, "tensors", []).clear()
        return 0

    def commit(self) -> None: ...

    def flush(self, dropped: int) -> int:
        return 0

    def close(self, dropped: int) -> int:
        return 0


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


@contextmanager
def without_hook() -> Iterator[None]:
    """Takes the tap's hook out of TensorFlow in the body."""
    from tensorflow.python.eager import context

    hooked = context.Context.call_function
    context.Context.call_function = UNTOUCHED[0]
    try:
        yield
    finally:
        context.Context.call_function = hooked


DIRECT_BYTES = 64 * MB  # of a step
UNTOUCHED: list[Any] = []  # TensorFlow's own function, once it is imported


def ready_step(model: str, quick: bool, *, returning_all: bool = False) -> Step:
    """A train step that has not run yet; notes what TensorFlow is without a tap."""
    from tensorflow.python.eager import context

    UNTOUCHED[:] = [context.Context.call_function]
    return make_step(model, quick, returning_all=returning_all)


def tap_rows(model: str, quick: bool, steps: int, rounds: int) -> list[Row]:
    """Plain steps and all ways of tapping, interleaved."""
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch

    step = ready_step(model, quick)
    returning = make_step(model, quick, returning_all=True)
    returning()
    watches = {
        "tap, step not watched": Watch(steps=lambda step: False),
        "tap, summaries of layer outputs and gradients": Watch(kinds=["output", "gradient"], steps=1),
        SUMMARIES: Watch(steps=1),
        DELIVERED: Watch(steps=1, keep="value"),
        VALUES: Watch(steps=1, keep="value"),
    }

    def plain() -> Any:
        with without_hook():
            return step()

    def returned() -> Any:
        with without_hook():
            return returning()

    def tapped(tap: Tap) -> Any:
        with tap.step():
            return step()

    with tempfile.TemporaryDirectory() as logdir:
        taps = {}
        for index, (mode, watch) in enumerate(watches.items()):
            discards = mock.patch("tensortap.capture.tap.BatchWriter", lambda *_: Discard())
            with discards if mode == DELIVERED else nullcontext():
                taps[mode] = Tap(Path(logdir) / str(index), watch)
        runs: dict[str, tuple[Step, Step]] = {
            PLAIN: (plain, lambda: None),
            RETURNED: (returned, lambda: None),
        }
        with next(iter(taps.values())).step(0):
            step()  # traced under a tap: layers and gradients are known only then
        for mode, tap in taps.items():
            runs[mode] = (lambda tap=tap: tapped(tap)), tap.flush
        if hasattr(os, "O_DIRECT"):
            runs[DIRECT] = direct_writer(Path(logdir) / "direct"), lambda: None
        timings = interleaved(runs, steps, rounds)
        written = {mode: folder_bytes(tap.run_dir) / (steps * (rounds + 1)) for mode, tap in taps.items()}
        written[DIRECT] = DIRECT_BYTES
        for tap in taps.values():
            tap.close()
    return [
        row_of(model, mode, found, timings[PLAIN], written.get(mode, 0.0)) for mode, found in timings.items()
    ]


def direct_writer(folder: Path) -> Step:
    """Writes 64 MB into a new file, from an aligned buffer past the page cache: what the disk takes."""
    rng = np.random.default_rng(0)
    tensors = [rng.integers(0, 255, TENSOR, np.uint8) for _ in range(DIRECT_BYTES // TENSOR)]
    folder.mkdir()

    def write() -> None:
        into = Path(tempfile.mkdtemp(dir=folder))
        direct(into, tensors, False, size=4 * MB)

    return write


def unwatched(model: str, quick: bool, pairs: int) -> Figures:
    """Ratio of steps that a tap does not watch to plain ones, paired; its standard error; and CPU seconds of
    the tap's own Python in such a step."""
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch

    step = ready_step(model, quick)
    ratios = []
    with (
        tempfile.TemporaryDirectory() as logdir,
        Tap(Path(logdir) / "r", Watch(steps=lambda _: False)) as tap,
    ):

        def tapped() -> None:
            with tap.step():
                step()

        def plain() -> None:
            with without_hook():
                step()

        plain()
        for pair in range(pairs):
            times = [Timings(), Timings()]
            for which in (0, 1) if pair % 2 else (1, 0):
                timed_block(2, (plain, tapped)[which], lambda: None, times[which])
            ratios.append(times[1].cpu[0] / times[0].cpu[0])
        before = time.thread_time()
        for _ in range(1000):
            with tap.step():
                pass
        own = (time.thread_time() - before) / 1000
    error = 1.25 * statistics.stdev(ratios) / len(ratios) ** 0.5  # of a median
    return {"unwatched": statistics.median(ratios), "unwatched error": error, "unwatched own": own}


def python_figures(model: str, quick: bool) -> Figures:
    """Microseconds of Python a tensor that a tap adds to the training thread, until a step with all values
    has returned: processor time without TensorFlow's call, and without its ops and functions that take
    entries out of the queues and turn them into arrays."""
    from tensorflow.python.eager import context

    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch
    from tensortap.tf import internals

    outside, delivered, found = [0.0], [0], []

    def timed(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            before = time.thread_time()
            try:
                return function(*arguments)
            finally:
                outside[0] += time.thread_time() - before

        return call

    class Counting(Discard):
        def write(self, message: Any) -> int:
            delivered[0] += len(getattr(message, "tensors", ()))
            return super().write(message)

    def python_of(step: Callable[[], Any]) -> float:
        outside[0], before = 0.0, time.thread_time()
        step()
        return time.thread_time() - before - outside[0]

    step = make_step(model, quick)
    with (
        tempfile.TemporaryDirectory() as logdir,
        mock.patch.object(context.Context, "call_function", timed(context.Context.call_function)),
        mock.patch.object(internals, "dequeue", timed(internals.dequeue)),
        mock.patch.object(internals, "as_arrays", timed(internals.as_arrays)),
        mock.patch("tensortap.capture.tap.BatchWriter", lambda *_: Counting()),
        Tap(Path(logdir) / "r", Watch(steps=1, keep="value")) as tap,
    ):

        def watched() -> None:
            with tap.step():
                step()

        for _ in range(15):
            plain, delivered[0] = python_of(step), 0
            tapped = python_of(watched)
            tap.flush()
            found.append(1e6 * (tapped - plain) / delivered[0])
    return {"python": statistics.median(found[5:])}


def queue_figures(model: str, quick: bool, queue_bytes: int) -> Figures:
    """The most bytes that ever waited, of those that may, while values of all nodes are kept."""
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch

    step, most = make_step(model, quick), 0
    with tempfile.TemporaryDirectory() as logdir:
        tap = Tap(Path(logdir) / "r", Watch(steps=1, keep="value"), queue_bytes=queue_bytes)
        for _ in range(8):
            with tap.step():
                step()
            most = max(most, tap._state.writer_thread._waiting_bytes)
        waited = tap._state.writer_thread.waited
        tap.close()
        assert tap.dropped == 0
    return {"queue": most / queue_bytes, "queue waited": waited}


def first_call(model: str, quick: bool, way: str) -> Figures:
    """CPU seconds until the first call of a train step has returned: trace, tapping, run. `way` is one of
    `FIRST_CALLS`."""
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch
    from tensortap.stats.summarize import warm_up

    warm_up()  # numba's import does not belong to TensorFlow's first call
    _, returning_all, tapped = FIRST_CALLS
    step = ready_step(model, quick, returning_all=way == returning_all)
    with tempfile.TemporaryDirectory() as logdir:
        tap = Tap(Path(logdir) / "r", Watch(steps=1, keep="value")) if way == tapped else None
        began = time.process_time()
        if tap is None:
            step()
        else:
            with tap.step():
                step()
        seconds = time.process_time() - began
        if tap is not None:
            tap.close()
    return {way: seconds}


def interleaved(runs: dict[str, tuple[Step, Step]], steps: int, rounds: int) -> dict[str, Timings]:
    """A warm-up round, then `rounds` blocks of each mode, in turn."""
    timings = {mode: Timings() for mode in runs}
    for round_number in range(rounds + 1):
        for mode, (step, settle) in runs.items():
            timed_block(steps, step, settle, Timings() if round_number == 0 else timings[mode])
    return timings


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
