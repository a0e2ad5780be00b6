"""`create_app`: the Flask application, as `tensortap serve` and the TensorBoard plugin run it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from flask import Flask
from werkzeug.routing import PathConverter

from tensortap.index.logdir_index import LogIndex
from tensortap.replay.client import ReplayProcess

from . import log_reader, response_cache
from .responses import error_responses, responses
from .routes import diff, findings, graphs, replay, runs, series, share, snapshots, static_files, values
from .security.middleware import Policy, RequestTimeout, SecurityMiddleware
from .security.notebook_frame import Framing
from .security.trusted_hosts import AllowedHosts

ROUTES = (runs, graphs, snapshots, series, values, findings, replay, diff, share, static_files)

_PLUGIN_HINT = "Set TENSORTAP_ALLOW_HOST={host} in TensorBoard's environment to allow it."


class NameConverter(PathConverter):
    """A node name: any text, with leading, doubled and trailing slashes, dots and line breaks unchanged."""

    regex = r"(?s:.+)"
    part_isolating = False  # a name may span several parts of the path


def create_app(
    logdir: str | Path | Sequence[str | Path],
    *,
    token: str | None = None,
    allowed_hosts: Iterable[str] | None = (),
    port: int | None = None,
    mode: Literal["standalone", "plugin"] = "standalone",
    any_address: bool = False,
    replay_process: ReplayProcess | None = None,
    framing: Framing | None = None,
    rules: Path | None = None,
) -> Flask:
    """Create the WSGI application for the runs below `logdir` (one or several directories, which may not
    exist yet).

    Args:
        token: access token; None: everyone who can connect has access.
        allowed_hosts: allowed `Host` names in addition to loopback, `name` or `name:port`; None accepts any
            (as TensorBoard does on the network).
        port: required port of loopback names; None accepts any.
        mode: `plugin` adapts error messages to a tab of TensorBoard.
        any_address: accept any IP address as `Host`, for a server that listens on the network.
        replay_process: process for replays; None: replay requests are refused.
        framing: origins that may embed the page, below a separate path; None: none.
        rules: a file of rule settings, reloaded when it changes.

    Example:
        ```python
        from tensortap.server import create_app

        app = create_app("logs", token="a long random text", allowed_hosts=["dumps.example.org"])
        ```

    Raises:
        ValueError: one of `allowed_hosts` is not a host name, or there is a replay process but no token.
    """
    if replay_process is not None and token is None:
        raise ValueError("Replay needs a token.")
    hosts = None if allowed_hosts is None else AllowedHosts.of(allowed_hosts, port, any_address=any_address)
    policy = (
        Policy(hosts, token, _PLUGIN_HINT)
        if mode == "plugin"
        else Policy(hosts, token, may_replay=replay_process is not None, framing=framing)
    )
    app = Flask(__name__, static_folder=None, template_folder=None)
    app.debug = False  # whatever FLASK_DEBUG says: answers must not depend on the environment
    app.url_map.merge_slashes = False
    app.url_map.converters["name"] = NameConverter
    log_reader.install(app, LogIndex(logdir))
    error_responses.install(app)
    responses.install(app)
    findings.install(app, rules)
    replay.install(app, replay_process)
    response_cache.install(app)
    share.install(app, create_app)
    for module in ROUTES:
        app.register_blueprint(module.blueprint)
    app.wsgi_app = SecurityMiddleware(RequestTimeout(app.wsgi_app), policy)  # type: ignore[method-assign]
    return app
