"""The page itself: index.html and the hashed assets that the frontend's build left in static/."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response, send_from_directory

from . import pages

blueprint = Blueprint("static_files", __name__)

STATIC = Path(__file__).with_name("static")
_FOREVER = "public, max-age=31536000, immutable"  # assets/ carry a hash of their content in their names


@blueprint.get("/")
@blueprint.get("/index.html")
def index() -> Response:
    """The page, or what to do while it is not built."""
    if not (STATIC / "index.html").is_file():
        return Response(pages.not_built(), content_type="text/html; charset=utf-8")
    return _send("index.html", "no-cache")


@blueprint.get("/<path:file>")
def file(file: str) -> Response:
    """One file of the build; Flask refuses paths that lead out of it."""
    return _send(file, _FOREVER if file.startswith("assets/") else "no-cache")


def _send(file: str, caching: str) -> Response:
    response = send_from_directory(STATIC, file, conditional=False, etag=False)
    response.headers["Cache-Control"] = caching
    return response
