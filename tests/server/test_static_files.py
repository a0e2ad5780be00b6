"""The page: built or not, cached as long as it may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from small_dump import Api

from tensortap.server.routes import static_files

Opened = Callable[..., Api]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>page</title>")
    (static / "assets" / "index-abc123.js").write_text("export {};")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(static_files, "STATIC", static)
    return static


@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_the_page_is_asked_for_again_each_time(
    tmp_path: Path, built: Path, opened: Opened, path: str
) -> None:
    answer = opened(tmp_path).get(path)
    assert answer.content_type == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_assets_are_kept_for_good(tmp_path: Path, built: Path, opened: Opened) -> None:
    answer = opened(tmp_path).get("/assets/index-abc123.js")
    assert answer.content_type == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path", ["/assets/none.js", "/../secret.txt", "/assets/..%2F..%2Fsecret.txt", "//etc/passwd", "/assets/"]
)
def test_nothing_else_is_there(tmp_path: Path, built: Path, opened: Opened, path: str) -> None:
    opened(tmp_path).json(path, 404)


def test_a_page_that_is_not_built_says_how(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_files, "STATIC", tmp_path / "none")
    answer = opened(tmp_path).get("/")
    assert "make frontend" in answer.get_data(as_text=True)
    module = opened(tmp_path).get("/plugin.js")
    assert module.content_type == "text/javascript; charset=utf-8"
    assert "export function render()" in module.get_data(as_text=True)


def test_the_token_guards_the_assets_too(tmp_path: Path, built: Path, opened: Opened) -> None:
    api = opened(tmp_path, token="t" * 48)
    api.json("/assets/index-abc123.js", 401)
    assert api.client.get("/", headers={"Authorization": f"Bearer {'t' * 48}"}).status_code == 200


def test_a_name_that_no_file_can_have_is_not_found(tmp_path: Path, built: Path, opened: Opened) -> None:
    opened(tmp_path).get(f"/{'a' * 300}.js", 404)


def test_the_static_viewer_is_a_file_to_save(tmp_path: Path, built: Path, opened: Opened) -> None:
    """A server's pages run no inline script, so the viewer would stay empty there."""
    (built / "viewer.html").write_text("<!doctype html>")
    answer = opened(tmp_path).get("/viewer.html")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'attachment; filename="tensortap-viewer.html"'
