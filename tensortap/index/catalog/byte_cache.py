"""A cache of what was decoded or fetched last, limited in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class ByteCache(Generic[_T]):
    """The most recently used items, up to `limit` bytes, or the last one. Thread-safe.

    Args:
        size: bytes of an item.
    """

    def __init__(self, limit: int, size: Callable[[_T], int]) -> None:
        self._limit, self._size = limit, size
        self._bytes = 0
        self._held: OrderedDict[Any, _T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, read: Callable[[], _T]) -> _T:
        """The cached item of a key, read now if missing."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = read()
        with self._lock:
            if key not in self._held:
                self._held[key] = made
                self._bytes += self._size(made)
            while self._bytes > self._limit and len(self._held) > 1:
                self._bytes -= self._size(self._held.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Drops all items."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def forget(self, chosen: Callable[[Any], bool]) -> None:
        """Drops the items with such keys."""
        with self._lock:
            for key in list(filter(chosen, self._held)):
                self._bytes -= self._size(self._held.pop(key))
