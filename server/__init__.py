"""HTTP only (http_api.md): `create_app` for any WSGI server, `Server` to serve it."""

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
