"""The documentation as a site: every document has its place in it, and it loads nothing from elsewhere."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

import tensortap

CHECKOUT = Path(__file__).resolve().parent.parent
# Made by .ci/docs_site.py.
ELSEWHERE = {
    "index.md",
    "api.md",
    "command_options.md",
    "rules.md",
    "gallery.md",
    "http_api.md",
    "format.md",
    "architecture.md",
    "contributing.md",
    "changelog.md",
}


def leaves(tree: object) -> set[str]:
    if isinstance(tree, dict):
        return set().union(*map(leaves, tree.values()))
    return set().union(*map(leaves, tree)) if isinstance(tree, list) else {str(tree)}


def test_every_document_has_its_place() -> None:
    nav = yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    docs = CHECKOUT / "docs"
    assert leaves(nav) == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | ELSEWHERE


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as a fresh checkout has it built: nothing has linked the rooms for the API reference yet."""
    folder = tmp_path_factory.mktemp("site")
    others = shutil.ignore_patterns(
        ".[!c]*", "tests", "node_modules", "static", "build", "dist", "site", "demo-logs"
    )
    shutil.copytree(CHECKOUT, folder / "checkout", ignore=others)
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "site")]
    done = subprocess.run(build, cwd=folder / "checkout", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.mark.slow
def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link rel="(?:stylesheet|preload)")[^>]*(?:src|href)="([^"]+)', page.read_text()
        )
        assert [address for address in loaded if "//" in address] == []


@pytest.mark.slow
def test_the_reference_is_whole(site: Path) -> None:
    reference = (site / "api.html").read_text(encoding="utf-8")
    reported = set(re.findall(r'<h\d id="tensortap\.([\w.]+)"', reference))
    assert {*tensortap.__all__} - {"__version__"} <= reported
    assert {
        "api.run.Run",
        "api.run.Run.history",
        "api.tensor.Tensor.plot",
        "replay.restore_variables",
    } <= reported
    assert {"analysis.rule", "replay.execution.loaded_call.LoadedCall", "server.create_app"} <= reported
    routes = (site / "http_api.html").read_text(encoding="utf-8")
    written = (CHECKOUT / "server" / "http_api.md").read_text(
        encoding="utf-8"
    )  # test_http_api.py: all there are
    assert routes.count("<h2 ") == len(re.findall(r"^## ", written, re.MULTILINE)) > 20


@pytest.mark.slow
def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    pages = {
        page.relative_to(site).as_posix(): page.read_text(encoding="utf-8") for page in site.rglob("*.html")
    }
    del pages["404.html"]  # shown at any address, so its links begin at the root
    dead = {
        f"{name} -> {link}"
        for name, text in pages.items()
        for link in re.findall(r'href="([^"]+)"', text)
        if "//" not in link and not link.startswith("mailto:") and not leads(site, name, link, pages)
    }
    assert dead == set()


def leads(site: Path, page: str, link: str, pages: dict[str, str]) -> bool:
    path, _, anchor = unquote(link).partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if target in pages and anchor:
        return f'id="{anchor}"' in pages[target]
    return target == "." or (site / target).exists()
