"""The tab in a real TensorBoard."""

from __future__ import annotations

import re

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect
from tensorboard_process import Start


@pytest.mark.parametrize("prefix", [pytest.param("", marks=pytest.mark.nightly), "/some/where"])
def test_tab_shows_the_page(tap: TapPage, site: Site, start_tensorboard: Start, prefix: str) -> None:
    board = start_tensorboard(site.logdir, prefix=prefix)
    tap.page.goto(f"{board.root}/#tensortap")
    tab = tap.page.get_by_role("tab", name="Tensortap")
    tab.click()
    frame = tap.page.frame_locator("iframe")
    expect(frame.get_by_test_id("run-picker")).to_contain_text("digits")
    expect(frame.get_by_test_id("graph")).to_be_visible()


def test_the_tab_has_one_bar_and_tensorboards_address_follows(
    tap: TapPage, site: Site, start_tensorboard: Start
) -> None:
    tap.page.set_viewport_size({"width": 1440, "height": 900})
    tap.page.goto(f"{start_tensorboard(site.logdir).root}/#tensortap")
    frame = tap.page.frame_locator("iframe")
    bars = frame.locator(".bars")
    expect(frame.get_by_test_id("step-slider")).to_be_attached()
    assert bars.evaluate("bar => bar.getBoundingClientRect().height") < 80
    frame.get_by_role("button", name="Tensors", exact=True).click()
    expect(tap.page).to_have_url(re.compile(r"p\.tensortap\.state=[^#]*view%3Dtable"))
    tap.page.reload()
    expect(frame.get_by_role("button", name="Tensors", exact=True, pressed=True)).to_be_visible()


@pytest.mark.nightly
def test_the_tab_has_tensorboards_theme(tap: TapPage, site: Site, start_tensorboard: Start) -> None:
    tap.page.emulate_media(color_scheme="light")
    tap.page.goto(f"{start_tensorboard(site.logdir).root}/#tensortap")
    page = tap.page.frame_locator("iframe").locator("html")
    expect(page).to_have_attribute("data-theme", "light")

    def choose(theme: str) -> None:
        tap.page.locator("app-header-dark-mode-toggle button").click()
        tap.page.get_by_role("menuitem", name=theme).click()

    choose("Dark")
    expect(page).to_have_attribute("data-theme", "dark")
    tap.page.frame_locator("iframe").get_by_role("button", name="Light theme").click()
    expect(page).to_have_attribute("data-theme", "light")
    choose("Light")
    choose("Dark")  # all of TensorBoard: the tab's own choice ends
    expect(page).to_have_attribute("data-theme", "dark")
