"""The page from a notebook: a server in a thread of this process, and a link to it, or the page itself."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from tensortap.server.serve import Server

_VIEWERS: dict[tuple[object, ...], Viewer] = {}
_LOCK = threading.Lock()


class Viewer:
    """A page that is being served. A notebook shows it as a link; `close()` ends it, and so does the process.

    Attributes:
        url: the address of the page, with its token. It is good for this process only.
        frame_url: URL of the page for embedding, if allowed.
        name: what is served.
    """

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self.url, self.frame_url, self.name = server.url, server.frame_url, name
        self._thread = threading.Thread(target=server.run, name="tensortap-page", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def open(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stops the server; a second call has no effect."""
        atexit.unregister(self.close)
        if self.open:
            self._server.close()
            self._thread.join(timeout=10)

    def __repr__(self) -> str:
        return f"<page of {self.name}: {self.url if self.open else 'closed'}>"

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        if not self.open:
            return notebook_repr.code(repr(self))
        return notebook_repr.page_link(self.url, self.name)


def show(logdir: str | os.PathLike[str], *, port: int | None = None) -> Viewer:
    """Serve the page from a thread, for a log directory, a run, or another source of `tensortap.open`.

    The server only listens on 127.0.0.1 and needs the token in the URL. A second call for the same log
    directory returns the same page.

    Args:
        port: 6016 or the next free port by default; 0: any free port.

    Returns:
        The page: `url` opens it in a browser, `close()` stops the server.

    Example:
        ```python
        page = tensortap.show("logs", port=0)
        print(page.url)
        page.close()
        ```

    Raises:
        TensortapError: the port is invalid, or the source cannot be imported.
    """
    from tensortap.storage.uri import path_of

    return _viewer([path_of(logdir)], port, None)


class PageFrame:
    """The page inside a notebook: an iframe. `close()` ends it, and so does the process.

    Attributes:
        page: the page that is served; `page.url` opens it in a separate tab.
    """

    def __init__(self, page: Viewer, run: str, height: int) -> None:
        self.page, self._height = page, height
        self._place = f"#run={quote(run, safe='')}" if run else ""

    def close(self) -> None:
        """Ends the server."""
        self.page.close()

    def __repr__(self) -> str:
        return repr(self.page)

    def _repr_html_(self) -> str:
        if not self.page.open:
            return self.page._repr_html_()
        from tensortap.html import notebook_repr

        source = self.page.frame_url + self._place
        return notebook_repr.page_frame(source, self.page.name, self._height, self.page.url)


def notebook(
    logdir: str | os.PathLike[str], *, run: str = "", height: int = 600, origins: Sequence[str] = ()
) -> PageFrame:
    """Show the page in a notebook, for a log directory, a run, or another source of `tensortap.open`.

    The server only listens on 127.0.0.1, so the browser must run on the kernel's machine, or the same port
    must be forwarded. Notebooks at `localhost`, `127.0.0.1` and `origins` may embed it.

    Args:
        run: the run to open first. height: height of the frame in pixels.
        origins: URLs of other notebook servers, e.g. `https://hub.example.org`.

    Example:
        ```python
        tensortap.notebook("logs", height=800)
        ```

    Raises:
        TensortapError: an origin is invalid, or the source cannot be imported.
    """
    from tensortap.storage.uri import path_of

    return view([path_of(logdir)], run, height, origins)


def view(logdirs: Sequence[Path], run: str, height: int, origins: Sequence[str]) -> PageFrame:
    """`notebook`, for paths."""
    return PageFrame(_viewer(logdirs, 0, tuple(origins)), run, height)


def _viewer(logdirs: Sequence[Path], port: int | None, origins: tuple[str, ...] | None) -> Viewer:
    """The page being served, or a new one. `origins`: origins that may embed it; None: no origin."""
    from tensortap.importers.resolve import resolve_log_directories
    from tensortap.server.security.notebook_frame import Framing
    from tensortap.server.serve import Server
    from tensortap.storage.uri import shown_path

    key = (origins, *(str(path.absolute()) for path in logdirs))
    with _LOCK:
        known = _VIEWERS.get(key)
        if known is None or not known.open:
            framing = None if origins is None else Framing(origins)
            server = Server(resolve_log_directories(list(logdirs)), port=port, framing=framing)
            known = _VIEWERS[key] = Viewer(server, ", ".join(map(shown_path, logdirs)))
        return known
