"""Bookmarks: set by a key or a click, marked on the graph, kept, renamed, brought back, gone to, copied."""

from __future__ import annotations

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, expect
from tensorboard_process import Start

RELU = "digits_1/conv1_1/Relu"
SCOPE = "digits_1/conv1_1"
STEP = 20


@pytest.fixture
def graph(tap: TapPage, site: Site) -> Locator:
    """The focused graph, with a node selected at a step."""
    tap.enter(site)
    tap.go_to(site, "digits", f"{RELU}:0", STEP)
    surface = tap.page.get_by_test_id("graph")
    surface.focus()
    return surface


def hash_of(tap: TapPage) -> str:
    return str(tap.page.evaluate("() => location.hash"))


def rows(tap: TapPage) -> Locator:
    """The list, opened by its key."""
    if tap.page.get_by_role("dialog", name="Bookmarks").count() == 0:
        tap.page.keyboard.press("A")
    return tap.page.get_by_test_id("bookmark-row")


def test_a_node_and_its_scope_are_come_back_to(tap: TapPage, graph: Locator) -> None:
    star = tap.page.get_by_test_id("bookmark")
    expect(star).to_have_attribute("aria-pressed", "false")
    graph.press("a")
    expect(star).to_have_attribute("aria-pressed", "true")
    at_node = hash_of(tap)
    graph.press("Backspace")  # out to the scope
    tap.page.wait_for_function("scope => location.hash.includes(`selected=${scope}`)", arg=SCOPE)
    graph.press("a")
    at_scope = hash_of(tap)
    graph.press("Escape")
    tap.page.wait_for_function("() => !location.hash.includes('selected=')")
    tap.page.get_by_label("Next step").click()
    tap.page.reload()
    tap.wait_until_ready()

    expect(rows(tap)).to_have_text([f"Relustep {STEP}{SCOPE}", f"conv1_1step {STEP}digits_1"])
    rows(tap).nth(1).locator(".bookmark-go").click()
    tap.expect_step(STEP)
    tap.page.wait_for_function("link => location.hash === link", arg=at_scope)
    assert tap.page.evaluate("name => window.tensortap.nodeState(name).selected", SCOPE)
    rows(tap).nth(0).locator(".bookmark-go").click()
    tap.expect_inspected(RELU)
    tap.page.wait_for_function("link => location.hash === link", arg=at_node)


def test_what_is_removed_comes_back_and_what_is_named_stays_named(tap: TapPage, graph: Locator) -> None:
    graph.press("a")
    rows(tap).get_by_label("Name and note").click()
    tap.page.get_by_role("textbox", name="Name").fill("half dead")
    tap.page.get_by_role("textbox", name="Note").fill("since <b>warmup</b>")
    tap.page.keyboard.press("Enter")
    named = [f"half deadstep {STEP}{RELU}since <b>warmup</b>"]
    expect(rows(tap)).to_have_text(named)
    tap.page.get_by_label("Remove half dead").click()
    expect(rows(tap)).to_have_count(0)
    tap.page.get_by_role("button", name="Undo").click()
    expect(rows(tap)).to_have_text(named)

    tap.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tap.page.get_by_label("Copy all links").click()
    expect(tap.page.get_by_label("Copy all links")).to_have_attribute("data-copied", "true")
    name, link = tap.page.evaluate("() => navigator.clipboard.readText()").strip().split("\n")
    assert name == "half dead: since <b>warmup</b>"
    assert link == tap.page.url


def test_the_list_keeps_the_keyboard(tap: TapPage, graph: Locator) -> None:
    """GIVEN the list WHEN a bookmark is named, removed and brought back by keys THEN it keeps the focus."""
    graph.press("a")
    rows(tap).get_by_label("Name and note").focus()
    keyboard = tap.page.keyboard
    keyboard.press("Enter")
    expect(tap.page.get_by_role("textbox", name="Name")).to_be_focused()
    keyboard.press("Control+a")
    keyboard.type("get even")
    keyboard.press("Enter")
    expect(rows(tap).get_by_role("button", name="get even").first).to_be_focused()
    focused = tap.page.get_by_role("dialog", name="Bookmarks").locator(":focus")
    for button in ("Remove get even", "Undo"):
        tap.page.get_by_role("button", name=button).press("Enter")
        expect(focused).to_have_count(1)
    keyboard.press("Escape")
    expect(tap.page.get_by_role("dialog", name="Bookmarks")).to_have_count(0)
    expect(tap.page.get_by_test_id("bookmarks")).to_be_focused()
    tap.expect_inspected(RELU)


