"""Forks wait until no thread imports or compiles kernels: the child would find half of numba, and locks that
nobody opens."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from typing import Any

COMPILING = threading.RLock()
"""Held while kernels are imported or compiled, which may fork itself."""

_held: list[AbstractContextManager[Any]] = []  # by the thread that forks


def _hold() -> None:
    COMPILING.acquire()
    # Also when nothing is compiled: whenever Python frees what llvmlite made, in whichever thread.
    lock = getattr(getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None), "_lock", None)
    if isinstance(lock, AbstractContextManager):
        lock.__enter__()
        _held.append(lock)


def _let_go() -> None:
    if _held:
        _held.pop().__exit__(None, None, None)
    COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
