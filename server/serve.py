"""`Server`: serves the application with waitress. The port, the address with its token, the end by Ctrl-C.

A server runs for days beside the training that it watches: it returns freed memory to the system.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from waitress.server import create_server

from tensortap.core.errors import TensortapError
from tensortap.index.query.search import drop_sorted
from tensortap.replay.client import ReplayProcess

from .app import create_app
from .connections import AcceptLimit, ClientChannel, IdleConnections, SocketMap
from .jobs.analysis_jobs import close_analyses, limit_memory
from .log_reader import call_after_refresh, close_log, drop_log_caches
from .memory_limit import DEFAULT_BYTES, MemoryLimit, MemoryTrimmer, limit_rows, tune_memory
from .response_cache import drop_responses
from .responses.error_responses import ESCAPE_FILTER
from .routes.replay import close_replays
from .security.login import is_token, new_token
from .security.notebook_frame import Framing
from .security.trusted_hosts import bracketed, is_address, is_loopback
from .warm_up import warm_up

DEFAULT_PORT = 6016
_PORTS_TRIED = 50
_FROM_PROXY = {"x-forwarded-host", "x-forwarded-proto"}  # headers believed of a trusted proxy
_MAX_CONNECTIONS, _MIN_CONNECTIONS = 1000, 10
_MAX_WAIT = 1.0  # s; then stalled connections are searched, even if idle
_SHUTDOWN_TIMEOUT = 0.5  # s that running requests have when the server ends
_SHUTDOWN_LOG = logging.getLogger("waitress.shutdown")
_SHUTDOWN_LOG.setLevel(logging.ERROR)
_TUNING = {
    "threads": 16,
    "channel_timeout": 30,
    "cleanup_interval": 1,
    "max_request_header_size": 65536,
    "max_request_body_size": 65536,
    "ident": None,
}


class ServingError(TensortapError):
    """The server cannot start: the port is taken, the host is not ours, or everybody could read the dump.

    The hint names the option to change.
    """


class Server:
    """A server with an open port; `run()` answers until it is interrupted.

    Attributes:
        url: the address of the page, with the token where one is needed.
        port: the TCP port it listens on.
        moved: whether another port than the default one had to be taken.

    `replay_process`: what replays recorded steps, if the page may request that.
    `framing`: origins that may embed the page, at `frame_url`.
    `rules`: a file of rule settings, read again whenever it changes.
    `own_process`: whether this process does nothing else, so that it may keep its memory small.
    `memory`: bytes that this process may take, then; None: no limit.
    `trusted_proxy`: the IP address of a proxy with trusted `X-Forwarded-Host` and `X-Forwarded-Proto`.
    Clients at that address choose the host that the check sees. Others' are thrown away.

    Raises:
        ServingError: the port cannot be opened; no token on a public address, or to replay; a bad host name
            or proxy.
    """

    def __init__(
        self,
        logdirs: Sequence[str | Path],
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        token: str | None = None,
        use_token: bool = True,
        allowed_hosts: Iterable[str] = (),
        trusted_proxy: str | None = None,
        replay_process: ReplayProcess | None = None,
        framing: Framing | None = None,
        rules: Path | None = None,
        own_process: bool = False,
        memory: int | None = DEFAULT_BYTES,
    ) -> None:
        local = is_loopback(host)
        if replay_process is not None and not use_token:
            raise ServingError(
                "Without a token, every user of this machine could make the server run graphs from files.",
                "Remove --no-token or --allow-replay.",
            )
        if not use_token and not local:
            raise ServingError(
                f"Without a token, anyone who can reach {host} could read the dump.",
                "Remove --no-token, or listen on 127.0.0.1 and connect with 'ssh -L'.",
            )
        if trusted_proxy is not None and not is_address(trusted_proxy):
            raise ServingError(
                f"{trusted_proxy[:100]!r} is not the IP address of a proxy.",
                "Use --trusted-proxy ADDRESS, e.g. 127.0.0.1; names and '*' are not accepted.",
            )
        self.token = _usable(token or new_token()) if use_token else None
        self._socket = open_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.moved = port is None and self.port != DEFAULT_PORT
        self.url = _url(host, self.port, self.token)
        self.frame_url = _url(host, self.port, None).rstrip("/") + framing.path if framing else ""
        names = [*allowed_hosts] if local else [*allowed_hosts, socket.gethostname()]
        try:
            self.app = create_app(
                logdirs,
                token=self.token,
                allowed_hosts=names,
                port=self.port,
                any_address=not local,
                replay_process=replay_process,
                framing=framing,
                rules=rules,
            )
        except ValueError as error:
            self._socket.close()
            raise ServingError(str(error), "Use --allow-host NAME or --allow-host NAME:PORT.") from error
        except BaseException:
            self._socket.close()
            raise
        if own_process:
            tune_memory()
            trimmer = MemoryTrimmer()
            call_after_refresh(self.app, trimmer.trim)
            if memory is not None:
                drop = (partial(drop_log_caches, self.app), partial(drop_responses, self.app), drop_sorted)
                MemoryLimit(memory, drop, trimmer.trim).start()
                limit_rows(memory)
                limit_memory(self.app, memory)
        self._running = self._ending = False
        self._changing = threading.Lock()  # guards these two
        self._sockets = SocketMap()
        self._waitress = self._listener(trusted_proxy)

    def _listener(self, trusted_proxy: str | None) -> Any:
        """The waitress server on the open socket."""
        # a page sends a dozen requests at once: that they queue for a moment is expected
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        logging.getLogger("waitress").addFilter(ESCAPE_FILTER)
        proxy = (
            {"trusted_proxy": trusted_proxy, "trusted_proxy_headers": _FROM_PROXY} if trusted_proxy else {}
        )
        limit, sockets = connection_limit(), [self._socket]
        found = create_server(
            self.app, map=self._sockets, sockets=sockets, connection_limit=limit, **_TUNING, **proxy
        )
        found.channel_class, found.maintenance = ClientChannel, IdleConnections(found)
        found.add_task = ClientChannel.answer_next
        AcceptLimit(found)
        return found

    def run(self) -> None:
        """Answers requests until KeyboardInterrupt or SystemExit is raised in this thread, or `close()`."""
        with self._changing:
            if self._ending:  # closed before it ran
                return
            self._running = True
        warming = warm_up(self.app)
        try:
            with suppress(KeyboardInterrupt, SystemExit):
                while not self._ending:
                    self._sockets.wait(_MAX_WAIT)
        finally:
            with self._changing:
                self._ending = True
            self._close()
            warming.join(_SHUTDOWN_TIMEOUT)

    def close(self) -> None:
        """Stops `run()` from another thread and closes open connections. A second call has no effect."""
        with self._changing:
            if self._ending:  # the trigger's file descriptor may be another file's by now
                return
            self._ending = True
            if self._running:
                self._waitress.pull_trigger()
                return
        self._close()

    def _close(self) -> None:
        dispatcher = self._waitress.task_dispatcher
        dispatcher.logger = _SHUTDOWN_LOG  # requests aborted by the shutdown are expected
        dispatcher.shutdown(timeout=_SHUTDOWN_TIMEOUT)
        self._sockets.close()
        close_analyses(self.app)
        close_replays(self.app)
        close_log(self.app)


def connection_limit() -> int:
    """How many connections may be open: half of the files that this process may have open, 1000 at most.

    The default of waitress, 100, is used up by one port scanner. Windows waits for 512 sockets at most.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return _MAX_CONNECTIONS // 2
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        _MAX_CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else max(_MIN_CONNECTIONS, min(_MAX_CONNECTIONS, soft // 2))
    )


def open_socket(host: str, port: int | None) -> socket.socket:
    """A listening TCP socket; without `port` the first free one from `DEFAULT_PORT` on.

    Raises:
        ServingError: the port is taken or not allowed, or the host is not one of this machine.
    """
    ports = range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED) if port is None else (port,)
    family, address = _resolve(host)
    error: OSError | None = None
    for candidate in ports:
        try:
            return _listen(family, address, candidate)
        except OSError as caught:
            error = caught
    reason = os.strerror(error.errno or 0) if error else "no port"
    raise ServingError(
        f"Cannot listen on {bracketed(host)}:{ports[0]}: {reason}.",
        "Choose another port with --port; 0 picks a free one."
        if port is not None
        else "Choose a port with --port.",
    )


def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    if host.lower() == "localhost":
        return socket.AF_INET, "127.0.0.1"  # the address that _url prints
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:  # a label of 64 letters has no encoding
        raise ServingError(f"{host!r} is not an address of this machine.", "Use --host 127.0.0.1.") from error
    return family, str(address[0])


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(128)
    except OSError:
        found.close()
        raise
    return found


def _usable(token: str) -> str:
    if not is_token(token):
        raise ServingError(
            "The token is too long, or has a space or another character not allowed in headers.",
            "Use at least 16 letters and digits, or remove the option to generate a token.",
        )
    return token


def _url(host: str, port: int, token: str | None) -> str:
    # never "localhost": it may resolve to ::1 first, where another user's server could collect the token
    name = (
        socket.gethostname()
        if host in ("0.0.0.0", "::")
        else "127.0.0.1"
        if host.lower() == "localhost"
        else bracketed(host)
    )
    return f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")
