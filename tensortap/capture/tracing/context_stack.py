"""A stack per thread, or per task of those that take turns in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Opened(Generic[T]):
    """An item of a stack; `item` is None once it has ended."""

    def __init__(self, item: T, outer: Opened[T] | None) -> None:
        self.item: T | None = item
        self.outer = outer
        self.thread = threading.get_ident()

    def end(self) -> None:
        """Ends it for every task with access to it; a second call has no effect."""
        self.item = None


class TaskStack(Generic[T]):
    """A stack per thread and per task of an event loop. Iterates over its items, innermost first.

    Coroutines and generators that take turns in a thread end in any order. So an ended entry is marked, at
    any position, instead of popped; it has then ended for tasks, too, that were started inside and run
    on. Make it in a module: contexts hold on to their variables.
    """

    def __init__(self, name: str) -> None:
        self._top: ContextVar[Opened[T] | None] = ContextVar(name, default=None)

    def __iter__(self) -> Iterator[T]:
        return (opened.item for opened in self.opened() if opened.item is not None)

    def opened(self) -> Iterator[Opened[T]]:
        """Entries that have not ended, innermost first."""
        thread = threading.get_ident()
        opened = self._top.get()
        while opened is not None:
            if opened.item is not None and opened.thread == thread:  # contexts can go along to other threads
                yield opened
            opened = opened.outer

    def push(self, item: T) -> Opened[T]:
        """Opens an item for this task, until its `end`."""
        outer = _open(self._top.get())
        if outer is not None:
            outer.outer = _open(outer.outer)  # or those that end in turn would stay in it for ever
        opened = Opened(item, outer)
        self._top.set(opened)
        return opened

    @contextmanager
    def inside(self, item: T) -> Iterator[None]:
        """The item is open in the body."""
        opened = self.push(item)
        try:
            yield
        finally:
            opened.end()
            self._top.set(_open(self._top.get()))


def _open(opened: Opened[T] | None) -> Opened[T] | None:
    """The first that has not ended, from here outwards."""
    while opened is not None and opened.item is None:
        opened = opened.outer
    return opened
