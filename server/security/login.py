"""The token: read from a header, a cookie or once from the address, never written anywhere else.

A cookie that no script can read, and not the browser's storage, which outlives the browser's windows and is
open to any script of the page: browsers send it to other ports of the host, too: see docs/security.md.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from werkzeug.http import dump_cookie, parse_cookie

from .trusted_hosts import parse_host

PARAMETER = "token"
_TOKEN_BYTES = 24  # 192 bits, as Jupyter's


def is_token(text: str) -> bool:
    """Whether a token fits into an address and a header: visible ASCII, 1,024 characters at most."""
    return re.fullmatch(r"[!-~]{1,1024}", text) is not None


def new_token() -> str:
    """A fresh token: 48 hex digits."""
    return secrets.token_hex(_TOKEN_BYTES)


def cookie_name(environ: Mapping[str, Any]) -> str:
    """Cookies ignore ports, so the name contains the port that the browser sees: servers do not log each
    other out."""
    host = parse_host(environ.get("HTTP_HOST", ""))
    port = host.port if host and host.port is not None else environ.get("SERVER_PORT", "")
    return f"tensortap-{port}"


def equal_tokens(sent: str, token: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), token.encode())


def has_token(environ: Mapping[str, Any], token: str) -> bool:
    """Whether the cookie or the `Authorization: Bearer` header has the token."""
    scheme, _, sent = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() == "bearer" and equal_tokens(sent.strip(), token):
        return True
    cookies = parse_cookie(_in_utf8(environ.get("HTTP_COOKIE", "")))
    return any(equal_tokens(value, token) for value in cookies.getlist(cookie_name(environ)))


def token_in_address(environ: Mapping[str, Any]) -> str | None:
    """The value of `?token=`, None without one."""
    return dict(_query(environ)).get(PARAMETER)


def address_without_token(environ: Mapping[str, Any]) -> str:
    """The address without `?token=`; relative (`./…`), so that no path leads to another site."""
    remaining = [pair for pair in _query(environ) if pair[0] != PARAMETER]
    path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
    last = quote(path.rpartition("/")[2], safe="")
    return "./" + last + ("?" + urlencode(remaining) if remaining else "")


def login_cookie(environ: Mapping[str, Any], token: str) -> str:
    """The value of the Set-Cookie header that keeps the token in the browser until it closes."""
    return dump_cookie(
        cookie_name(environ),
        token,
        path=environ.get("SCRIPT_NAME") or "/",
        httponly=True,
        samesite="Strict",
        secure=environ.get("wsgi.url_scheme") == "https",
    )


def _in_utf8(header: str) -> str:
    """A header with invalid UTF-8 replaced: it includes cookies of other ports of this host, which must not
    lock the user out."""
    return header.encode("latin-1", "replace").decode("utf-8", "replace").encode().decode("latin-1")


def _query(environ: Mapping[str, Any]) -> list[tuple[str, str]]:
    return parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
