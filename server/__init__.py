"""The HTTP server: `create_app` makes the WSGI application, `Server` serves it; http_api.md is the interface.

`routes` read parameters, ask `tensortap.index` or `tensortap.analysis`, and answer. `jobs` run what takes
long, `log_reader` keeps the index fresh, `story` records answers for a page without a server.
Imports neither TensorFlow nor `tensortap.capture`; `tensortap.cli`, `tensortap.api` and the plugin import it.
Begin with `app.py`, then one module of `routes`. Names are resolved when they are first used: worker
processes import this package without Flask.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app
    from .serve import Server

__all__ = ["Server", "create_app"]


def __getattr__(name: str) -> Any:
    homes = {"create_app": ".app", "Server": ".serve"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(homes[name], __name__), name)
