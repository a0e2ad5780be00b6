"""Keeps numba from obeying a `.numba_config.yaml` of the folder that it runs in, where that could do harm.

numba reads the file when it is imported and whenever it compiles. The file may say where compiled code is
kept, which numba unpickles, which classes look for it, and which file a trace is written to: somebody else's
log directory may hold both the file and the code. The environment is the user's own, and is obeyed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FILE = ".numba_config.yaml"
_KEPT_CODE = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")
_TRACE = "CHROME_TRACE"


def before_numba() -> None:
    """Call it before numba is imported: there the environment goes before the file, but nothing else does."""
    if "numba" not in sys.modules and os.path.lexists(_FILE):
        for name in (*_KEPT_CODE, _TRACE):
            os.environ.setdefault(f"NUMBA_{name}", "")


@contextmanager
def kept_code_of_the_environment() -> Iterator[None]:
    """Within it, code is kept where the environment says, or where numba does so by default.

    It does not ask for the file: a program may have imported numba in another folder, and whoever owns that
    one may have removed the file since. Nothing compiles meanwhile, which would read it again.
    """
    from numba.core import config
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        before = {name: getattr(config, name) for name in _KEPT_CODE if hasattr(config, name)}
        for name in before:
            setattr(config, name, os.environ.get(f"NUMBA_{name}", ""))
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(config, name, value)
