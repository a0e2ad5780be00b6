"""The timeline leads to the step and the node at which a run turned bad."""

from __future__ import annotations

import re

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect

import tensortap


def test_a_bad_cell_leads_to_its_step_and_node(tap: TapPage, site: Site) -> None:
    """GIVEN a run that went NaN WHEN its reddest row is followed down THEN step and node are the dump's."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.page.get_by_role("button", name="Timeline").click()
    rows = tap.page.get_by_test_id("timeline-row")
    bad = rows.and_(tap.page.locator("[data-health=nan]")).first
    expect(bad).to_be_visible()
    tap.wait_until_ready()
    while bad.locator("[aria-expanded]").count():  # a scope, or several ops
        path = bad.get_attribute("data-path") or ""
        bad.click()
        expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
        tap.wait_until_ready()
    bad.click()
    node = tap.page.get_by_test_id("inspector").get_attribute("data-node") or ""
    run = tensortap.open(site.logdir).runs["digits-nan"]
    steps = [found.step for found in run.find(where="nan > 0") if found.name.rpartition(":")[0] == node]
    assert f", NaN from step {min(steps)}" in (bad.text_content() or "")


def test_an_address_opens_the_timeline_of_a_scope(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits")
    tap.page.get_by_role("button", name="Timeline").click()
    scope = tap.page.get_by_test_id("timeline-row").filter(has=tap.page.locator("[aria-expanded]")).first
    path = scope.get_attribute("data-path") or ""
    scope.locator(".timeline-name").click()
    expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
    tap.page.reload()
    tap.wait_until_ready()
    expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
    tap.page.get_by_role("button", name="All scopes").click()
    expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", "")


def _timeline(tap: TapPage, site: Site, run: str) -> None:
    tap.enter(site)
    tap.choose_run(run)
    tap.page.get_by_role("button", name="Timeline").click()
    tap.wait_until_ready()


def test_rows_are_opened_and_closed_by_hand_and_kept_in_the_address(tap: TapPage, site: Site) -> None:
    """GIVEN rows WHEN signs are clicked, and an arrow key is pressed THEN they open, close, and stay so."""
    _timeline(tap, site, "digits")
    rows = tap.page.get_by_test_id("timeline-row")
    shut = rows.filter(has=tap.page.locator("[aria-expanded=false]")).first
    path = shut.get_attribute("data-path") or ""
    row = tap.page.locator(f'[data-testid=timeline-row][data-path="{path}"]').first
    inside = tap.page.locator(f'[data-testid=timeline-row][data-path^="{path}/"]')
    expect(inside).to_have_count(0)
    row.get_by_test_id("timeline-sign").click()
    expect(row.locator("[aria-expanded=true]")).to_be_visible()
    tap.wait_until_ready()
    expect(inside.first).to_be_visible()
    tap.page.reload()
    tap.wait_until_ready()
    expect(inside.first).to_be_visible()
    row.get_by_test_id("timeline-sign").click()
    expect(row.locator("[aria-expanded=false]")).to_be_visible()
    expect(inside).to_have_count(0)


def test_the_rows_are_one_tab_stop_and_keep_the_keyboard(tap: TapPage, site: Site) -> None:
    """GIVEN the focus on the rows WHEN keys move, open, close, scroll and look into THEN it stays there."""
    _timeline(tap, site, "digits")
    page = tap.page
    page.set_viewport_size({"width": 1024, "height": 420})
    tree, active = page.get_by_role("tree"), page.locator(".timeline-row[data-active=true]")
    rows = page.get_by_role("treeitem")
    tree.focus()
    expect(tree).to_have_attribute("aria-activedescendant", "timeline-row-0")
    count = int(rows.first.get_attribute("aria-setsize") or 0)
    page.keyboard.press("End")
    expect(active).to_be_in_viewport()
    last = int(active.get_attribute("data-index") or 0)
    assert last >= count - 1
    page.keyboard.press("Home")
    expect(active).to_have_attribute("data-index", "0")
    page.mouse.move(300, 300)
    page.mouse.wheel(0, 5000)
    expect(page.locator(f".timeline-row[data-index='{last}']")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(active).to_be_in_viewport()
    page.keyboard.press("Home")
    for _ in range(count):
        if active.locator("[aria-expanded=false]").count() == 0:
            page.keyboard.press("ArrowDown")
    path = active.get_attribute("data-path") or ""
    page.keyboard.press("ArrowRight")
    expect(active.locator("[aria-expanded=true]")).to_be_visible()
    tap.wait_until_ready()
    page.keyboard.press("ArrowRight")
    expect(active).to_have_attribute("data-path", re.compile(rf"^{re.escape(path)}/"))
    page.keyboard.press("ArrowLeft")
    expect(active).to_have_attribute("data-path", path)
    step = tap.step()
    page.keyboard.press("Shift+ArrowLeft" if step > 0 else "Shift+ArrowRight")
    expect(tree).to_be_focused()
    assert tap.step() != step
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
    expect(tree).to_be_focused()
    page.keyboard.press("Tab")
    expect(rows.and_(page.locator(":focus"))).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(tree).to_be_focused()


def test_the_first_bad_cell_is_marked_and_leads_to_its_tensor(tap: TapPage, site: Site) -> None:
    """GIVEN a run that went NaN THEN the first bad cell is told, and shows its tensor, step and number."""
    _timeline(tap, site, "digits-nan")
    run = tensortap.open(site.logdir).runs["digits-nan"]
    step = min(found.step for found in run.find(where="nan + pos_inf + neg_inf > 0"))
    tap.page.get_by_test_id("timeline-first").click()
    tap.wait_until_ready()
    assert f"step={step}&" in tap.page.url
    tensor = f"{tap.page.get_by_test_id('inspector').get_attribute('data-node')}:0"
    first = tap.page.locator("[data-testid=timeline-row]", has_text=", the first")
    cells = tap.page.get_by_test_id("timeline-cells")
    row, canvas = first.bounding_box(), cells.bounding_box()
    assert row and canvas
    column = sorted({found.step for found in run.find()}).index(step)
    width = canvas["width"] / len(run.steps)
    cells.hover(position={"x": (column + 0.5) * width, "y": row["y"] - canvas["y"] + 9})
    tip = tap.page.get_by_test_id("timeline-tip")
    expect(tip).to_contain_text(f"step {step} · ")
    expect(tip).to_contain_text(tensor)
    reported = run.tensor(tensor, step=step).summary
    expect(tip).to_contain_text(f"{reported.nan or reported.pos_inf + reported.neg_inf:,} element")


def test_what_a_cell_led_to_is_marked_in_its_row(tap: TapPage, site: Site) -> None:
    """GIVEN a closed scope WHEN its cell is clicked THEN the row is marked that holds the node, before and
    after it is opened."""
    _timeline(tap, site, "digits-nan")
    shut = tap.page.locator("[data-testid=timeline-row]", has=tap.page.locator("[aria-expanded=false]")).first
    path = shut.get_attribute("data-path") or ""
    cells = tap.page.get_by_test_id("timeline-cells")
    row, canvas = shut.bounding_box(), cells.bounding_box()
    assert row and canvas
    cells.click(position={"x": canvas["width"] - 3, "y": row["y"] - canvas["y"] + 9})
    marked = tap.page.locator("[data-testid=timeline-row][data-selected=true]")
    expect(marked).to_have_attribute("data-path", path)
    expect(marked.get_by_role("treeitem")).to_have_attribute("aria-selected", "true")
    marked.get_by_test_id("timeline-sign").click()
    expect(marked).to_have_attribute("data-path", re.compile(rf"^{re.escape(path)}/"))
