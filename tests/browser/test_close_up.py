"""The graph close up: lines of how nodes moved over the steps; titles that follow the view; their signs."""

from __future__ import annotations

import math
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, Request, expect

LAYER = "digits_1/conv1_1"
NODE = f"{LAYER}/Relu"
CLOSE_UP = 1.9  # from this zoom on nodes show lines; one is 36 pixels high at zoom 1
WHEEL = 0.0016  # of the zoom's logarithm, for each pixel that the wheel scrolls


@pytest.fixture
def graph(tap: TapPage, site: Site) -> Locator:
    """The graph of the run that ends in NaN, with a node selected."""
    tap.enter(site)
    tap.go_to(site, "digits-nan", f"{NODE}:0", 20)
    return tap.page.get_by_test_id("graph")


def zoom(tap: TapPage, wanted: float) -> None:
    """Turns the wheel over the node until its box has the height of that zoom."""
    box = tap.page.evaluate("name => window.tensortap.node(name)", NODE)
    tap.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tap.page.mouse.wheel(0, -math.log(36 * wanted / box["height"]) / WHEEL)
    reached = "([name, height]) => Math.abs(window.tensortap.node(name).height - height) < 0.01"
    tap.page.wait_for_function(reached, arg=[NODE, 36 * wanted])


def is_for_lines(request: Request) -> bool:
    return urlsplit(request.url).path.endswith("/trends")


def test_nodes_show_lines_close_up_and_only_there(tap: TapPage, graph: Locator) -> None:
    note = tap.page.locator(".graph-legend-lines")
    expect(note).to_have_count(0)
    with tap.page.expect_request(is_for_lines) as asked:
        zoom(tap, CLOSE_UP + 0.3)
    expect(note).to_have_text("Max |x| over steps")
    query = parse_qs(urlsplit(asked.value.url).query)
    assert query["statistic"] == ["abs_max"]
    assert 0 < len(query["nodes"][0].split(",")) <= 200
    with tap.page.expect_request(is_for_lines) as asked:
        tap.page.get_by_test_id("colour-by").select_option("statistic:mean")
    assert "statistic=mean" in asked.value.url
    expect(note).to_have_text("Mean over steps")
    zoom(tap, CLOSE_UP - 0.3)
    expect(note).to_have_count(0)


def test_a_title_that_follows_the_view_closes_its_scope(tap: TapPage, graph: Locator) -> None:
    zoom(tap, 3)
    place = tap.page.evaluate("name => window.tensortap.node(name)", "digits_1")
    box = graph.bounding_box()
    assert box is not None
    assert place["y"] < box["y"], "its own title bar is above the view"
    pane = tap.page.locator(".graph-pane")
    layouts = int(pane.get_attribute("data-layouts") or "")
    node = tap.page.evaluate("name => window.tensortap.node(name)", f"{LAYER}/convolution/ReadVariableOp")
    # Of the first title, in the first row below the search box that is clear of the node there.
    row = max(0, math.ceil((node["y"] + node["height"] - box["y"] - 49) / 27)) if node else 0
    sign = (box["x"] + 12 + 12, box["y"] + 49 + 27 * row + 12)
    tap.page.mouse.click(*sign)
    expect(pane).to_have_attribute("data-layouts", str(layouts + 1))
    tap.wait_until_ready()
    drawn = tap.drawn_nodes()
    assert "digits_1" in drawn, "the closed scope is brought into view"
    assert not [name for name in drawn if re.match(r"digits_1/", name)]
