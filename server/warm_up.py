"""Work of a server that has just started: encodes the graph of the newest run before a page needs it."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from flask import Flask

from tensortap.core.errors import TensortapError
from tensortap.system.temp_dirs import remove_stale_temp_folders

from .log_reader import current_log
from .routes.graphs import encoded_graph

_LOG = logging.getLogger(__name__)
_THREAD = "tensortap-warm-up"


def warm_up(app: Flask) -> threading.Thread:
    """Starts a thread that encodes the newest run's first graph, then removes leftovers of killed servers.

    A graph of 200,000 nodes takes 0.6 s: it is ready when the browser opens.
    """
    thread = threading.Thread(target=_run, args=(app,), name=_THREAD, daemon=True)
    thread.start()
    return thread


def _run(app: Flask) -> None:
    _encode_newest_graph(app)
    with suppress(OSError):  # of temporary files there may be none
        remove_stale_temp_folders()


def _encode_newest_graph(app: Flask) -> None:
    try:
        with app.app_context():
            newest = next(iter(current_log().runs), None)
        graphs = [] if newest is None or newest.error else newest.graphs
        if newest is not None and graphs:
            encoded_graph(newest.graph(graphs[0].id))
    except TensortapError:  # reported in full on request
        return
    except Exception:  # a thread has no caller; a request tries again
        _LOG.exception("warming up the newest run failed")
