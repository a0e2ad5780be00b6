"""A log directory that keeps `serve` waiting before it has an address."""

from __future__ import annotations

from pathlib import Path

import pytest
from polling import until

from tensortap.importers import resolve


def test_a_disk_that_hangs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a log directory that answers only once something was said of it THEN that was so."""

    def scan(path: Path) -> None:
        until(lambda: f"{path} has not responded for" in capsys.readouterr().err, "a line about it")

    monkeypatch.setattr(resolve, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(resolve, "scan", scan)
    assert resolve.resolve_log_directories([tmp_path]) == [tmp_path]


def test_a_disk_that_answers_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolve.resolve_log_directories([tmp_path]) == [tmp_path]
    assert capsys.readouterr().err == ""
