"""The interface of engines: map a task over arguments in order, and reduce the results as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from tensortap.core.progress import AdvanceCount, ignore_count

from .task import Record, Task

FAN_IN = 16  # results that one task of a reduction merges
ATTEMPTS = 3  # of a task when its process is killed

_T = TypeVar("_T")


class Engine(Protocol):
    """Runs tasks somewhere. A context manager.

    A task whose process is killed runs again, `ATTEMPTS` times in all: tasks may run twice, so they publish
    their files by renaming them. Results do not depend on the engine.
    """

    def map(
        self, task: Task, arguments: Sequence[Record], advance: AdvanceCount = ignore_count
    ) -> list[Record]:
        """The answers to all arguments, in their order.

        Raises:
            TensortapError: of the first task that failed, or whose process ended each time.
        """
        ...

    def __enter__(self) -> Engine: ...

    def __exit__(self, *exc: object) -> None: ...


def reduce_tree(items: Sequence[_T], merge: Callable[[Sequence[Sequence[_T]]], list[_T]]) -> _T | None:
    """Merges many items into one, `FAN_IN` at a time. The grouping depends only on the order of `items`.

    Args:
        merge: takes the groups of one level of the tree; returns an item for each, in their order.
    """
    level = list(items)
    while len(level) > 1:
        groups = [level[at : at + FAN_IN] for at in range(0, len(level), FAN_IN)]
        level = merge(groups)
    return level[0] if level else None
