"""TensorBoard's flags as directories and hosts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tensortap.plugin.logdirs import local_logdirs
from tensortap.plugin.tab import allowed_hosts


@pytest.mark.parametrize(
    ("logdir", "spec", "expected"),
    [
        ("logs", "", ["logs"]),
        ("logs", "ignored:x", ["logs"]),
        ("", "a:logs/a,b:/logs/b", ["logs/a", "/logs/b"]),
        ("", "logs/a, logs/b", ["logs/a", "logs/b"]),
        ("", "a:/logs,/other", ["/logs", "/other"]),
        ("", "C:\\logs", ["C:\\logs"]),
        ("gs://bucket/logs", "", []),
        ("", "a:gs://bucket/logs,b:logs", ["logs"]),
        ("", "gs://bucket/logs", []),
        (None, None, []),
    ],
)
def test_local_directories(logdir: str | None, spec: str | None, expected: list[str]) -> None:
    assert local_logdirs(logdir, spec) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, []),
        ({"host": None, "bind_all": False}, []),
        ({"host": "localhost"}, []),
        ({"host": "::1"}, []),
        ({"bind_all": True}, None),
        ({"host": "0.0.0.0"}, None),
        ({"host": "gpubox"}, None),
    ],
)
def test_the_host_is_checked_on_loopback_only(flags: dict[str, object], expected: list[str] | None) -> None:
    assert allowed_hosts(SimpleNamespace(**flags)) == expected


def test_more_hosts_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORTAP_ALLOW_HOST", "gpubox, proxy.example.org:443,")
    assert allowed_hosts(SimpleNamespace(host=None)) == ["gpubox", "proxy.example.org:443"]
