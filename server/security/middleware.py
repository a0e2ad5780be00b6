"""The WSGI layers around the application, static files and errors included: access rules and a time limit.

`SecurityMiddleware` checks in this order: the address is short, the method reads, the Host is ours, no other
site asks, the token is there. Only below `api/replay/`, and only where replaying is allowed, POST passes,
with a special header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from werkzeug.wrappers import Response

from tensortap.core.deadline import time_limit

from .. import pages
from ..responses.error_responses import error_response, unexpected_error
from ..responses.responses import CONTENT_TYPE_KEY
from . import login
from .notebook_frame import Framing
from .trusted_hosts import AllowedHosts, parse_host

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

MAX_ADDRESS = 8192
READING = ("GET", "HEAD")
REPLAY = "/api/replay/"
REPLAY_HEADER = "X-Tensortap-Replay"
NO_REPLAY = (
    "Replay is off on this server, because it runs graphs from files.",
    "Start it with --allow-replay, or run 'tensortap step RUN' in a terminal.",
)
PAGES = ("/", "/index.html")
REQUEST_SECONDS = 5.0
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; worker-src 'self'; "
    "frame-ancestors {ancestors}; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Policy:
    """The requests that `SecurityMiddleware` accepts.

    Attributes:
        hosts: None accepts any Host (TensorBoard decides).
        token: None: no token needed.
        allow_hint: how to allow a host, with `{host}` for its name.
        may_replay: whether requests that compute pass, with the token.
        framing: who may embed the page; None: no origin.
    """

    hosts: AllowedHosts | None
    token: str | None
    allow_hint: str = "Start the server with --allow-host {host} to allow it."
    may_replay: bool = False
    framing: Framing | None = None


class RequestTimeout:
    """Gives a WSGI application `REQUEST_SECONDS` for an answer, which must be complete when it returns."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with time_limit(REQUEST_SECONDS):
            return self._application(environ, start_response)


class SecurityMiddleware:
    """Wraps a WSGI application: rejects forbidden requests, adds security headers to every response."""

    def __init__(self, application: WSGIApplication, policy: Policy) -> None:
        self._application = application
        self._policy = policy

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._dispatch(environ, start_response)
        except Exception as error:  # otherwise the HTTP server answers, without our headers
            answer = unexpected_error(error, environ.get("PATH_INFO", ""))
            return answer(environ, _with_security_headers(environ, start_response))

    def _dispatch(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        framing = self._policy.framing
        within = None if framing is None else framing.within(environ)
        if framing is not None and within is not None:
            answer = self._refuse_frame(within)
            application = self._application if answer is None else answer
            return application(within, _with_security_headers(within, start_response, framing.ancestors))
        answer = self._refuse(environ)
        application = self._application if answer is None else answer
        return application(environ, _with_security_headers(environ, start_response))

    def _refuse_frame(self, environ: WSGIEnvironment) -> Response | None:
        """As `_refuse`, below the secret path: it needs no token, and only reads."""
        if environ["REQUEST_METHOD"] not in READING:
            return _method_not_allowed()
        check_frame = partial(_check_site, place="iframe")
        answers = (check(environ) for check in (_check_length, self._check_host, check_frame, _style_sheet))
        return next((answer for answer in answers if answer is not None), None)

    def _refuse(self, environ: WSGIEnvironment) -> Response | None:
        """The rejection; None accepts the request."""
        checks = (_check_length, self._check_method, self._check_host, _check_site, _style_sheet)
        for check in checks:
            answer = check(environ)
            if answer is not None:
                return answer
        if environ["REQUEST_METHOD"] == "POST" and not login.has_token(environ, self._policy.token or ""):
            return _unauthorized()  # a token in the address is enough for reading only
        return _check_token(environ, self._policy.token) if self._policy.token else None

    def _check_method(self, environ: WSGIEnvironment) -> Response | None:
        method = environ["REQUEST_METHOD"]
        if method in READING:
            return None
        if method == "POST" and environ.get("PATH_INFO", "").startswith(REPLAY):
            return _check_replay(environ, self._policy.may_replay and bool(self._policy.token))
        return _method_not_allowed()

    def _check_host(self, environ: WSGIEnvironment) -> Response | None:
        hosts = self._policy.hosts
        header = environ.get("HTTP_HOST", "")
        if hosts is None or hosts.allows(header, environ.get("wsgi.url_scheme", "http")):
            return None
        host = parse_host(header)
        name = "NAME" if host is None else host.name if host.port is None else f"{host.name}:{host.port}"
        return error_response(
            403,
            f"This server does not answer to the host name {header[:200]!r}.",
            self._policy.allow_hint.format(host=name),
        )


def _check_length(environ: WSGIEnvironment) -> Response | None:
    raw = environ.get("REQUEST_URI")
    if raw is None:
        path = quote(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), encoding="latin-1")
        raw = f"{path}?{environ.get('QUERY_STRING', '')}"
    if len(raw) <= MAX_ADDRESS:
        return None
    return error_response(414, "The URL is too long.", f"The limit is {MAX_ADDRESS} characters.")


