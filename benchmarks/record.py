"""What recording costs a training step: `Tap(record=…)`, and what the dump of it takes.

    python benchmarks/record.py [--quick] [--rounds 15] [--model cnn|transformer]

A CNN and a 4-layer transformer are trained, as in `capture.py`. Blocks of all modes are interleaved, and
medians are given: `step` is the time until a step returns, `cpu` the processor time of all threads until the
recording is on the disk, which other programs on the machine disturb least. A recorded step stands alone in
its block, with the wait for the disk behind it. `held` records each step into memory, with a trigger that
looks at the loss only. Of a recorded step whose tensors are captured these are hashed, too: what that takes
is measured as the CPU time that a recording adds to a step with summaries of all nodes. The goal is
judged by the CPU time of every 100th step.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _table import print_table
from _tap_costs import Timings, folder_bytes, ready_step, timed_block, without_hook

EVERY, GOAL = 100, 0.03
PLAIN, RECORDED, HELD = "plain", "recorded", "held for LossSpike"
CAPTURED, HASHED = "summaries of all nodes", "summaries, recorded"


def measure(model: str, quick: bool, rounds: int) -> None:
    """Prints the costs of one model."""
    from tensortap.capture.recording.record_options import Record
    from tensortap.capture.tap import Tap
    from tensortap.capture.triggers.triggers import LossSpike
    from tensortap.capture.watching.step_schedule import every
    from tensortap.capture.watching.watch import Watch

    step, nothing = ready_step(model, quick), Watch(steps=lambda step: False)
    with tempfile.TemporaryDirectory() as logdir:
        taps = {
            RECORDED: Tap(Path(logdir) / "recorded", nothing, record=every(1)),
            HELD: Tap(Path(logdir) / "held", nothing, record=Record(on_trigger=True), on=LossSpike(1e9)),
            CAPTURED: Tap(Path(logdir) / "captured", Watch(steps=1)),
            HASHED: Tap(Path(logdir) / "hashed", Watch(steps=1), record=every(1)),
        }

        def plain() -> Any:
            with without_hook():
                return step()

        def tapped(mode: str) -> Any:
            with taps[mode].step():
                return step()

        tapped(RECORDED)
        taps[RECORDED].flush()
        first = folder_bytes(taps[RECORDED].run_dir)
        runs = {
            PLAIN: (5, plain, lambda: None),
            RECORDED: (1, lambda: tapped(RECORDED), taps[RECORDED].flush),
            HELD: (5, lambda: tapped(HELD), lambda: None),
            CAPTURED: (1, lambda: tapped(CAPTURED), taps[CAPTURED].flush),
            HASHED: (1, lambda: tapped(HASHED), taps[HASHED].flush),
        }
        timings = {mode: Timings() for mode in runs}
        for number in range(rounds + 1):
            for mode, (steps, run, settle) in runs.items():
                timed_block(steps, run, settle, Timings() if number == 0 else timings[mode])
        written = (folder_bytes(taps[RECORDED].run_dir) - first) / (rounds + 1)
        for tap in taps.values():
            tap.close()
    show(model, timings, first, written)


def show(model: str, timings: dict[str, Timings], first: float, written: float) -> None:
    """`first`, `written`: bytes of the first recording, and of each further one."""
    plain = timings[PLAIN]
    rows = []
    for mode, found in timings.items():
        waits, cpu = median(found.steps), median(found.cpu)
        ratios = (waits / median(plain.steps), cpu / median(plain.cpu))
        rows.append(
            [mode, f"{waits * 1e3:.1f} ms", f"{ratios[0]:.2f}", f"{cpu * 1e3:.1f} ms", f"{ratios[1]:.2f}"]
        )
    print_table(f"{model}, per step", ["mode", "step", "/ plain", "cpu", "/ plain"], rows)
    recorded = timings[RECORDED]
    cost = (median(recorded.cpu) / median(plain.cpu) - 1) / EVERY
    waits = (median(recorded.steps) / median(plain.steps) - 1) / EVERY
    reached = "reached" if cost <= GOAL else "not reached"
    print(f"every {EVERY}th step recorded: {cost:.2%} of CPU time, {waits:.2%} of the step time; goal "
        f"{GOAL:.0%}: {reached}")  # fmt: skip
    hashed = (median(timings[HASHED].cpu) - median(timings[CAPTURED].cpu)) / median(plain.cpu) / EVERY
    print(f"with summaries of all nodes, a recording adds {hashed:.2%} of CPU time")
    print(f"on disk: the first recording {first / 1e6:.1f} MB, each later one {written / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller models")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--model", choices=("cnn", "transformer"))
    options = parser.parse_args()
    for model in (options.model,) if options.model else ("cnn", "transformer"):
        measure(model, options.quick, options.rounds)


if __name__ == "__main__":
    main()
