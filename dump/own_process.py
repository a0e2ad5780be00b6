"""Processes of tensortap's own, started so that nobody else's modules are taken for its."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = Path(__file__).absolute().parents[2]  # the package lies there, or an editable install elsewhere
_RUN = (
    "import runpy, sys; root, module = sys.argv[1:3]; del sys.argv[1:3]; sys.path += [root] * bool(root); "
    "runpy.run_module(module, run_name='__main__', alter_sys=True)"
)


def own_module(name: str) -> list[str]:
    """A command that runs a module of the package, `replay`, in a process of its own.

    The folder that it is started in may be somebody's dumps: what lies there is no module (`-P`). Where
    tensortap itself was found there, beside a script, the folder comes last, behind all that is installed.
    """
    found = any(Path(place).absolute() == _ROOT for place in sys.path)
    return [sys.executable, "-P", "-c", _RUN, str(_ROOT) if found else "", f"tensortap.{name}"]
