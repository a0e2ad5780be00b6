"""The page itself: index.html and the hashed assets in static/, built by the frontend."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response
from werkzeug.exceptions import NotFound
from werkzeug.security import safe_join

from .. import pages

blueprint = Blueprint("static_files", __name__)

STATIC = Path(__file__).parents[1] / "static"
CONTENT_TYPES = {  # not the system's table: on some machines it calls .js text/plain, which is blocked
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".wasm": "application/wasm",
}
_FOREVER = "public, max-age=31536000, immutable"  # assets/ carry a hash of their content in their names


@blueprint.get("/")
@blueprint.get("/index.html")
def index() -> Response:
    """The page, or instructions while it is not built."""
    if not (STATIC / "index.html").is_file():
        return pages.not_built()
    return _send("index.html", "no-cache")


@blueprint.get("/plugin.js")
def plugin_module() -> Response:
    """Serve the module that TensorBoard imports into its frame."""
    if not (STATIC / "plugin.js").is_file():
        return Response(pages.NOT_BUILT_MODULE, content_type=CONTENT_TYPES[".js"])
    return _send("plugin.js", "no-cache")


@blueprint.get("/viewer.html")
def viewer() -> Response:
    """The static viewer as a file to save: pages of the server may not run inline scripts."""
    answer = _send("viewer.html", "no-cache")
    answer.headers["Content-Disposition"] = 'attachment; filename="tensortap-viewer.html"'
    return answer


@blueprint.get("/<path:file>")
def file(file: str) -> Response:
    """One file of the build; a path that leads out of it is not found."""
    return _send(file, _FOREVER if file.startswith("assets/") else "no-cache")


def _send(file: str, caching: str) -> Response:
    path = safe_join(str(STATIC), file)
    kind = CONTENT_TYPES.get(Path(file).suffix)
    if path is None or kind is None:
        raise NotFound
    try:
        body = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # there is none, or no file can have that name
        raise NotFound from error
    return Response(body, content_type=kind, headers={"Cache-Control": caching})
