"""The documentation as a site: every document has its place in it, and it loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parent.parent
ELSEWHERE = {"index.md", "api.md", "http_api.md", "format.md"}  # made by .ci/docs_site.py


def leaves(tree: object) -> set[str]:
    if isinstance(tree, dict):
        return set().union(*map(leaves, tree.values()))
    return set().union(*map(leaves, tree)) if isinstance(tree, list) else {str(tree)}


def test_every_document_has_its_place() -> None:
    nav = yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert leaves(nav) == {path.name for path in (CHECKOUT / "docs").glob("*.md")} | ELSEWHERE


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs the extra `docs`")
def test_it_is_built_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(build, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    api = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert 'id="tensortap.Tap"' in api and 'id="tensortap.DumpWriter"' in api
    for page in (tmp_path / "site").glob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link rel="(?:stylesheet|preload)")[^>]*(?:src|href)="([^"]+)', page.read_text()
        )
        assert [address for address in loaded if "//" in address] == []
