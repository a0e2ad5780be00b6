"""What `tensortap rules` says of programs with a mistake, of the same without it, and of public ones.

    python benchmarks/rules.py [--only NAME …] [--keep FOLDER]

Of a program with a mistake the first finding of high severity counts, as `tensortap rules RUN`, one command,
prints it: *led* if its source line holds the mistake, *named* if it names the cause and another line,
*misled* if it names another cause, *missed* if there is none. Healthy are the same programs without the
mistake, sound ones that look unusual, and those of `tests/support/programs`, after Keras' and TensorFlow's
examples: a finding of high severity there is a false alarm.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/support"))

import _bugs
import _bugs_attention  # noqa: F401  (adds to BUGS)
import _bugs_data  # noqa: F401  (adds to BUGS)
import _bugs_numbers  # noqa: F401  (adds to BUGS)
import _bugs_reinforcement  # noqa: F401  (adds to BUGS)
import _bugs_settings  # noqa: F401  (adds to BUGS)
import _unusual
import keras
from _table import print_table
from programs import keras_programs, loop_programs
from programs.capturing import Capture

from tensortap import Tap, Watch, every
from tensortap.analysis.rules.finding import Finding
from tensortap.analysis.rules.runner import check_rules
from tensortap.index.logdir_index import LogIndex


def high_findings(folder: Path) -> list[Finding]:
    """The findings of high severity on a run, in the order of the command."""
    log = LogIndex(folder.parent)
    log.refresh()
    (run,) = (each for each in log.runs if each.name == folder.name)
    found = check_rules(run)
    if found.failed:
        print(f"{folder.name}: rules failed: {found.failed}", file=sys.stderr)
    return [each for each in found.findings if each.severity == "high"]


def trained(folder: Path, program: Callable[..., object], *arguments: bool) -> list[Finding]:
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    with Tap(folder, watch=Watch(steps=every(1), keep="value")) as tap:
        program(tap, *arguments)
    return high_findings(folder)


def verdict(bug: _bugs.Bug, found: list[Finding]) -> str:
    if not found:
        return "missed"
    first = found[0]
    if first.rule not in bug.rules:
        return "misled"
    is_there = first.frame is not None and first.frame.file == bug.file
    return "led" if is_there and first.frame and first.frame.line in bug.lines else "named"


def first_text(found: list[Finding]) -> str:
    if not found:
        return ""
    line = found[0].frame.line if found[0].frame else 0
    return f"{found[0].rule}, line {line}: {found[0].text}"[:110]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="names of programs, with and without a mistake")
    parser.add_argument("--keep", type=Path, help="folder for the runs")
    arguments = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as temporary,
        ProcessPoolExecutor(PROCESSES, mp_context=spawn) as processes,
    ):
        folder = arguments.keep or Path(temporary)
        only = arguments.only
        _run_bugs(processes, folder, [bug for bug in _bugs.BUGS if not only or bug.name in only])
        for title, programs in HEALTHY.items():
            chosen = [name for name in programs if not only or name in only]
            _run_healthy(processes, title, folder, chosen)


PROCESSES = 2
HEALTHY: dict[str, dict[str, Callable[[Tap], object]]] = {
    "after public examples": {
        program.__name__: lambda tap, program=program: program(Capture(tap))
        for program in (*keras_programs.PROGRAMS, *loop_programs.PROGRAMS)
    },
    "that look unusual": {program.__name__: program for program in _unusual.PROGRAMS},
}


def _judged(folder: Path, name: str) -> tuple[list[Finding], list[Finding]]:
    """The findings on a program with and without its mistake."""
    bug = next(bug for bug in _bugs.BUGS if bug.name == name)
    broken = trained(folder / f"{name}-broken", bug.program, True)
    return broken, trained(folder / f"{name}-healthy", bug.program, False)


def _run_bugs(processes: Executor, folder: Path, bugs: list[_bugs.Bug]) -> None:
    rows, counts, alarms = [], Counter[str](), 0
    judged = processes.map(partial(_judged, folder), [bug.name for bug in bugs])
    for bug, (found, healthy) in zip(bugs, judged, strict=True):
        word = verdict(bug, found)
        counts[word] += 1
        alarms += bool(healthy)
        rows.append([bug.name, word, first_text(found), first_text(healthy) or "-"])
        print("  ".join(rows[-1]), flush=True)
    print_table("Programs with a mistake", ["program", "", "first finding", "without it"], rows)
    print(f"{len(bugs)} mistakes: {', '.join(f'{count} {word}' for word, count in counts.most_common())}")
    print(f"{len(bugs)} without: {alarms} with a finding of high severity")


def _found(folder: Path, title: str, name: str) -> list[Finding]:
    return trained(folder / f"healthy-{name}", HEALTHY[title][name])


def _run_healthy(processes: Executor, title: str, folder: Path, names: Sequence[str]) -> None:
    rows, alarms = [], 0
    for name, found in zip(names, processes.map(partial(_found, folder, title), names), strict=True):
        alarms += bool(found)
        rows.append([name, first_text(found) or "-"])
        print("  ".join(rows[-1]), flush=True)
    print_table(f"Programs {title}", ["program", "finding of high severity"], rows)
    print(f"{len(rows)} programs: {alarms} with a finding of high severity")


if __name__ == "__main__":
    main()
