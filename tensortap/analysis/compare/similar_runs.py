"""Suggests a run to compare with: the run with the most tensors in common."""

from __future__ import annotations

from collections.abc import Iterable

from tensortap.index.run_index import RunIndex

_MAX_RUNS = 50  # runs that are checked


def most_similar_run(run: RunIndex, others: Iterable[RunIndex]) -> tuple[RunIndex, int] | None:
    """The run with the largest share of tensor names in common (of the longer list); of equal ones the first.

    Args:
        others: the newest first; no more than 50 are checked, and `run` itself is skipped.

    Returns:
        The run and the number of common names; None without another run or common names.
    """
    names = set(run.tensors)
    best: tuple[RunIndex, int] | None = None
    most = 0.0
    for number, other in enumerate(each for each in others if each.id != run.id):
        if number >= _MAX_RUNS:
            break
        found = other.tensors
        common = len(names.intersection(found))
        share = common / max(len(names), len(found), 1)
        if share > most:
            best, most = (other, common), share
    return best
