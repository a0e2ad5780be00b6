"""Start processes that find tensortap's own modules only, and end when the process that started them does."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

from . import child_bootstrap

_ROOT = Path(__file__).absolute().parents[2]  # the package lies there, or an editable install elsewhere
_pipe_ends: dict[object, int] = {}  # closing one ends the process that holds the other end


def own_command(program: str | Path, *arguments: str) -> list[str]:
    """A command that runs a module of the package, as `replay`, or a file, in a process of its own.

    The folder that it is started in may be somebody's dumps: what lies there is no module (`-P`). Where
    tensortap itself was found there, beside a script, the folder comes last, behind all that is installed.
    """
    found = any(Path(place).absolute() == _ROOT for place in sys.path)
    bootstrap = str(Path(child_bootstrap.__file__).absolute())
    target = str(program) if isinstance(program, Path) else f"tensortap.{program}"
    return [sys.executable, "-P", bootstrap, str(_ROOT) if found else "", target, *arguments]


def start_process(command: list[str], *, bound: bool = True, **options: Any) -> subprocess.Popen[Any]:
    """Start one of these commands, for as long as this process is there.

    When this process ends, by SIGKILL too, the other one is killed at once; on Windows it is not, and ends
    only when it reads or writes the next time.

    Args:
        bound: False: it goes on when this process has ended.
        options: as `subprocess.Popen` has them.

    Raises OSError.
    """
    if not bound or os.name != "posix":
        return subprocess.Popen(command, **options)
    pipe, own_end = os.pipe()
    key = object()  # a number may be that of another pipe, once this one is closed
    _pipe_ends[key] = own_end
    environment = {**(options.pop("env", None) or os.environ), child_bootstrap.PARENT_PIPE: str(pipe)}
    try:
        process = subprocess.Popen(command, pass_fds=[pipe], env=environment, **options)
    except BaseException:
        _close_end(key)
        raise
    finally:
        os.close(pipe)
    weakref.finalize(process, _close_end, key).atexit = False  # what else runs at the end may need it
    return process


def _close_end(key: object) -> None:
    own_end = _pipe_ends.pop(key, None)
    if own_end is not None:
        os.close(own_end)


def _close_all_ends() -> None:
    """A fork of this process is not who started the others."""
    for key in list(_pipe_ends):
        with contextlib.suppress(OSError):  # closed by the program, which forks to be a daemon
            _close_end(key)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_ends)
