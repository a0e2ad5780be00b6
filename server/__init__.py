"""The HTTP server: `create_app` makes the WSGI application, `Server` serves it; http_api.md is the interface.

Nothing is computed here: `routes` read parameters, ask `tensortap.index` or `tensortap.analysis`, answer.
Imports neither TensorFlow nor `tensortap.capture`; `tensortap.cli`, `tensortap.api` and the plugin import it.
Begin with `app.py`, then one module of `routes`.
"""

from tensortap.replay.computing import Computed, ComputedTensor, Computer, LogicTest, Wanted

from .app import create_app
from .security.notebook_frame import Framing
from .security.trusted_hosts import names_on_loopback
from .serve import DEFAULT_PORT, Server, ServingError

__all__ = [
    "DEFAULT_PORT",
    "Computed",
    "ComputedTensor",
    "Computer",
    "Framing",
    "LogicTest",
    "Server",
    "ServingError",
    "Wanted",
    "create_app",
    "names_on_loopback",
]
