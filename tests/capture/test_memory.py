"""How much host memory a step takes, and how much there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensortap.capture.instrument import tapped_function
from tensortap.capture.tracing.candidate import Candidate


def test_known_shapes_are_added_up() -> None:
    candidates = [
        Candidate("a", 0, "Add", "float32", (2, 3)),
        Candidate("b", 0, "Add", "bfloat16", ()),
        Candidate("c", 0, "Add", "float64", (None, 5)),
        Candidate("d", 0, "Add", "float64", None),
    ]
    assert tapped_function.estimated_bytes(candidates) == 24 + 2


def test_the_tightest_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable: 5000 kB\n")
    monkeypatch.setattr(tapped_function, "_MEMINFO", meminfo)
    monkeypatch.setattr(tapped_function, "_CGROUP", tmp_path)
    assert tapped_function.available_bytes() == 5000 * 1024
    (tmp_path / "memory.max").write_text("2000000\n")
    (tmp_path / "memory.current").write_text("500000\n")
    assert tapped_function.available_bytes() == 1500000
    (tmp_path / "memory.max").write_text("max\n")
    assert tapped_function.available_bytes() == 5000 * 1024


def test_a_system_that_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapped_function, "_MEMINFO", tmp_path / "nothing")
    monkeypatch.setattr(tapped_function, "_CGROUP", tmp_path / "nothing")
    assert tapped_function.available_bytes() is None
