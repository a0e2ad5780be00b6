"""The page from a notebook: a server in a thread of this process, and a link to it."""

from __future__ import annotations

import atexit
import os
import threading
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensortap.server import Server

_VIEWERS: dict[str, Viewer] = {}
_LOCK = threading.Lock()


class Viewer:
    """A page that is being served. A notebook shows it as a link; `close()` ends it, and so does the process.

    The page is not put into the notebook itself: it shows dumps, so it lets no other site embed it
    (docs/security.md), and a notebook's address is another site.

    Attributes:
        url: the address of the page, with its token. It is good for this process only.
        name: what is served.
    """

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self.url, self.name = server.url, name
        self._thread = threading.Thread(target=server.run, name="tensortap-page", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def open(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Ends the server; calling it again does nothing."""
        atexit.unregister(self.close)
        if self.open:
            self._server.close()
            self._thread.join(timeout=10)

    def __repr__(self) -> str:
        return f"<page of {self.name}: {self.url if self.open else 'closed'}>"

    def _repr_html_(self) -> str:
        if not self.open:
            return f"<code>{escape(repr(self))}</code>"
        link = f'<a href="{escape(self.url)}" target="_blank" rel="noopener">Open the page</a>'
        return f"{link} of <code>{escape(self.name)}</code>"


def show(logdir: str | os.PathLike[str], *, port: int | None = None) -> Viewer:
    """Serves the page for a log directory, a run, or whatever `tensortap.open` reads, from a thread.

    It listens on 127.0.0.1 only and asks for a token, which the address carries. Shown again, the same
    log directory has the same page.

    Args:
        port: default: 6016, or the next free one; 0: any free one.

    Raises:
        TensortapError: there is no such port, or the source cannot be imported.
    """
    from tensortap.dump import path_of, shown_path
    from tensortap.server import Server

    from .sources import served

    path = path_of(logdir)
    with _LOCK:
        known = _VIEWERS.get(str(path.absolute()))
        if known is None or not known.open:
            known = Viewer(Server(served([path]), port=port), shown_path(path))
            _VIEWERS[str(path.absolute())] = known
        return known
