"""A dump whose every text is a weapon: nothing of it runs, loads anything, or changes the page's objects."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser_page import TapPage
from browser_site import Serve
from hostile_dump import RUN, WEAPONS, write_hostile_dump
from playwright.sync_api import Frame, expect
from tensorboard_process import Start

from tensortap.dump import escaped

# What a script of the dump would have left behind.
TRACES = """() => ({
    hacked: window.hacked ?? null,
    polluted: ({}).polluted ?? ({}).hacked ?? null,
    prototype: Object.keys(Object.prototype),
    elements: document.querySelectorAll('svg[onload], img[onerror], [href^=javascript]').length,
    scripts: [...document.scripts].filter(script =>
        (script.src && !script.src.startsWith(location.origin)) || script.text.includes('hacked')).length,
})"""
NOTHING = {"hacked": None, "polluted": None, "prototype": [], "elements": 0, "scripts": 0}
TABS = ("overview", "history", "histogram", "value", "source")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory."""
    logdir = tmp_path_factory.mktemp("hostile")
    write_hostile_dump(logdir)
    return logdir


class Watched:
    """What the page asks for and pops up, from now on."""

    def __init__(self, tap: TapPage) -> None:
        self.hosts: set[str] = set()
        self.dialogs: list[str] = []
        tap.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        tap.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        tap.page.on("popup", lambda popup: self.dialogs.append(popup.url))

    def expect_nothing(self, tap: TapPage, own: str) -> None:
        assert self.dialogs == []
        assert self.hosts - {""} == {urlsplit(own).netloc}
        for frame in tap.page.frames:
            assert traces(frame) == NOTHING, frame.url


def traces(frame: Frame) -> dict[str, object]:
    found: dict[str, object] = frame.evaluate(TRACES)
    return found


def test_every_view_shows_them_as_text(tap: TapPage, serve: Serve, hostile: Path) -> None:
    watched, site = Watched(tap), serve(hostile)
    tap.enter(site)
    expect(tap.page.get_by_test_id("run-picker")).to_contain_text("<img src=x onerror=alert(5)>")
    for weapon in WEAPONS.values():
        tap.go_to(site, RUN, f"{weapon}:0", 1)
    tap.go_to(site, RUN, f"{WEAPONS['script']}:0", 1)
    for tab in TABS:
        tap.show_tab(tab)
        tap.wait_until_ready()
    expect(tap.page.get_by_test_id("inspector")).to_contain_text(WEAPONS["script"])
    tap.page.keyboard.press("n")
    expect(tap.page.get_by_test_id("problem").first).to_be_visible()
    for view in ("Tensors", "Events", "Timeline", "Graph"):
        tap.page.get_by_role("button", name=view, exact=True).click()
        tap.wait_until_ready()
    tap.search("<img src=x")
    watched.expect_nothing(tap, site.url)


def test_a_report_of_diff_shows_them_as_text(tap: TapPage, hostile: Path, tmp_path: Path) -> None:
    """GIVEN the HTML file that somebody sends on WHEN it is opened from a disk THEN it only shows texts."""
    report, watched = tmp_path / "report.html", Watched(tap)
    command = ["-m", "tensortap", "diff", str(hostile / RUN), "--step", "0", "--step-b", "1"]
    subprocess.run([sys.executable, *command, "--html", str(report)], check=False, stdout=subprocess.DEVNULL)
    tap.page.goto(report.as_uri())
    expect(tap.page.locator("tr.diverges, tr.inherited, tr.amplified").first).to_be_visible()
    shown = tap.page.locator("body").inner_text() + tap.page.title()
    for weapon in WEAPONS.values():
        assert escaped(weapon).strip() in shown
    shown = shown.replace(WEAPONS["emoji"], "")  # joined
    assert [c for c in shown if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t"] == []
    assert watched.hosts == {""} and watched.dialogs == []
    assert traces(tap.page.main_frame) == NOTHING
    assert tap.page.locator("a, img, svg, script, iframe, link, form").count() == 0


def test_the_tab_of_tensorboard_shows_them_as_text(
    tap: TapPage, hostile: Path, start_tensorboard: Start
) -> None:
    watched, board = Watched(tap), start_tensorboard(hostile)
    tap.page.goto(f"{board.root}/#tensortap")
    frame = tap.page.frame_locator("iframe")
    expect(frame.get_by_test_id("run-picker")).to_contain_text("<img src=x onerror=alert(5)>")
    expect(frame.get_by_test_id("graph")).to_be_visible()
    frame.get_by_role("button", name="Tensors", exact=True).click()
    frame.get_by_test_id("tensor-row").filter(has_text="onerror").first.click()
    expect(frame.get_by_test_id("inspector")).to_be_visible()
    watched.expect_nothing(tap, board.root)
