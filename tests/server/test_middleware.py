"""The gate in front of a small application: who is let in, what every answer carries."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.test import Client, TestResponse
from werkzeug.wrappers import Request, Response

from tensortap.core.errors import InvalidValueError
from tensortap.server.security.middleware import CONTENT_SECURITY_POLICY, Policy, SecurityMiddleware
from tensortap.server.security.notebook_frame import Framing
from tensortap.server.security.trusted_hosts import AllowedHosts

TOKEN = "0123456789abcdef" * 3
OWN = {"Host": "localhost:6016"}


@Request.application
def hello(request: Request) -> Response:
    return Response(f"hello {request.path}", content_type="text/plain")


def client(token: str | None = None, *, use_cookies: bool = False) -> Client:
    return Client(
        SecurityMiddleware(hello, Policy(AllowedHosts.of(["gpubox"], 6016), token)), use_cookies=use_cookies
    )


def get(
    path: str = "/api/runs", token: str | None = None, method: str = "GET", **headers: str
) -> TestResponse:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return client(token).open(path, method=method, headers=OWN | named)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "LOCALHOST:6016"}, 200),
        ({"Host": "[::1]:6016"}, 200),
        ({"Host": "gpubox:80"}, 200),
        ({"Host": "evil.example:6016"}, 403),
        ({"Host": "localhost:1"}, 403),
        ({"Origin": "http://localhost:6016"}, 200),
        ({"Origin": "http://LOCALHOST:6016"}, 200),
        ({"Origin": "http://localhost:6017"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[broken"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
    ],
)
def test_who_may_ask_the_api(headers: dict[str, str], status: int) -> None:
    answer = client().get("/api/runs", headers=OWN | headers)
    assert answer.status_code == status
    if status == 403:
        assert set(answer.get_json()) == {"error", "hint"}


@pytest.mark.parametrize(("dest", "status"), [("document", 200), ("iframe", 403), ("script", 403)])
def test_another_site_may_link_to_the_page_but_not_embed_it(dest: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": dest}
    assert client().get("/", headers=OWN | headers).status_code == status


def test_a_refused_host_is_reported_the_flag() -> None:
    hint = get(Host="localhost:9999").get_json()["hint"]
    assert "--allow-host localhost:9999" in hint


def test_a_refused_host_that_is_none_is_not_repeated_in_the_flag() -> None:
    assert "--allow-host NAME" in get(Host="a b;rm").get_json()["hint"]


def test_no_list_accepts_any_host() -> None:
    answer = Client(SecurityMiddleware(hello, Policy(None, None))).get(
        "/", headers={"Host": "anything.example"}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_only_reading(method: str) -> None:
    answer = get(method=method)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"
    assert answer.get_json()["hint"] == "Use GET or HEAD."


@pytest.mark.parametrize(("length", "status"), [(8000, 200), (8200, 414)])
def test_long_addresses(length: int, status: int) -> None:
    assert get("/" + "a" * length).status_code == status


def test_a_long_address_without_its_raw_form() -> None:
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/é" * 3000,
        "QUERY_STRING": "",
        "HTTP_HOST": "localhost:6016",
    }
    environ |= {"wsgi.url_scheme": "http"}
    seen: list[str] = []
    b"".join(SecurityMiddleware(hello, Policy(None, None))(environ, lambda status, *_: seen.append(status)))  # type: ignore[arg-type, func-returns-value]
    assert seen == ["414 REQUEST URI TOO LONG"]


@pytest.mark.parametrize("path", ["/", "/api/nothing", "/api/runs"])
@pytest.mark.parametrize("host", ["localhost:6016", "evil.example"])
def test_every_answer_carries_the_headers(path: str, host: str) -> None:
    headers = client(TOKEN).get(path, headers={"Host": host, "Accept": "text/html"}).headers
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY.format(ancestors="'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Type"]
    assert "Access-Control-Allow-Origin" not in headers


def bearer(value: str) -> dict[str, str]:
    return OWN | {"Authorization": value}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OWN, 401),
        (bearer(f"Bearer {TOKEN}"), 200),
        (bearer(f"bearer {TOKEN}"), 200),
        (bearer(f"Bearer {TOKEN[:-1]}"), 401),
        (bearer(f"Bearer {TOKEN}x"), 401),
        (bearer("Bearer "), 401),
        (bearer("Bearer é"), 401),
        (bearer(f"Basic {TOKEN}"), 401),
        (OWN | {"Cookie": f"tensortap-6016={TOKEN}"}, 200),
        (OWN | {"Cookie": f"tensortap-6016=wrong; tensortap-6016={TOKEN}"}, 200),
        (OWN | {"Cookie": f"tensortap-6017={TOKEN}"}, 401),
        (OWN | {"Cookie": "tensortap-6016="}, 401),
    ],
)
def test_the_token(headers: dict[str, str], status: int) -> None:
    answer = client(TOKEN).get("/api/runs", headers=headers)
    assert answer.status_code == status
    assert TOKEN not in answer.get_data(as_text=True)


def login(path: str, **headers: str) -> TestResponse:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return client(TOKEN).get(path, headers=OWN | named)


def test_the_token_moves_from_the_address_into_a_cookie() -> None:
    answer = login(f"/?token={TOKEN}&x=1%20%26")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "./?x=1+%26"
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"tensortap-6016={TOKEN};")
    for attribute in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert attribute in cookie
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_cookie_of_the_login_lets_in() -> None:
    browser = client(TOKEN, use_cookies=True)
    assert browser.get("/api/runs", headers=OWN).status_code == 401
    browser.get(f"/?token={TOKEN}", headers=OWN)
    assert browser.get("/api/runs", headers=OWN).status_code == 200


@pytest.mark.parametrize(
    "path", ["//evil.example/", "//evil.example", "/%2F%2Fevil.example", "/a//evil.example/b"]
)
def test_the_redirect_stays_here(path: str) -> None:
    location = login(f"{path}?token={TOKEN}").headers["Location"]
    assert location.startswith("./")
    assert "//" not in location


def test_a_login_by_a_link_from_another_site_goes_on_by_itself() -> None:
    navigation = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    answer = login(f"/?token={TOKEN}", **navigation)
    assert answer.status_code == 200
    assert 'http-equiv="refresh" content="0;url=./"' in answer.get_data(as_text=True)
    assert TOKEN not in answer.get_data(as_text=True)
    assert "Set-Cookie" in answer.headers


def test_the_api_takes_the_token_in_the_address_without_a_detour() -> None:
    answer = login(f"/api/runs?token={TOKEN}")
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers


def test_a_wrong_token_is_not_a_login() -> None:
    assert login("/?token=wrong").status_code == 401
    assert login("/?token=").status_code == 401


def test_a_browser_without_token_gets_a_page() -> None:
    answer = login("/", Accept="text/html,*/*")
    assert answer.status_code == 401
    assert answer.content_type == "text/html; charset=utf-8"
    text = answer.get_data(as_text=True)
    assert "tensortap serve" in text
    assert "<script" not in text and "<style" not in text and " style=" not in text


def test_its_style_sheet_needs_no_token() -> None:
    answer = login("/tensortap-page.css")
    assert answer.status_code == 200
    assert answer.content_type == "text/css; charset=utf-8"


def test_a_program_without_token_gets_json() -> None:
    answer = login("/api/runs", Accept="text/html")
    assert answer.status_code == 401
    assert answer.get_json()["hint"].endswith("'Authorization: Bearer TOKEN'.")


def test_head_has_no_body() -> None:
    answer: Any = client(TOKEN).head("/", headers=OWN)
    assert answer.status_code == 401
    assert answer.get_data() == b""


IN_A_NOTEBOOK = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "iframe",
    "Accept": "text/html",
}


def test_a_notebook_embeds_what_lies_below_the_secret_path() -> None:
    framing = Framing(("https://hub.example.org",))
    known = Client(SecurityMiddleware(hello, Policy(AllowedHosts.of([], 6016), TOKEN, framing=framing)))

    def ask(path: str, method: str = "GET", **headers: str) -> TestResponse:
        return known.open(path, method=method, headers=OWN | headers)

    page = ask(framing.path, **IN_A_NOTEBOOK)
    assert (page.status_code, page.text) == (200, "hello /")
    policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self' http://localhost:* " in policy
    assert policy.count("https://hub.example.org") == 1
    assert ask(f"{framing.path}api/runs", **{"Sec-Fetch-Site": "same-origin"}).text == "hello /api/runs"
    for path in ("/", "/frame/", f"/frame/{'0' * 48}/", "/api/runs"):
        assert ask(path, **IN_A_NOTEBOOK).status_code in (401, 403)
        assert "hub" not in ask(path).headers["Content-Security-Policy"]
    assert ask(f"{framing.path}api/runs", **IN_A_NOTEBOOK).status_code == 403
    assert ask(framing.path, **IN_A_NOTEBOOK | {"Sec-Fetch-Dest": "document"}).status_code == 403
    assert ask(framing.path, Origin="http://localhost:8888").status_code == 403
    assert ask(framing.path, Host="evil.example:6016").status_code == 403
    assert ask(f"{framing.path}api/replay/compute", "POST").status_code == 405


def test_who_may_embed_is_a_site_and_nothing_else() -> None:
    for origin in ("*", "https://*.example.org", "https://a b", "https://a;script-src *", "ftp://a", "null"):
        with pytest.raises(InvalidValueError, match="not a valid origin"):
            Framing((origin,))
    assert Framing().secret != Framing().secret
    assert Framing().secret not in repr(Framing())


@pytest.mark.parametrize("cookie", [b"a=\xff", b"\xff\xfe", b'a="\\377\xc3'])
def test_a_cookie_that_is_no_text_changes_nothing(cookie: bytes) -> None:
    """Cookies ignore ports: any server on this host can set one."""
    odd = cookie.decode("latin-1")
    assert client(TOKEN).get("/api/runs", headers=OWN, environ_base={"HTTP_COOKIE": odd}).status_code == 401
    both = f"{odd}; tensortap-6016={TOKEN}"
    assert client(TOKEN).get("/api/runs", headers=OWN, environ_base={"HTTP_COOKIE": both}).status_code == 200


def test_a_failure_of_the_application_passes_the_gate(caplog: pytest.LogCaptureFixture) -> None:
    @Request.application
    def broken(request: Request) -> Response:
        raise RuntimeError("secret \x1b]0;pwn\x07")

    gate = SecurityMiddleware(broken, Policy(AllowedHosts.of([], 6016), None))
    answer = Client(gate).get("/%1b]0;pwn%07", headers=OWN)
    assert (answer.status_code, answer.content_type) == (500, "application/json")
    assert "secret" not in answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in answer.headers
    assert "RuntimeError: secret" in caplog.text, "the terminal has the details"
    assert "\x1b" not in caplog.text and r"\x1b]0;pwn\x07" in caplog.text
