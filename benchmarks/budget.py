"""Whether `Tap(budget=0.03)` stays below 3 % of the time, with everything watched at every step.

    python benchmarks/budget.py [--model cnn|transformer] [--seconds 200] [--budget 0.03]

A model trains plainly for 20 s, then with the tap until `--seconds` have passed, from the same seed. The
share is what capture adds to plain steps of the same training, the writer's CPU time included, of the time of
all steps: with the first captured step, in which the function is copied, and without it. A short training
stays below the budget only without, because the copy takes seconds. The losses of both trainings must be
equal.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _table import print_table
from _tap_costs import ready_step

LEAST_STEPS, PLAIN_SECONDS = 300, 20.0


def train(model: str, seconds: float, step_of: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """(seconds, loss) of each step of a training from a fixed seed, after the step that is traced."""
    import keras

    keras.utils.set_random_seed(0)
    step = ready_step(model, quick=False)
    times: list[float] = []
    losses: list[float] = []
    began = time.perf_counter()
    while len(times) < LEAST_STEPS or time.perf_counter() - began < seconds:
        before = time.perf_counter()
        with step_of():
            losses.append(float(step()))
        times.append(time.perf_counter() - before)
    return times, losses


def measure(model: str, budget: float, seconds: float) -> list[str]:
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.step_budget import Level, StepBudget
    from tensortap.capture.watching.watch import Watch

    plain, plain_losses = train(model, PLAIN_SECONDS, nullcontext)
    levels: list[Level] = []
    note = StepBudget.note

    def noted(self: StepBudget, seconds: float, writer: float, *, level: Level) -> None:
        levels.append(level)
        note(self, seconds, writer, level=level)

    with (
        tempfile.TemporaryDirectory() as logdir,
        mock.patch.object(StepBudget, "note", noted),
        Tap(Path(logdir) / "r", Watch(steps=1), budget=budget) as tap,
    ):
        times, losses = train(model, seconds, tap.step)
        tap.flush()
        writer = tap._state.writer_thread.busy
    common = min(len(plain_losses), len(losses))
    assert plain_losses[:common] == losses[:common], "the tap changed the training"
    usual = median(each for each, level in zip(times, levels, strict=True) if not level)
    captured = [each for each, level in zip(times, levels, strict=True) if level]
    first = captured[0] - plain[0]  # both are traced
    later = sum(captured[1:]) - (len(captured) - 1) * usual + writer
    total = sum(times)
    found = (first + later) / total, later / (total - captured[0])
    full, reduced = levels.count("all"), levels.count("roles")
    shares = [f"{share:.2%}" for share in found]
    return [
        model,
        f"{len(times):,}",
        f"{sum(times):.0f}",
        f"{captured[0]:.1f}",
        f"{full}",
        f"{reduced}",
        *shares,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=("cnn", "transformer"), action="append", help="only this one")
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--budget", type=float, default=0.03)
    options = parser.parse_args()
    rows = [
        measure(model, options.budget, options.seconds) for model in options.model or ("cnn", "transformer")
    ]
    head = ("", "steps", "s", "first captured, s", "full", "reduced", "share", "after the first")
    print_table(f"Tap(budget={options.budget})", head, rows)


if __name__ == "__main__":
    main()
