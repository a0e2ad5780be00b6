"""The TensorBoard plugin. It reads dumps itself: TensorBoard's own reader knows event files only."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.wrappers import Response

from tensortap.core.errors import RemoteError
from tensortap.server.app import create_app
from tensortap.server.security.trusted_hosts import names_on_loopback
from tensortap.storage.uri import path_of

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

NAME = "tensortap"
MOUNT = f"/data/plugin/{NAME}"
_LOG = logging.getLogger(__name__)


class TensortapPlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """Shows the runs below TensorBoard's `--logdir` or `--logdir_spec`, live."""

    plugin_name = NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._flags = context.flags
        self._logdirs = readable_logdirs(context.logdir, getattr(context.flags, "logdir_spec", ""))

    def get_plugin_apps(self) -> Mapping[str, WSGIApplication]:
        """One application for all routes: PATH_INFO arrives whole, and the page sits at its root."""
        app = create_app(self._logdirs, allowed_hosts=allowed_hosts(self._flags), mode="plugin")
        return {"/*": DispatcherMiddleware(_NOTHING, {MOUNT: app})}

    def is_active(self) -> bool:
        """TensorBoard calls this on every reload, so it reads no file: the page explains an empty list."""
        return bool(self._logdirs)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """An iframe of TensorBoard's that imports the build's `plugin.js` and calls its `render()`."""
        return base_plugin.FrontendMetadata(
            es_module_path="/plugin.js", tab_name="Tensortap", disable_reload=True, remove_dom=False
        )


_NOTHING = Response(
    "Not found", 404, content_type="text/plain", headers={"X-Content-Type-Options": "nosniff"}
)


def allowed_hosts(flags: Any) -> list[str] | None:
    """None (any host) if TensorBoard listens on the network: then it controls access, and does not check
    hosts either.

    On loopback a rebound name is refused; `TENSORTAP_ALLOW_HOST` lists more names, by commas.
    """
    host = getattr(flags, "host", None)
    own = names_on_loopback(host) if host else ()
    if getattr(flags, "bind_all", False) or own is None:
        return None
    added = os.environ.get("TENSORTAP_ALLOW_HOST", "").split(",")
    return [*own, *(name.strip() for name in added if name.strip())]


def readable_logdirs(logdir: str | None, logdir_spec: str | None) -> list[str]:
    """The directories that can be read: `logdir`, or those of a spec `name:path,path2`.

    An address that needs a package which is not installed is skipped, and TensorBoard's log says so.
    """
    paths = [logdir] if logdir else [_path(part) for part in (logdir_spec or "").split(",")]
    return [path for path in paths if path and _is_readable(path)]


def _is_readable(path: str) -> bool:
    try:
        path_of(path)
    except RemoteError as error:
        _LOG.warning("The Tensortap tab skips a log directory: %s", error)
        return False
    return True


def _path(part: str) -> str:
    """Turns `"name:path"` into `"path"`; a drive (`C:\\logs`) and an address (`gs://…`) are not names."""
    name, colon, path = part.strip().partition(":")
    if (
        not colon
        or path.startswith("//")
        or (len(name) == 1 and path.startswith(("\\", "/")) and name.isupper())
    ):
        return part.strip()
    return path
