"""The few pages that the server writes itself: plain HTML, one style sheet, no script."""

from __future__ import annotations

from flask import Response

from tensortap.html.environment import render

STYLE_PATH = "/tensortap-page.css"  # also in the template server_page.html.j2 and docker/healthcheck.py

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 12vh auto; max-width: 42rem; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; font-weight: 600; }
code { background: rgb(127 127 127 / 18%); border-radius: 4px; padding: .1em .35em; overflow-wrap: anywhere; }
"""

NOT_BUILT_MODULE = """\
export function render() {
  document.body.textContent = "The page has not been built. Run 'make frontend' in the checkout.";
}
"""


def token_needed(root: str) -> Response:
    """For a browser that carries no token. `root`: where the server's addresses begin (SCRIPT_NAME)."""
    return _page("token_needed", 401, root=root)


def login(address: str, root: str) -> Response:
    """Redirects to `address` by a scripted navigation: along another site's, no strict cookie is sent."""
    return _page("login", root=root, address=address)


def not_built() -> Response:
    """The page to show while the frontend is not built."""
    return _page("not_built", root=".")


def _page(template: str, status: int = 200, **values: str) -> Response:
    return Response(render(template, **values), status, content_type="text/html; charset=utf-8")
