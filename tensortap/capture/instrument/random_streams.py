"""Which functions draw from streams that their own nodes keep, and which have begun to.

A node such as `RandomStandardNormal` with a seed keeps the state of its stream in the running kernel. A copy
of its function has separate kernels, whose streams start again; so for training to draw the same numbers with
a tap as without, either the function or one copy of it must run at every call, from the first one on.
"""

from __future__ import annotations

from tensortap.tf import internals
from tensortap.tf.function_library import function_def
from tensortap.tf.random_ops import has_own_stream
from tensortap.tfproto.function_calls import callees

from .tapped_function import InstrumentedFunction


class RandomStreams:
    """Functions that keep random streams, and the copies that run instead.

    Attributes:
        decided: by function the copy that runs at every call; None: the function itself, or any copy.
    """

    def __init__(self) -> None:
        self.decided: dict[str, InstrumentedFunction | None] = {}
        self._before: set[str] = set()  # functions that may have run before calls were seen
        self._ran: set[str] = set()
        self._draws: dict[str, bool] = {}

    def begin(self) -> None:
        """Calls are seen from now on."""
        self._before = internals.registered_functions() - self.decided.keys()

    def end(self) -> bool:
        """No tap is in use any more; returns whether calls must continue being seen."""
        kept: dict[str, InstrumentedFunction | None] = {
            function: copy
            for function, copy in self.decided.items()
            if copy is not None and internals.has_function(function)
        }
        for function, copy in self.decided.items():
            if copy is not None and function not in kept:
                copy.discard()
        self.decided = kept
        self._ran.clear()
        self._draws.clear()
        return bool(kept)

    def ran_untapped(self, function: str) -> None:
        """A function runs, or will run, without taps."""
        self._ran.add(function)

    def has_begun(self, function: str) -> bool:
        """Whether a function may have drawn without taps before."""
        return function in self._ran or function in self._before

    def draws(self, function: str) -> bool:
        """Whether a function, or one that it calls, draws from a seeded stream that a node keeps."""
        if function not in self._draws:
            self._draws[function] = _draws(function)
        return self._draws[function]


def _draws(root: str) -> bool:
    found, waiting = {root}, [root]
    while waiting:
        for node in function_def(waiting.pop()).node_def:
            if has_own_stream(node):
                return True
            called = {callee.function for callee in callees(node)} - found - {""}
            found |= called
            waiting += called
    return False
