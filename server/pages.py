"""The few pages the server writes itself: plain HTML, one style sheet, no script."""

from __future__ import annotations

from html import escape

STYLE_PATH = "/tensortap-page.css"

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 12vh auto; max-width: 42rem; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; font-weight: 600; }
code { background: rgb(127 127 127 / 18%); border-radius: 4px; padding: .1em .35em; overflow-wrap: anywhere; }
"""

NOT_BUILT_MODULE = """\
export function render() {
  document.body.textContent = "tensortap's page has not been built yet. Run 'make frontend' in its checkout.";
}
"""


def _page(title: str, body: str, *, root: str = ".", head: str = "") -> bytes:
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>{head}"
        f'<link rel="stylesheet" href="{escape(root + STYLE_PATH)}"></head>\n'
        f"<body><main><h1>{escape(title)}</h1>\n{body}</main></body></html>\n"
    ).encode()


def token_needed(root: str) -> bytes:
    """Shown to a browser that carries no token. `root`: where the server's addresses begin (SCRIPT_NAME)."""
    return _page(
        "tensortap needs its token",
        "<p>Open the address that <code>tensortap serve</code> printed in its terminal; "
        "it ends in <code>?token=…</code>. The browser then remembers it until it is closed.</p>\n"
        "<p>If you came here by a link from another site, "
        f'<a href="{escape(root)}/">open the page again</a>.</p>\n'
        "<p>From a program, send the header <code>Authorization: Bearer TOKEN</code>.</p>\n",
        root=root,
    )


def go_on(address: str, root: str) -> bytes:
    """Leads on to `address` by a navigation of our own: along another site's, no strict cookie is sent."""
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(address)}">'
    return _page("tensortap", f'<p><a href="{escape(address)}">Go on</a></p>\n', root=root, head=refresh)


def not_built() -> bytes:
    """Shown in place of the page while the frontend has not been built."""
    return _page(
        "The page has not been built yet",
        "<p>This is a checkout of tensortap without its built frontend. "
        "Run <code>make frontend</code> in its folder, then reload.</p>\n"
        '<p>The data is served already: see <a href="./api/runs">api/runs</a>.</p>\n',
    )
