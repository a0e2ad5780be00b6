"""HTTP only (http_api.md): `create_app` for any WSGI server, `Server` to serve it."""

from .app import create_app
from .computing import Computed, ComputedTensor, Computer, LogicTest, Wanted
from .framing import Framing
from .hosts import names_on_loopback
from .serving import DEFAULT_PORT, Server, ServingError

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
