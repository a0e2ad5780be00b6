"""The gallery of the documentation: real programs, their first finding, and its story."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import CHECKOUT

pytestmark = pytest.mark.slow
FOUND_BY = {
    "log-of-zero": "ExplodingTensor",
    "negative-bias": "DeadRelu",
    "regression-explodes": "LearningRate",
    "softmax-twice": "LossInputMismatch",
    "layer-never-called": "UnusedLayer",
    "training-false": "UnchangedTensor",
    "bfloat16-weights": "AbsorbedUpdate",
    "epsilon": "tensortap diff",
}


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(CHECKOUT / ".ci" / "gallery.py"))


def check(folder: Path) -> list[str]:
    """Each finding leads to a line of its program; returns their names."""
    findings = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    for each in findings:
        assert FOUND_BY[each["name"]] in each["by"], each
        file, _, line = each["line"].partition(":")
        assert file in ("_bugs.py", "compare_changes.py") and int(line) > 0, each
        assert (folder / f"{each['name']}.html").stat().st_size < 8 << 20
        assert (folder / f"{each['name']}.tap.zip").stat().st_size < 8 << 20
    return [each["name"] for each in findings]


def test_one_finding(script: dict[str, Any], tmp_path: Path) -> None:
    script["make"](tmp_path / "gallery", {"softmax_twice": "Accuracy is low."}, compared=False)
    assert check(tmp_path / "gallery") == ["softmax-twice"]
    page = runpy.run_path(str(CHECKOUT / ".ci" / "docs_site.py"))["gallery_page"](tmp_path / "gallery")
    assert "## Accuracy is low." in page and 'href="gallery/softmax-twice.html"' in page


@pytest.mark.nightly
def test_all_findings(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(CHECKOUT / ".ci" / "gallery.py"), str(tmp_path)], check=True)
    assert check(tmp_path) == list(FOUND_BY)
