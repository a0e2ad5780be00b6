"""How kernels and what they call are compiled. Imports numba, which takes 0.4 s: for `kernels` only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Division by zero gives NaN, as in NumPy; nobody calls a kernel from C.
_KERNEL = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Nobody calls a helper from Python either; the entry would keep the compiler longer than the helper does.
_HELPER = _KERNEL | {"no_cpython_wrapper": True}
_REORDER = {"reassoc", "nsz", "contract", "arcp"}

_njit: Any = numba.njit  # its types leave out the options above


def kernel(signature: Any, function: F, *, keep: bool) -> F:
    """Compiles an entry point for one signature; with `keep`, the code is read from, or put on, the disk."""
    compiled: F = _njit(signature, cache=keep, **_KERNEL)(function)
    return compiled


def helper(function: F) -> F:
    """For functions that only kernels call."""
    compiled: F = _njit(**_HELPER)(function)
    return compiled


def fast_helper(function: F) -> F:
    """A helper whose sums may be reordered, so that they vectorise. NaN and Inf keep their meaning."""
    compiled: F = _njit(fastmath=_REORDER, **_HELPER)(function)
    return compiled
