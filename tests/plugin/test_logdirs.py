"""TensorBoard's flags as directories and hosts."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from tensortap.plugin.plugin import allowed_hosts, readable_logdirs


@pytest.mark.parametrize(
    ("logdir", "spec", "expected"),
    [
        ("logs", "", ["logs"]),
        ("logs", "ignored:x", ["logs"]),
        ("", "a:logs/a,b:/logs/b", ["logs/a", "/logs/b"]),
        ("", "logs/a, logs/b", ["logs/a", "logs/b"]),
        ("", "a:/logs,/other", ["/logs", "/other"]),
        ("", "C:\\logs", ["C:\\logs"]),
        ("gs://bucket/logs", "", ["gs://bucket/logs"]),
        ("", "a:gs://bucket/logs,b:logs", ["gs://bucket/logs", "logs"]),
        ("nothing://bucket/logs", "", []),
        (None, None, []),
    ],
)
def test_directories(logdir: str | None, spec: str | None, expected: list[str]) -> None:
    assert readable_logdirs(logdir, spec) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, []),
        ({"host": None, "bind_all": False}, []),
        ({"host": "localhost"}, ["localhost"]),
        ({"host": "::1"}, ["::1"]),
        ({"host": "workstation"}, ["workstation"]),  # the machine's own name, as Debian resolves it
        ({"bind_all": True}, None),
        ({"host": "0.0.0.0"}, None),
        ({"host": "gpubox"}, None),
    ],
)
def test_the_host_is_checked_on_loopback_only(
    flags: dict[str, object], expected: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"localhost": "127.0.0.1", "::1": "::1", "workstation": "127.0.1.1", "gpubox": "10.0.0.5"}

    def resolve(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (known.get(host, host), 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert allowed_hosts(SimpleNamespace(**flags)) == expected


def test_more_hosts_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORTAP_ALLOW_HOST", "gpubox, proxy.example.org:443,")
    assert allowed_hosts(SimpleNamespace(host=None)) == ["gpubox", "proxy.example.org:443"]
