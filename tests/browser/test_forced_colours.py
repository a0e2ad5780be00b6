"""Under a contrast theme, which drops backgrounds, what is chosen, on or bad is still told apart."""

from __future__ import annotations

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, expect

LOG = "compile_loss/_careless_loss/Log"
STYLE = """(element, [part, name]) => getComputedStyle(element, part).getPropertyValue(name)"""
HIGHLIGHT = """() => {
    document.body.style.outlineColor = 'Highlight';
    return getComputedStyle(document.body).outlineColor;
}"""


@pytest.fixture
def contrast(tap: TapPage, site: Site) -> TapPage:
    """A tensor with NaN in the timeline, under a contrast theme."""
    tap.page.emulate_media(forced_colors="active", reduced_motion="reduce")
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.go_to(site, "digits-nan", f"{LOG}:0", tap.step())
    return tap


def style(locator: Locator, name: str, part: str = "") -> str:
    return str(locator.first.evaluate(STYLE, [part, name]))


def test_marks_of_data_keep_their_colours(contrast: TapPage) -> None:
    page = contrast.page
    nan = style(page.locator(".strip-cells i[data-health=nan]"), "background-color")
    assert nan != style(page.locator(".strip-cells i[data-health=fine]"), "background-color")
    assert style(page.locator(".counts-bar .count-nan"), "background-color") == nan
    page.get_by_role("button", name="Timeline", exact=True).click()
    assert style(page.locator(".swatch[data-health=nan]"), "background-color", "::before") == nan
    bad = page.locator(".timeline-row[data-health=nan]")
    bad.first.wait_for()
    fine = page.locator(".timeline-row:not([data-health=nan], [data-health=inf])")
    assert nan in style(bad, "border-image-source")
    canvas = style(page.locator("body"), "background-color")
    assert style(fine, "border-left-color") == canvas


def test_what_is_chosen_or_on_is_highlighted(contrast: TapPage) -> None:
    page = contrast.page
    highlight = page.evaluate(HIGHLIGHT)
    view = page.get_by_role("button", name="Ops", exact=True)
    other = page.get_by_role("button", name="Timeline", exact=True)
    assert style(view, "background-color") == highlight != style(other, "background-color")
    tab = page.get_by_role("tab", selected=True)
    assert style(tab, "background-color", "::after") == highlight
    assert style(tab, "height", "::after") == "4px"
    way = page.get_by_role("switch", name="NaN path")
    for on in (False, True):
        if on:
            way.click()
        expect(way).to_have_attribute("aria-checked", str(on).lower())
        assert (style(way, "background-color", "::before") == highlight) == on
    other.click()
    page.mouse.move(2, 2)
    row = page.locator(".timeline-row[data-selected=true]")
    row.first.wait_for()
    assert style(row, "outline-color") == highlight
    assert style(row, "outline-style") == "solid"
    page.get_by_role("button", name="Tensors", exact=True).click()
    name = page.locator(".tensor-table tr[data-selected=true] td:first-child")
    name.wait_for()
    assert style(name, "outline-color") == highlight
    assert style(name, "outline-style") == "solid"
