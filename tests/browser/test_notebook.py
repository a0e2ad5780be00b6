"""The page inside a notebook: a real frame of another site, as Jupyter's page shows it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser_page import READY, TapPage
from playwright.sync_api import Browser, expect
from small_dump import write_dump

import tensortap


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and where a server shows it: `localhost` is another site than 127.0.0.1."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield tmp_path, f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_run_is_shown_inside(tap: TapPage, notebook: tuple[Path, str]) -> None:
    folder, address = notebook
    write_dump(folder / "logs")
    run = list(tensortap.open(folder / "logs").runs.values())[-1]  # not the one that the page begins with
    frame = run.view(height=500)
    (folder / "cell.html").write_text(f'<link rel="icon" href="data:,">{frame._repr_html_()}')
    try:
        tap.page.goto(f"{address}/cell.html")
        inside = tap.page.frame_locator("iframe")
        expect(inside.get_by_test_id("run-picker")).to_have_text(run.name)
        (shown,) = [found for found in tap.page.frames if found.parent_frame is not None]
        shown.wait_for_function(READY)
        assert shown.evaluate("() => document.cookie") == ""
        assert "/frame/" in shown.url
        tap.page.goto("about:blank")
    finally:
        frame.close()
    assert "iframe" not in frame._repr_html_()


def test_only_sites_that_were_named_embed_it(browser: Browser, notebook: tuple[Path, str]) -> None:
    """A name below `localhost` is another site that is on this machine; nobody embeds the page of `show`."""
    folder, address = notebook
    write_dump(folder / "logs")
    other = address.replace("localhost", "other.localhost")
    shown, closed = tensortap.show(folder / "logs", port=0), tensortap.notebook(folder / "logs")
    named = tensortap.notebook(folder / "logs", origins=[other])
    context = browser.new_context()
    try:
        addresses = (shown.url, closed.page.frame_url, named.page.frame_url)
        (folder / "cell.html").write_text(
            "".join(f"<iframe src='{url}' width=900 height=600></iframe>" for url in addresses)
        )
        page = context.new_page()
        page.goto(f"{other}/cell.html")
        pickers = [page.frame_locator("iframe").nth(i).get_by_test_id("run-picker") for i in range(3)]
        page.locator("iframe").nth(2).scroll_into_view_if_needed()  # what is not in sight is not drawn
        expect(pickers[2]).to_be_attached()
        page.wait_for_load_state("networkidle")
        assert [picker.count() for picker in pickers] == [0, 0, 1]
    finally:
        context.close()
        for viewer in (shown, closed, named):
            viewer.close()
