"""From the address that `make demo` prints to a number of a tensor."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser_page import TapPage, run_row
from browser_site import TOKEN, Site
from playwright.sync_api import expect

import tensortap


@pytest.fixture(scope="module")
def relu(site: Site) -> str:
    """A node of the demo's first convolution whose values are kept."""
    names = tensortap.open(site.logdir).runs["digits"].tensors
    return next(name.removesuffix(":0") for name in names if re.search(r"conv1.*/Relu:0$", name))


def test_opens_with_the_graph_and_forgets_the_token(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    assert TOKEN not in tap.page.url
    assert tap.drawn_nodes() != []
    tap.page.get_by_test_id("run-picker").click()
    expect(run_row(tap.page, "digits")).to_be_visible()
    expect(run_row(tap.page, "digits-nan")).to_be_visible()


def test_the_panel_of_the_run_is_closed_alone_and_returns(tap: TapPage, site: Site, relu: str) -> None:
    """GIVEN a phone WHEN the run's panel is closed THEN the graph has its room, and nodes open theirs."""
    tap.page.set_viewport_size({"width": 390, "height": 844})
    tap.enter(site)
    summary = tap.page.get_by_test_id("run-summary")
    tap.page.get_by_label("Close the run panel").click()
    expect(summary).to_have_count(0)
    pane = tap.page.get_by_test_id("graph").bounding_box()
    assert pane is not None and pane["y"] + pane["height"] > 840
    tap.go_to(site, "digits", f"{relu}:0", 50)
    tap.expect_inspected(relu)
    tap.unselect()
    expect(summary).to_have_count(0)
    tap.page.get_by_label("Show the panel").click()
    expect(summary).to_be_visible()


def test_a_panel_closed_at_full_width_opens_again_with_the_next_node(
    tap: TapPage, site: Site, relu: str
) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", f"{relu}:0", 50)
    tap.page.get_by_label("Full width").click()
    expect(tap.page.get_by_test_id("graph")).to_have_count(0)
    tap.unselect()
    tap.search(relu)
    tap.expect_inspected(relu)
    expect(tap.page.get_by_test_id("graph")).to_be_visible()


def test_a_menu_in_the_panel_is_not_cut_by_it(tap: TapPage, site: Site, relu: str) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", f"{relu}:0", 50)
    tap.show_tab("value")
    tap.page.get_by_test_id("value-export").click()
    panel = tap.page.get_by_test_id("inspector").bounding_box()
    menu = tap.page.get_by_test_id("inspector").locator(".popover").bounding_box()
    assert panel is not None and menu is not None
    assert panel["x"] <= menu["x"] and menu["x"] + menu["width"] <= panel["x"] + panel["width"]


def test_click_on_the_canvas_leads_to_the_numbers(tap: TapPage, site: Site, relu: str) -> None:
    """GIVEN a node found by searching WHEN clicked on the canvas THEN histogram and values are the dump's."""
    tap.enter(site)
    tap.choose_run("digits")
    tap.search(relu)
    tap.unselect()
    tap.click_on_canvas(relu)
    tap.expect_inspected(relu)

    step = tap.step()
    tap.show_tab("histogram")
    histogram = tap.page.get_by_test_id("histogram")
    expect(histogram).to_have_attribute("data-tensor", f"{relu}:0")
    expect(histogram).to_have_attribute("data-step", str(step))

    tap.show_tab("value")
    tap.page.get_by_role("button", name="Table").click()
    shown = tap.value_cells()
    values = np.asarray(tensortap.open(site.logdir).runs["digits"].tensor(f"{relu}:0", step=step))
    assert len(shown) > 10
    assert {index: np.float32(text) for index, text in shown.items()} == {
        index: values[index] for index in shown
    }


def test_statistics_are_those_of_the_value(tap: TapPage, site: Site, relu: str) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", f"{relu}:0", 10)
    value = np.asarray(tensortap.open(site.logdir).runs["digits"].tensor(f"{relu}:0", step=10))
    shown = [tap.statistic(name) for name in ("min", "max", "mean", "std")]
    wanted = [value.min(), value.max(), value.mean(dtype=np.float64), value.std(dtype=np.float64)]
    assert shown == pytest.approx(wanted, rel=1e-6)


def test_downloads_what_numpy_loads(tap: TapPage, site: Site, relu: str) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", f"{relu}:0", 10)
    tap.show_tab("value")
    tap.page.get_by_test_id("value-export").click()
    with tap.page.expect_download() as download:
        tap.page.get_by_test_id("download-npy").click()
    loaded = np.load(download.value.path())
    kept = np.asarray(tensortap.open(site.logdir).runs["digits"].tensor(f"{relu}:0", step=10))
    assert loaded.dtype == kept.dtype
    np.testing.assert_array_equal(loaded, kept)


def test_an_address_that_is_completed_keeps_back_working(tap: TapPage, site: Site) -> None:
    """GIVEN a run by its name and what it lacks WHEN the page completes it THEN it says so; back leads back.

    (`tap` fails if the console tells of an address that is not there.)
    """
    tap.enter(site)
    tap.page.goto("about:blank")
    tap.page.goto(site.url + "#run=digits&graph=zzz&step=9999")
    lost = tap.page.get_by_test_id("lost")
    expect(lost).to_contain_text("no graph zzz")
    expect(lost).to_contain_text("Step 9999 was not captured")
    tap.wait_until_ready()
    assert "zzz" not in tap.page.url
    lost.get_by_role("button").click()
    expect(lost).to_have_count(0)
    tap.page.go_back()
    assert tap.page.url == "about:blank"


def test_a_link_to_a_scope_that_is_not_there_says_so(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.page.goto(site.url + "#run=digits&view=graph&open=digits_1,gone&unstacked=lost")
    lost = tap.page.get_by_test_id("lost")
    expect(lost).to_have_text("The graph has no scopes gone, lost.")
    tap.page.goto(site.url + "#run=digits&view=timeline&unfolded=digits_1,gone&folded=digits_1/Cast …,…")
    expect(lost).to_have_text("The graph has no scope gone.")


def test_a_link_to_dimensions_that_the_tensor_does_not_have_says_so(
    tap: TapPage, site: Site, relu: str
) -> None:
    tap.enter(site)
    place = f"#run=digits&tensor={relu}:0&step=50&panel=value"
    tap.page.goto(f"{site.url}{place}&value=heatmap&dims=0,y,x,9999")
    lost = tap.page.get_by_test_id("lost")
    expect(lost).to_contain_text(f"dims=0,y,x,9999 does not fit {relu}:0 of shape [")
    lost.get_by_role("button").click()
    tap.page.goto(f"{site.url}{place}&dims=2,y,x,1")  # without a way to show it: in the default one
    expect(tap.page).to_have_url(re.compile(r"&value=\w+&dims=2,y,x,1"))
    expect(lost).to_have_count(0)
