"""`make audit` tells vulnerabilities, and no answer from no vulnerability."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

AUDIT = runpy.run_path(str(Path(__file__).resolve().parents[2] / ".ci" / "audit.py"))
CLEAN: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "1", "vulns": [{"id": "PYSEC-1"}]}
UNASKED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "status", "out", "err"),
    [
        ([CLEAN, CLEAN], 0, "2 packages looked up, nothing known", ""),
        ([CLEAN, BAD, UNASKED], 1, "2 packages looked up, b: PYSEC-1", ""),
        ([CLEAN, UNASKED], 75, "1 packages looked up", "nothing about 1 packages"),
        ([UNASKED], 75, "", "nothing about 1 packages"),
    ],
)
def test_what_nobody_answered_is_not_clean(
    packages: list[dict[str, Any]], status: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert AUDIT["judged"](packages) == status
    reported = capsys.readouterr()
    assert out in reported.out and err in reported.err
    assert bool(reported.out) is bool(out)
