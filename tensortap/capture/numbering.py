"""Which numbers the steps of a tap get."""

from __future__ import annotations

import threading


class Numbering:
    """Counts a tap's steps. Threads that count at once get numbers of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.next = 0
        """The number of the next step that is not given one."""

    def claim(self, first: int | None, count: int) -> range:
        """`count` steps begin, numbered from `first`, or from the next number."""
        with self._lock:
            first = self.next if first is None else first
            self.next = first + count
            return range(first, self.next)

    def settle(self, claimed: range, count: int) -> range:
        """So many of the steps that began ran; other numbers are free again if no later ones are taken."""
        ran = range(claimed.start, claimed.start + count)
        with self._lock:
            if self.next == claimed.stop:
                self.next = ran.stop
        return ran