def test_the_menu_bookmarks_and_the_graph_shows_a_star(tap: TapPage, graph: Locator) -> None:
    box = tap.page.evaluate("name => window.tensortap.node(name)", RELU)
    tap.page.mouse.move(2, 2)
    clip = {"x": box["x"] - 8, "y": box["y"] - 8, "width": 16, "height": 16}
    before = tap.page.screenshot(clip=clip)
    graph.press("Shift+F10")
    tap.page.get_by_role("menuitem", name="Bookmark").click()
    expect(tap.page.get_by_test_id("bookmark")).to_have_attribute("aria-pressed", "true")
    tap.wait_until_ready()
    marked = tap.page.screenshot(clip=clip)
    assert marked != before
    graph.press("a")
    expect(tap.page.get_by_test_id("bookmark")).to_have_attribute("aria-pressed", "false")


def test_the_palette_tells_bookmarks_of_one_name_apart(tap: TapPage, site: Site, graph: Locator) -> None:
    """GIVEN two places of one name at one step WHEN the newer was chosen THEN it is the one offered again."""
    other = "digits_1/conv2_1/Relu"
    graph.press("a")
    tap.go_to(site, "digits", f"{other}:0", STEP)
    graph.press("a")
    found = tap.page.get_by_test_id("palette-row").filter(has_text="Bookmark: Relu")
    for text in ("bookmark relu", ""):  # found, then among the recent ones
        tap.unselect()
        tap.page.keyboard.press("Control+k")
        tap.page.get_by_test_id("palette-field").fill(text)
        row = found.filter(has_text=other).first
        expect(row).to_contain_text(other)
        if text == "":
            expect(tap.page.get_by_test_id("palette-row").first).to_contain_text(other)
        row.click()
        tap.expect_inspected(other)


def test_an_enlarged_panel_is_in_the_address(tap: TapPage, graph: Locator) -> None:
    graph.press("k")
    graph.press("e")
    expect(tap.page.get_by_test_id("side-by-side")).to_be_visible()
    assert "enlarged=1" in hash_of(tap)
    tap.page.reload()
    expect(tap.page.get_by_test_id("side-by-side")).to_be_visible()
    tap.page.keyboard.press("e")
    expect(tap.page.get_by_test_id("graph")).to_be_visible()
    assert "enlarged" not in hash_of(tap)


@pytest.mark.nightly
def test_in_tensorboard_too(tap: TapPage, site: Site, start_tensorboard: Start) -> None:
    board = start_tensorboard(site.logdir)
    tap.page.goto(f"{board.root}/#tensortap")
    tap.page.get_by_role("tab", name="Tensortap").click()
    frame = tap.page.frame_locator("iframe")
    expect(frame.locator(".graph-pane")).to_have_attribute("data-status", "ready")
    frame.get_by_role("button", name="Ops", exact=True).click()
    frame.get_by_test_id("search").fill(RELU)
    frame.get_by_test_id("search").press("Enter")
    expect(frame.get_by_test_id("inspector")).to_have_attribute("data-node", RELU)
    frame.get_by_test_id("bookmark").click()
    frame.get_by_test_id("inspector").get_by_label("Close (Esc)").click()
    expect(frame.get_by_test_id("inspector")).to_have_count(0)
    frame.get_by_test_id("bookmarks").click()
    frame.locator(".bookmark-go").click()
    expect(frame.get_by_test_id("inspector")).to_have_attribute("data-node", RELU)


def test_two_windows_share_the_list(tap: TapPage, graph: Locator) -> None:
    other = tap.page.context.new_page()
    other.goto(tap.page.url)
    star = other.get_by_test_id("bookmark")
    expect(star).to_have_attribute("aria-pressed", "false")
    graph.press("a")
    expect(star).to_have_attribute("aria-pressed", "true")
    other.get_by_label("Next step").click()
    expect(star).to_have_attribute("aria-pressed", "false")
    star.click()
    expect(rows(tap)).to_have_count(2)
    other.close()


def test_each_view_has_a_bookmark_of_its_own(tap: TapPage, graph: Locator) -> None:
    graph.press("Escape")
    tap.page.wait_for_function("() => !location.hash.includes('tensor=')")
    for view in ("Timeline", "Source"):
        tap.page.get_by_role("button", name=view, exact=True).click()
        tap.page.wait_for_function("view => location.hash.includes(`view=${view}`)", arg=view.lower())
        tap.page.keyboard.press("a")
    expect(rows(tap)).to_have_text([f"Timelinestep {STEP}", f"Sourcestep {STEP}"])
