"""Which Host headers are on the list."""

from __future__ import annotations

import pytest

from tensortap.server.security.trusted_hosts import (
    AllowedHosts,
    Host,
    bracketed,
    is_loopback,
    names_on_loopback,
    parse_host,
)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("localhost:6016", Host("localhost", 6016)),
        ("LOCALHOST", Host("localhost")),
        ("[::1]:6016", Host("[::1]", 6016)),
        ("[::1]", Host("[::1]")),
        ("gpu-box.example.org.", Host("gpu-box.example.org")),
        ("", None),
        (":80", None),
        ("a:b", None),
        ("a:", None),
        ("a:1234567", None),
        ("a b", None),
        ("evil.example/..", None),
        ("user@localhost", None),
        ("[::1]x", None),
    ],
)
def test_a_host_is_parsed(text: str, host: Host | None) -> None:
    assert parse_host(text) == host


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("localhost:6016", True),
        ("LocalHost:6016", True),
        ("127.0.0.1:6016", True),
        ("[::1]:6016", True),
        ("localhost:6017", False),
        ("localhost", False),
        ("evil.example:6016", False),
        ("localhost.evil.example:6016", False),
        ("127.0.0.1.nip.io:6016", False),
        ("10.0.0.7:6016", False),
        ("gpubox:6016", True),
        ("GPUBOX", True),
        ("forwarded:9999", True),
        ("forwarded:9998", False),
        ("", False),
    ],
)
def test_the_list(header: str, allowed: bool) -> None:
    hosts = AllowedHosts.of(["gpubox", "forwarded:9999"], 6016)
    assert hosts.allows(header) is allowed


def test_a_missing_port_is_the_scheme_s() -> None:
    hosts = AllowedHosts.of([], 443)
    assert hosts.allows("localhost", "https")
    assert not hosts.allows("localhost", "http")


def test_no_own_port_accepts_any() -> None:
    assert AllowedHosts.of([], None).allows("127.0.0.1:1234")


def test_any_address_means_addresses_not_names() -> None:
    hosts = AllowedHosts.of([], 6016, any_address=True)
    assert hosts.allows("10.0.0.7:6016")
    assert hosts.allows("[2001:db8::7]:80")
    assert not hosts.allows("evil.example:6016")


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'http://x' is not a host name\."):
        AllowedHosts.of(["http://x"], 6016)


@pytest.mark.parametrize(
    ("name", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("gpubox", False),
    ],
)
def test_loopback(name: str, loopback: bool) -> None:
    assert is_loopback(name) is loopback


ADDRESSES = {
    "here": ["127.0.0.1", "::1"],
    "both": ["127.0.1.1", "10.0.0.7"],
    "127.1": ["127.0.0.1"],
    "0.0.0.0": ["0.0.0.0"],
    "a%b": ["::1"],
}


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("here", ("here",)),
        ("both", None),
        ("127.1", ("127.1",)),
        ("0.0.0.0", None),
        ("a%b", ()),
        ("no", ("no",)),
    ],
)
def test_what_a_server_on_loopback_is_called(
    host: str, names: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        if name not in ADDRESSES:
            raise OSError("unknown")
        return [(0, 0, 0, "", (address, 0)) for address in ADDRESSES[name]]

    monkeypatch.setattr("socket.getaddrinfo", resolved)
    assert names_on_loopback(host) == names


def test_brackets() -> None:
    assert [bracketed(name) for name in ("::1", "[::1]", "gpubox")] == ["[::1]", "[::1]", "gpubox"]
