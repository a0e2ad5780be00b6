"""How large graphs may become, against the bytes that describe them.

A few bytes say that a node has 10,000 outputs, call a large function from one more place, or nest one more
call, whose nodes all have the names of the calls in front of theirs.
"""

from __future__ import annotations

from ..errors import RefusedError

_FREE = 100_000  # nodes and outputs of a source of any size
_NAMES = 1 << 20  # characters that such a source may have in front of names
_NAMES_PER_BYTE = 64


class GraphLimits:
    """Counts what the graphs of one source have.

    A node takes more bytes than it has outputs, unless it says how many by a number.

    Args:
        length: bytes of the source.
    """

    def __init__(self, length: int) -> None:
        self._outputs = _FREE + length
        self._names = _NAMES + _NAMES_PER_BYTE * length

    def add(self, count: int) -> None:
        """Counts nodes, their outputs, and functions. Raises RefusedError when there are too many."""
        self._outputs -= count
        if self._outputs < 0:
            raise RefusedError("Its nodes have more outputs, or are called more often, than its bytes allow.")

    def add_names(self, characters: int) -> None:
        """Counts what calls put in front of names. Raises RefusedError when that is too much."""
        self._names -= characters
        if self._names < 0:
            raise RefusedError(
                "The names of its calls, which stand in front of those of nodes, are too long."
            )
