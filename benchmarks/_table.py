"""Timing alternatives against each other, and printing the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

Work = Callable[[], object]


def interleaved(works: Mapping[str, Work], seconds: float = 2.0, rounds: int = 7) -> dict[str, float]:
    """Median CPU seconds of each piece of work, which must not use other threads.

    All run in turn, so that whatever else the machine does falls on all alike: `rounds` times at least,
    and until `seconds` have passed. CPU time, as a busy machine stops whoever works longer more often.
    """
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    deadline = time.perf_counter() + seconds
    while len(next(iter(times.values()))) < rounds or time.perf_counter() < deadline:
        for name, work in works.items():
            start = time.thread_time()
            work()
            times[name].append(time.thread_time() - start)
    return {name: sorted(found)[len(found) // 2] for name, found in times.items()}


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with the first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print(f"\n{title}")
    for row in (head, ["-" * width for width in widths], *rows):
        first, *others = [(text, width) for text, width in zip(row, widths, strict=True)]
        print("  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]))
