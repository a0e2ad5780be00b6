"""What capturing costs a training step, next to TensorFlow's own tfdbg2, and whether the goals are reached.

    python benchmarks/capture.py [--quick] [--json FILE] [--model cnn|transformer] [--before TREE]

Two models are trained: a CNN and a 4-layer transformer. A measurement is a block of consecutive steps, all
of them captured, and the flush after them; `sustained` is its time divided by the steps, so that work in
the background counts; `step` is the median time until a step returns; `cpu` is the processor time of all
threads, which other programs on the machine disturb least: most goals are judged by it. Blocks of all modes
are interleaved, and medians are given. tfdbg2 changes the whole process, so each of its modes runs in a
separate process, with plain blocks before and after. `tap, values of all nodes` discards the values in the
writer's thread; the row of TensorFlow alone is a function that returns all tensors itself. Unwatched steps
are measured apart, in many short pairs of blocks; first calls (trace, tapping, run) in fresh processes; the
queue with a tap that has little room. The disk is measured in the same rounds, the Python of the training
thread in a separate process. With `--before`, each of these processes runs twice for each of two checkouts,
in turn, with three rounds instead of five; peers and plain steps are measured once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, fields
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _records import Figure, add_before, environment_of, report, turns
from _table import print_table
from _tap_costs import (
    DELIVERED,
    DIRECT,
    FIRST_CALLS,
    RETURNED,
    SUMMARIES,
    VALUES,
    Figures,
    Row,
    Timings,
    first_call,
    folder_bytes,
    python_figures,
    queue_figures,
    row_of,
    tap_rows,
    timed_block,
    unwatched,
)
from _train_steps import make_step

Measured = tuple[list[Row], Figures]
TAP_PARTS = ("taps", "unwatched", "python", "queue")
FIRST_TAPPED = FIRST_CALLS[2]
TFDBG_MODES = ("CURT_HEALTH", "FULL_HEALTH", "FULL_TENSOR")


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


def run_part(part: str, model: str, quick: bool, rounds: int) -> Measured:
    """One part of the measurements, in this process."""
    steps = 3 if quick else 5
    if part == "taps":
        return tap_rows(model, quick, steps, rounds), {}
    if part == "unwatched":
        return [], unwatched(model, quick, 10 if quick else 20 * rounds)
    if part == "python":
        return [], python_figures(model, quick)
    if part == "queue":
        return [], queue_figures(model, quick, (64 if quick else 512) << 20)
    if part in FIRST_CALLS:
        return [], first_call(model, quick, part)
    return [tfdbg_row(model, quick, part, steps, rounds)], {}


def run_apart(part: str, model: str, quick: bool, rounds: int, tree: Path | None = None) -> Measured:
    """The same in a separate process, which imports the package of `tree`."""
    command = [sys.executable, __file__, "--model", model, "--part", part, "--rounds", str(rounds)]
    command += ["--quick"] if quick else []
    environment = environment_of(tree)
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    rows, figures = json.loads(found.splitlines()[-1])
    print(f"{model} {part}{'' if tree is None else ' of ' + str(tree)}: done", file=sys.stderr)
    return [Row(**row) for row in rows], figures


def measure(model: str, quick: bool, before: Path | None) -> tuple[Measured, Measured | None]:
    """Everything about one model: now, and before."""
    order = turns(before)
    rounds = 2 if quick else 5 if before is None else 3
    found: dict[Path | None, list[Measured]] = {tree: [] for tree in order}
    for part in TAP_PARTS:
        for tree in order:
            found[tree].append(run_apart(part, model, quick, rounds, tree))
    for _ in range(1 if quick else 3):
        for tree in dict.fromkeys(order):
            found[tree].append(run_apart(FIRST_TAPPED, model, quick, rounds, tree))
    others = [run_apart(mode, model, quick, rounds) for mode in TFDBG_MODES]
    others += [
        run_apart(call, model, quick, rounds) for call in FIRST_CALLS[:2] for _ in range(1 if quick else 3)
    ]
    now, earlier = ([*found[tree], *others] if tree in found else None for tree in (None, before))
    return median_of(now or []), None if before is None else median_of(earlier or [])


def median_of(found: list[Measured]) -> Measured:
    """The medians of what several processes measured."""
    rows: dict[tuple[str, str], list[Row]] = {}
    figures: dict[str, list[float]] = {}
    for some_rows, some_figures in found:
        for row in some_rows:
            rows.setdefault((row.model, row.mode), []).append(row)
        for name, figure in some_figures.items():
            figures.setdefault(name, []).append(figure)
    numbers = [each.name for each in fields(Row)][2:]
    return [
        Row(*key, *(statistics.median(getattr(row, name) for row in some) for name in numbers))
        for key, some in rows.items()
    ], {name: statistics.median(some) for name, some in figures.items()}


def goals(model: str, rows: list[Row], figures: Figures) -> list[list[str]]:
    """(what, goal, result, reached); by CPU time where nothing else is said."""
    modes = {row.mode: row for row in rows}
    ratios = {mode: row.cpu_ratio for mode, row in modes.items()}
    summaries, values = (extra_of(ratios, mode, peer) for mode, peer in COMPARED)
    by_clock = extra_of({mode: row.ratio for mode, row in modes.items()}, *COMPARED[1])
    _, returning, first = (figures[name] for name in FIRST_CALLS)
    own, error = figures["unwatched own"] * 1e6, figures["unwatched error"]
    found = [
        (f"steps not watched / plain (+-{error:.3f}; {own:.0f} us of Python)", 1.01, figures["unwatched"]),
        (
            "values delivered / TensorFlow alone, all tensors returned",
            1.15,
            modes[DELIVERED].cpu / modes[RETURNED].cpu,
        ),
        ("us of Python for each tensor delivered", 2.0, figures["python"]),
        ("first tapped call / TensorFlow alone, all tensors returned", 1.1, first / returning),
        ("summaries of all nodes: extra / FULL_HEALTH's extra", 0.35, summaries),
        ("values of all nodes: extra / FULL_TENSOR's extra", 0.5, values),
        ("values of all nodes: extra / FULL_TENSOR's extra, by the clock", 1.0, by_clock),
        (f"most bytes queued / queue_bytes ({figures['queue waited']:.1f} s waited)", 1.0, figures["queue"]),
    ]
    if DIRECT in modes:
        speed = modes[DIRECT].nbytes / modes[DIRECT].sustained / 1e6
        what = f"values of all nodes: seconds a MB / those past the page cache ({speed:,.0f} MB/s)"
        found.append((what, 1.25, seconds_per_byte(modes[VALUES]) / seconds_per_byte(modes[DIRECT])))
    return [
        [f"{model}: {what}", f"<= {goal}", f"{result:.3f}", "yes" if result <= goal else "no"]
        for what, goal, result in found
    ]


COMPARED = (SUMMARIES, "tfdbg2 FULL_HEALTH"), (VALUES, "tfdbg2 FULL_TENSOR")


def extra_of(ratios: dict[str, float], mode: str, peer: str) -> float:
    """What a mode takes more than a plain step, of what its peer does."""
    return (ratios[mode] - 1) / (ratios[peer] - 1)


def seconds_per_byte(row: Row) -> float:
    return row.sustained / row.nbytes


def figures_of(model: str, rows: list[Row], figures: Figures) -> list[Figure]:
    """What a step, and the first call, take more than plain ones; the limit is TensorFlow returning all."""
    extra = {row.mode: (row.cpu - row.plain_cpu) * 1e3 for row in rows}
    plain, returning, first = (figures[name] for name in FIRST_CALLS)
    found = [
        Figure(f"{model}: not watched", "of plain", figures["unwatched"], 1.0),
        Figure(f"{model}: values, not written, extra", "ms", extra[DELIVERED], extra[RETURNED]),
        Figure(f"{model}: Python a tensor", "us", figures["python"], 2.0),
        Figure(f"{model}: summaries, extra", "ms", extra[SUMMARIES], peer=extra["tfdbg2 FULL_HEALTH"]),
        Figure(f"{model}: values, extra", "ms", extra[VALUES], peer=extra["tfdbg2 FULL_TENSOR"]),
        Figure(f"{model}: first call", "of plain", first / plain, returning / plain),
    ]
    clock = {row.mode: 1e9 * seconds_per_byte(row) for row in rows if row.mode in (VALUES, DIRECT)}
    if DIRECT in clock:
        found.append(Figure(f"{model}: values, by the clock", "ns/byte", clock[VALUES], clock[DIRECT]))
    return found


def table(rows: list[Row]) -> str:
    heads = f"{'step':>10}{'sustained':>12}{'/ plain':>9}{'cpu':>12}{'/ plain':>9}{'MB/step':>10}"
    lines = [f"{'':47}{heads}"]
    for model in dict.fromkeys(row.model for row in rows):
        lines.append(model)
        for row in rows:
            if row.model == model and row.mode != DIRECT:
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
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write a record to this file; other models stay"
    )
    add_before(parser)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    models = options.model or ["cnn", "transformer"]
    if options.part:
        rows, figures = run_part(options.part, models[0], options.quick, options.rounds)
        print(json.dumps([[asdict(row) for row in rows], figures]))
        return
    found, before = {}, {}
    for model in models:
        found[model], earlier = measure(model, options.quick, options.before)
        if earlier is not None:
            before |= {figure.name: figure.now for figure in figures_of(model, *earlier)}
    all_rows = [row for rows, _ in found.values() for row in rows]
    print(table(all_rows))
    reached = [line for model, (rows, figures) in found.items() for line in goals(model, rows, figures)]
    print_table("Goals, by CPU time", ["", "goal", "result", "reached"], reached)
    records = [figure for model, measured in found.items() for figure in figures_of(model, *measured)]
    report("capture", records, options.json, before or None, adds=bool(options.model))


if __name__ == "__main__":
    main()
