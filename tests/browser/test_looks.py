"""Themes and small windows."""

from __future__ import annotations

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect

TABS = ["overview", "history", "histogram", "value", "source"]
OVERFLOWING = """() => {
    const root = document.scrollingElement;
    return [root.scrollWidth - root.clientWidth, root.scrollHeight - root.clientHeight];
}"""


def background(tap: TapPage) -> list[int]:
    """Red, green and blue of what lies behind the page."""
    script = """() => {
        const context = document.createElement('canvas').getContext('2d');
        context.fillStyle = getComputedStyle(document.body).backgroundColor;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    }"""
    found: list[int] = tap.page.evaluate(script)
    return found


def test_theme_follows_the_system_and_the_button(tap: TapPage, site: Site) -> None:
    root = tap.page.locator("html")
    tap.page.emulate_media(color_scheme="dark")
    tap.enter(site)
    expect(root).to_have_attribute("data-theme", "dark")
    assert max(background(tap)) < 80
    tap.page.get_by_test_id("theme-toggle").click()
    expect(root).to_have_attribute("data-theme", "light")
    assert min(background(tap)) > 200
    tap.page.reload()
    expect(root).to_have_attribute("data-theme", "light")


@pytest.mark.parametrize("size", [(1024, 700), (1920, 1080)], ids=["small", "large"])
def test_nothing_sticks_out(tap: TapPage, site: Site, size: tuple[int, int]) -> None:
    tap.page.set_viewport_size({"width": size[0], "height": size[1]})
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.search("MatMul")
    for tab in TABS:
        tap.show_tab(tab)
        tap.wait_until_ready()
        assert tap.page.evaluate(OVERFLOWING) == [0, 0], tab
        for part in ("graph", "inspector", "step-slider", "theme-toggle"):
            expect(tap.page.get_by_test_id(part)).to_be_in_viewport()


@pytest.mark.parametrize("width", [1024, 1280])
def test_the_head_has_room_for_nans_way_which_comes_later(tap: TapPage, site: Site, width: int) -> None:
    tap.page.set_viewport_size({"width": width, "height": 800})
    head = tap.page.locator(".centre > .pane-head")
    tap.enter(site)
    tap.choose_run("digits")
    before = head.bounding_box()
    tap.choose_run("digits-nan")
    expect(tap.page.get_by_test_id("chain")).to_be_visible()
    assert head.bounding_box() == before
