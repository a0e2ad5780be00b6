"""Compiles the kernels on first use, and owns their working memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tensortap.core.histogram import BUCKETS, Histogram

from .moments import Measured
from .numba_guard import (
    COMPILE_LOCK,
    cache_settings_of_environment,
    ignore_config_file,
    numba_would_fail,
)

Kernel = Callable[..., Any]

# Item types of the arguments, all arrays; marked ones may be read-only or unaligned: otherwise each such
# array would need a separate kernel.
_FREE = "*"
_TABLE = "#"  # of two dimensions
_A_NUMBER = "a number"
_ITEM = "item"  # the requested item type
_ACC = "int64"
_ARGUMENTS = {
    "count_bytes": ("uint8*", _ACC),
    "count_shorts": ("uint16*", _ACC),
    "add_codes": ("int64", "float64", "uint16", _ACC),
    "scan_float32": ("float32*", "int32*", "uint64*", _ACC),
    "scan_float64": ("float64*", _ACC),
    "scan_integer": (_ITEM + _FREE, _ACC),
    "scan_complex": (_ITEM + _FREE, _ACC),
    "pack_nonzero": (_ITEM + _FREE, "uint8", _ITEM),
    "scan_small": ("float64", "int64", "int64", _A_NUMBER, _ACC, "uint16", "int64", "int64", "int64#"),
    "finish": (_ACC, _A_NUMBER, "uint16", "int64", "int64"),
}

_RESULTS = {"pack_nonzero": "int64", "finish": "int64"}


class CannotCompileError(Exception):
    """numba is missing, switched off or broken here; plain NumPy must do."""


@cache
def kernel(name: str, item: str = "") -> Kernel:
    """A compiled function of `kernels` and its like; `item` is the item type of those that exist for several.

    Raises:
        CannotCompileError: there will never be one.
    """
    return _compile(
        name, _RESULTS.get(name, "void"), tuple(text.replace(_ITEM, item) for text in _ARGUMENTS[name])
    )


@cache
def _broken() -> set[str]:
    return set()


def _compile(name: str, result: str, arguments: tuple[str, ...]) -> Kernel:
    key = f"{name}{arguments}"
    if key in _broken():
        raise CannotCompileError(key)
    try:
        with COMPILE_LOCK:
            return _compile_now(name, result, arguments)
    except Exception as error:
        _broken().add(key)
        logging.getLogger("tensortap").warning(
            "Statistics are 10 times slower because numba failed: %s", error
        )
        raise CannotCompileError(key) from error


@cache
def _has_too_little_memory() -> bool:
    return numba_would_fail()


def _compile_now(name: str, result: str, arguments: tuple[str, ...]) -> Kernel:
    ignore_config_file()
    if _has_too_little_memory():
        raise CannotCompileError("the address space limit (ulimit -v) is too low")
    import numba

    from . import kernels, kernels_batch

    if getattr(numba.config, "DISABLE_JIT", False):
        raise CannotCompileError("NUMBA_DISABLE_JIT is set")

    def numba_type(text: str) -> Any:
        if text == _A_NUMBER:
            return numba.types.int64
        item, free, rank = (
            text.rstrip(_FREE + _TABLE),
            text.endswith(_FREE),
            2 if text.endswith(_TABLE) else 1,
        )
        return numba.types.Array(getattr(numba.types, item), rank, "C", readonly=free, aligned=not free)

    signature = getattr(numba.types, result)(*map(numba_type, arguments))
    modules = (kernels, kernels_batch)
    function: Kernel = next(getattr(module, name) for module in modules if hasattr(module, name))
    try:
        with cache_settings_of_environment():
            return kernels.compile_kernel(signature, function, keep=True)
    except Exception:  # no place to cache compiled code (a read-only home), or the cache is damaged
        return kernels.compile_kernel(signature, function, keep=False)


class Scratch(threading.local):
    """Accumulators of the kernels, and buffers for their results: one set a thread.

    Raises:
        CannotCompileError: on first use.
    """

    def __init__(self) -> None:
        self._finish = kernel("finish")
        from . import kernels

        self.acc = np.zeros(kernels.ACC_SIZE, np.int64)
        self.acc[kernels.MOMENTS :].view(np.float64)[2:] = np.inf, -np.inf
        self._ids = np.empty(BUCKETS, np.uint16)
        self._counts = np.empty(BUCKETS, np.int64)
        self._result = np.empty(12, np.int64)
        self._moments = self._result[8:].view(np.float64)

    def finish(self, tiny_id: int) -> Measured:
        """Returns the statistics of the data added since the last call; `tiny_id` as for the kernel
        `finish`."""
        ids, counts = self.finish_into(tiny_id, self._result)
        return Measured(Histogram(ids, counts), *self._result[:8].tolist(), *self._moments.tolist())

    def finish_into(self, tiny_id: int, result: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """As `finish`, but counts and the moments' bits go into `result` (int64[12], as in the kernel
        `finish`); returns the histogram's ids and counts."""
        used = self._finish(self.acc, tiny_id, self._ids, self._counts, result)
        return self._ids[:used].copy(), self._counts[:used].copy()


@cache
def scratch() -> Scratch:
    """The calling thread's scratch memory: the same object, with attributes of the thread's own."""
    return Scratch()
