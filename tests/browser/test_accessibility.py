"""axe-core finds nothing to complain about in the main views, in both themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_page import AXE, TapPage, violations
from browser_site import Site
from playwright.sync_api import Browser

VIEWS = ["layers", "graph", "table", "timeline", "source", "problems", "compare", "events", "stepper"]
TABS = ["overview", "history", "histogram", "value", "source"]
SHOW_VIEW = "view => { location.hash = `${location.hash}&view=${view}`; }"
LOG = "compile_loss/_careless_loss/Log"
RELU = "digits_1/conv1_1/Relu"
PICTURES = {
    "overview": ".mini-histogram path",
    "value&value=heatmap": ".raster",
    "value&value=image": ".raster",
}


@pytest.fixture
def audited(browser: Browser) -> Iterator[TapPage]:
    """A page that axe may be put into: the page's own policy lets no foreign script run."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True)
    yield TapPage(context.new_page())
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(audited: TapPage, site: Site, theme: str) -> None:
    audited.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    audited.enter(site)
    audited.choose_run("digits-nan")
    step = audited.step()
    audited.page.add_script_tag(path=AXE)
    found = {}
    for view in VIEWS:
        audited.page.evaluate(SHOW_VIEW, view)
        audited.wait_until_ready()
        found[view] = violations(audited)
    audited.page.keyboard.press("?")
    found["help"] = violations(audited)
    audited.page.keyboard.press("Escape")
    for text in ("", "conv"):
        audited.page.keyboard.press("Control+k")
        audited.page.get_by_test_id("palette-field").fill(text)
        audited.page.get_by_test_id("palette-row").first.wait_for()
        found[f"palette {text}"] = violations(audited)
        audited.page.keyboard.press("Escape")
    audited.go_to(site, "digits-nan", f"{LOG}:0", step)
    audited.page.get_by_test_id("search").focus()
    found["search"] = violations(audited)
    for tab in TABS:
        audited.show_tab(tab)
        audited.wait_until_ready()
        found[f"panel {tab}"] = violations(audited)
    audited.unselect()
    audited.page.evaluate("() => { location.hash = 'view=graph&part=all&selected=digits_1/conv1_1'; }")
    audited.page.get_by_test_id("scope-panel").wait_for()
    audited.wait_until_ready()
    found["scope"] = violations(audited)
    assert {where: what for where, what in found.items() if what} == {}


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_in_menus(audited: TapPage, site: Site, theme: str) -> None:
    audited.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    audited.enter(site)
    audited.go_to(site, "digits-nan", f"{LOG}:0", audited.step())
    audited.page.add_script_tag(path=AXE)
    found = {}
    audited.page.keyboard.press("a")
    audited.page.keyboard.press("A")
    audited.page.get_by_label("Name and note").click()
    found["bookmarks"] = violations(audited)
    audited.page.keyboard.press("Escape")
    audited.page.get_by_test_id("share").click()
    found["share"] = violations(audited)
    with audited.page.expect_download(timeout=120_000):
        audited.page.get_by_test_id("save-story").click()
    found["story saved"] = violations(audited)
    audited.page.keyboard.press("Escape")
    audited.page.get_by_role("button", name="Export image").click()
    audited.page.get_by_role("button", name="PNG").click()
    found["picture"] = violations(audited)
    audited.page.keyboard.press("Escape")
    audited.page.get_by_test_id("compare-with").click()
    found["compare"] = violations(audited)
    audited.page.get_by_test_id("compare-run").first.click()
    audited.page.get_by_test_id("side-column").nth(1).get_by_test_id("summary").wait_for()
    found["side by side"] = violations(audited)
    assert {where: what for where, what in found.items() if what} == {}


@pytest.mark.parametrize("theme", ["dark", pytest.param("light", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_in_pictures_of_a_value(audited: TapPage, site: Site, theme: str) -> None:
    """GIVEN a tensor with finite elements THEN its small histogram, heatmap and image hide no button."""
    audited.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    audited.enter(site)
    audited.go_to(site, "digits", f"{RELU}:0", 20)
    audited.page.add_script_tag(path=AXE)
    link = audited.page.evaluate("() => location.hash")
    found = {}
    for panel, drawn in PICTURES.items():
        audited.page.evaluate("link => { location.hash = link; }", f"{link}&panel={panel}")
        audited.page.locator(drawn).first.wait_for()
        audited.wait_until_ready()
        found[panel] = violations(audited)
    assert {where: what for where, what in found.items() if what} == {}