def _check_replay(environ: WSGIEnvironment, may_replay: bool) -> Response | None:
    """For a request that computes: a header that no form or link can send shows that it comes from our
    page."""
    if not may_replay:
        return error_response(403, *NO_REPLAY)
    kind = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if environ.get("HTTP_X_TENSORTAP_REPLAY") == "1" and kind == "application/json":
        return None
    return error_response(
        403,
        f"The header {REPLAY_HEADER} is missing.",
        "Send the header with value 1, and the body as application/json.",
    )


def _method_not_allowed() -> Response:
    answer = error_response(405, "This server is read-only.", "Use GET or HEAD.")
    answer.headers["Allow"] = ", ".join(READING)
    return answer


def _check_site(environ: WSGIEnvironment, place: str = "document") -> Response | None:
    """Another site may link to the page (a top-level navigation), but neither embed nor read anything.

    `place`: "iframe" where it may embed the page, but not link to it."""
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and not _is_own_origin(origin, environ.get("HTTP_HOST", "")):
        return error_response(
            403,
            "The request came from another site.",
            "Open the page directly; requests from other origins are blocked.",
        )
    if environ.get("HTTP_SEC_FETCH_SITE", "none") in ("none", "same-origin") or _is_navigation(
        environ, place
    ):
        return None
    return error_response(
        403,
        "The request came from another site.",
        "Open the page directly; requests from other sites are blocked.",
    )


def _is_own_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    theirs = parse_host(parts.netloc)
    return parts.scheme in ("http", "https") and theirs is not None and theirs == parse_host(host)


def _is_navigation(environ: WSGIEnvironment, place: str) -> bool:
    return (
        environ.get("HTTP_SEC_FETCH_MODE") == "navigate"
        and environ.get("HTTP_SEC_FETCH_DEST") == place
        and environ.get("PATH_INFO", "") in PAGES
    )


def _style_sheet(environ: WSGIEnvironment) -> Response | None:
    """The style sheet of the server's own pages, which need no token."""
    if environ.get("PATH_INFO") != pages.STYLE_PATH:
        return None
    return Response(
        pages.STYLE, content_type="text/css; charset=utf-8", headers={"Cache-Control": "max-age=3600"}
    )


def _check_token(environ: WSGIEnvironment, token: str) -> Response | None:
    sent = login.token_in_address(environ)
    api = environ.get("PATH_INFO", "").startswith("/api/")
    if sent is not None and login.equal_tokens(sent, token):
        return None if api else _log_in(environ, token)
    if login.has_token(environ, token):
        return None
    wants_page = not api and "text/html" in environ.get("HTTP_ACCEPT", "")
    return _unauthorized(pages.token_needed(environ.get("SCRIPT_NAME", "")) if wants_page else None)


def _unauthorized(page: Response | None = None) -> Response:
    answer = page or error_response(
        401,
        "The token is missing or wrong.",
        "Open the URL that the server printed, or send the header 'Authorization: Bearer TOKEN'.",
    )
    answer.headers.update({"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"})
    return answer


def _log_in(environ: WSGIEnvironment, token: str) -> Response:
    """Moves the token from the address into the cookie."""
    address = login.address_without_token(environ)
    if environ.get("HTTP_SEC_FETCH_SITE", "none") in ("none", "same-origin"):
        answer = Response(b"", 303, {"Location": address}, content_type="text/plain")
    else:
        answer = pages.login(address, environ.get("SCRIPT_NAME", ""))
    answer.headers.update({"Set-Cookie": login.login_cookie(environ, token), "Cache-Control": "no-store"})
    return answer


def _with_security_headers(
    environ: WSGIEnvironment, start_response: StartResponse, ancestors: str = "'self'"
) -> StartResponse:
    """Adds the security headers; `ancestors`: origins that may embed the response."""
    added = HEADERS | {"Content-Security-Policy": CONTENT_SECURITY_POLICY.format(ancestors=ancestors)}

    def start(
        status: str, headers: list[tuple[str, str]], exc_info: object = None, /
    ) -> Callable[[bytes], object]:
        present = {name.lower() for name, _ in headers}
        headers = [
            *headers,
            *((name, value) for name, value in added.items() if name.lower() not in present),
        ]
        if "content-type" not in present:
            headers.append(("Content-Type", environ.get(CONTENT_TYPE_KEY, "application/json")))
        return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)  # type: ignore[arg-type]

    return start
