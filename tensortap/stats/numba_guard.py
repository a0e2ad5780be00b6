"""Guards against numba side effects and crashes:

- `ignore_config_file`, `cache_settings_of_environment`: a `.numba_config.yaml` of the folder that it runs in;
- `COMPILE_LOCK`: forks while a thread compiles;
- `numba_would_fail`: a limit of the address space (`ulimit -v`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]


_FILE = ".numba_config.yaml"
_CACHE_SETTINGS = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")
_TRACE = "CHROME_TRACE"


def ignore_config_file() -> None:
    """Call it before numba is imported, which lets the environment override the file."""
    if "numba" not in sys.modules and os.path.lexists(_FILE):
        for name in (*_CACHE_SETTINGS, _TRACE):
            os.environ.setdefault(f"NUMBA_{name}", "")


@contextmanager
def cache_settings_of_environment() -> Iterator[None]:
    """Within it, numba caches code where the environment says, or at its default place.

    It does not read the file: a program may have imported numba in another folder, from which the file may
    have been removed since. Nothing compiles meanwhile, which would read it again.
    """
    from numba.core import config
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        before = {name: getattr(config, name) for name in _CACHE_SETTINGS if hasattr(config, name)}
        for name in before:
            setattr(config, name, os.environ.get(f"NUMBA_{name}", ""))
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(config, name, value)


COMPILE_LOCK = threading.RLock()
"""Held while kernels are imported or compiled, which may fork itself."""

_entered: list[AbstractContextManager[Any]] = []  # by the thread that forks


def _lock_compiler() -> None:
    COMPILE_LOCK.acquire()
    # Also when nothing is compiled: whenever Python frees what llvmlite made, in whichever thread.
    lock = getattr(getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None), "_lock", None)
    if isinstance(lock, AbstractContextManager):
        lock.__enter__()
        _entered.append(lock)


def _unlock_compiler() -> None:
    if _entered:
        _entered.pop().__exit__(None, None, None)
    COMPILE_LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock_compiler, after_in_parent=_unlock_compiler, after_in_child=_unlock_compiler
    )


_HEADROOM = 256 << 20  # bytes that the program itself may take meanwhile
_SECONDS = 30  # it takes less than one, or never ends
_TRY = """
import resource, signal, sys
signal.alarm(30)  # also when the program, which waits no longer, was killed
from numpy import add
def taken():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
room = taken() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (room if hard < 0 else min(room, hard), hard))
import numba
numba.njit("float64(float64[::1])")(lambda x: x.sum())
"""


def numba_would_fail() -> bool:
    """Whether numba, not imported yet, cannot be imported or compile here; False at once without a limit."""
    left = _address_space_left()
    if left is None or "numba" in sys.modules:
        return False
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _TRY, str(max(left - _HEADROOM, 0))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return True
    return done.returncode != 0


def _address_space_left() -> int | None:
    """Bytes of address space left for this process; None if unlimited or unknown."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return limit - pages * os.sysconf("SC_PAGE_SIZE")
