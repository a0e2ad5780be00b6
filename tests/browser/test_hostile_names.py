"""A dump whose every text is a weapon: nothing of it runs, loads anything, or changes the page's objects."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser_page import TapPage, run_row
from browser_site import Serve
from hostile_dump import RUN, WEAPONS, write_hostile_dump
from playwright.sync_api import Frame, expect
from tensorboard_process import Start

from tensortap.core.text import escaped
from tensortap.dump.maintenance.repair import repair_run

# What a script of the dump would have left behind.
TRACES = """() => ({
    hacked: window.hacked ?? null,
    polluted: ({}).polluted ?? ({}).hacked ?? null,
    prototype: Object.keys(Object.prototype),
    elements: document.querySelectorAll('svg[onload], img[onerror], [href^=javascript]').length,
    scripts: [...document.scripts].filter(script =>
        (script.src && !script.src.startsWith(location.origin)) || script.text.includes('hacked')).length,
})"""
# All that the page draws or reads out.
TEXTS = """() => {
    const texts = [document.title], nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) texts.push(nodes.currentNode.data);
    for (const each of document.querySelectorAll('[title], [aria-label]'))
        texts.push(each.title ?? '', each.getAttribute('aria-label') ?? '');
    return texts;
}"""
NOTHING = {"hacked": None, "polluted": None, "prototype": [], "elements": 0, "scripts": 0}
COPY = f"{RUN}\x1b[31m.repaired"  # no writer of ours makes such a folder, but a person can
TABS = ("overview", "history", "histogram", "value", "source")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory."""
    logdir = tmp_path_factory.mktemp("hostile")
    write_hostile_dump(logdir)
    repair_run(logdir / RUN, logdir / COPY)
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
            expect_visible(frame)


def traces(frame: Frame) -> dict[str, object]:
    found: dict[str, object] = frame.evaluate(TRACES)
    return found


def expect_visible(frame: Frame) -> None:
    """Nothing on show holds a control character or direction mark: it would pass for something else."""
    assert [text for text in frame.evaluate(TEXTS) if unseen(text)] == [], frame.url


def written_out(name: str) -> str:
    return name.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e")


def unseen(text: str) -> list[str]:
    for emoji in WEAPONS["emoji"].split("/"):
        text = text.replace(emoji, "")  # joined
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\n\t"]


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
        expect_visible(tap.page.main_frame)
    expect(tap.page.get_by_test_id("inspector")).to_contain_text(WEAPONS["script"])
    tap.page.keyboard.press("W")
    expect(tap.page.get_by_test_id("problem").first).to_be_visible()
    for view in ("Tensors", "Events", "Timeline", "Source", "Problems", "Compare", "Layers", "Ops"):
        tap.page.get_by_role("button", name=view, exact=True).click()
        tap.wait_until_ready()
        expect_visible(tap.page.main_frame)
    tap.search("<img src=x")
    watched.expect_nothing(tap, site.url)


def test_names_of_runs_and_facts_are_written_out(tap: TapPage, serve: Serve, hostile: Path) -> None:
    """GIVEN a run with a direction mark in its name, and its copy THEN both are told apart and opened."""
    tap.enter(serve(hostile))
    picker = tap.page.get_by_test_id("run-picker")
    for name in (RUN, COPY):
        picker.click()
        expect_visible(tap.page.main_frame)
        run_row(tap.page, written_out(name)).click()
        expect(picker).to_have_text(written_out(name))
        expect(picker).to_have_attribute("aria-label", f"Run: {written_out(name)}")
        tap.wait_until_ready()
        expect_visible(tap.page.main_frame)


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
    assert unseen(shown) == []
    assert watched.hosts == {""} and watched.dialogs == []
    assert traces(tap.page.main_frame) == NOTHING
    assert tap.page.locator("a, img, svg, script, iframe, link, form").count() == 0


@pytest.mark.nightly
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
