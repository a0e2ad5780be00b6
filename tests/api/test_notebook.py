"""`tensortap.show`: the page from a thread of this process."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from small_dump import write_dump

import tensortap


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs")
    write_dump(path)
    return path


def test_the_page_is_served_until_it_is_closed(logdir: Path) -> None:
    page = tensortap.show(logdir, port=0)
    try:
        assert tensortap.show(logdir) is page
        bare, _, token = page.url.partition("?token=")
        asked = urllib.request.Request(f"{bare}api/runs", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert len(json.load(answer)["runs"]) == 2
        assert bare.startswith("http://127.0.0.1:")
        assert len(token) == 48
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{bare}api/runs", timeout=10)
        assert f'href="{page.url}"' in page._repr_html_()
        assert repr(page).endswith(f"{page.url}>")
    finally:
        page.close()
    page.close()
    assert not page.open
    assert "closed" in page._repr_html_()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.url, timeout=10)
    again = tensortap.show(logdir, port=0)
    again.close()
    assert again is not page


def test_names_are_no_html(tmp_path: Path) -> None:
    folder = tmp_path / "<script>"
    folder.mkdir()
    page = tensortap.show(folder, port=0)
    page.close()
    assert "<script>" not in page._repr_html_()


def test_objects_draw_themselves_and_ask_nobody(logdir: Path) -> None:
    """What a notebook keeps of them: tables and drawings, without a script or an address."""
    for run in tensortap.open(logdir).runs.values():
        tensor = run.tensors[0]
        shown = [run._repr_html_(), run.histograms(tensor)._repr_html_(), run.history(tensor)._repr_html_()]
        assert "<svg" in shown[0]
        assert f"step {run.steps[-1]}: " in shown[0]
        for html in shown:
            assert "<script" not in html
            assert "http" not in html


def test_a_run_is_viewed_in_a_frame(logdir: Path) -> None:
    log = tensortap.open(logdir)
    run = next(iter(log.runs.values()))
    frame, whole = run.view(height=321), log.view()
    try:
        assert frame.page is whole.page
        assert "height:321px" in frame._repr_html_()
        assert f"/frame/{frame.page.frame_url.split('/')[-2]}/#run=" in frame._repr_html_()
        assert "#run" not in whole._repr_html_()
    finally:
        frame.close()
    assert "iframe" not in frame._repr_html_()
