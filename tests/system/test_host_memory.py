"""How much host memory there is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tensortap.system import host_memory


def test_the_tightest_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable: 5000 kB\n")
    monkeypatch.setattr(host_memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(host_memory, "_CGROUP", tmp_path)
    assert host_memory.available_bytes() == 5000 * 1024
    (tmp_path / "memory.max").write_text("2000000\n")
    (tmp_path / "memory.current").write_text("500000\n")
    assert host_memory.available_bytes() == 1500000
    (tmp_path / "memory.max").write_text("max\n")
    assert host_memory.available_bytes() == 5000 * 1024


def test_a_system_that_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the machine's memory counts then, if that is known."""
    monkeypatch.setattr(host_memory, "_MEMINFO", tmp_path / "nothing")
    monkeypatch.setattr(host_memory, "_CGROUP", tmp_path / "nothing")
    monkeypatch.setattr(
        os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False
    )
    assert host_memory.available_bytes() == 4096000
    monkeypatch.delattr(os, "sysconf")
    assert host_memory.available_bytes() is None
