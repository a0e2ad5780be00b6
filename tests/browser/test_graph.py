"""The graph: scopes that open and close, the keyboard, search, colours, links that keep what is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, expect

MODEL = "digits_1"
LAYER = "digits_1/conv1_1"


@pytest.fixture
def graph(tap: TapPage, site: Site) -> Locator:
    """The focused graph of the run that ends in NaN."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    surface = tap.page.get_by_test_id("graph")
    surface.focus()
    return surface


@contextmanager
def relayout(tap: TapPage) -> Iterator[None]:
    """Waits until the layout that is asked for inside is shown."""
    pane = tap.page.locator(".graph-pane")
    before = int(pane.get_attribute("data-layouts") or "")
    yield
    expect(pane).to_have_attribute("data-layouts", str(before + 1))
    tap.wait_until_ready()


def box(tap: TapPage, name: str) -> dict[str, float]:
    """Where a node or scope is on the page."""
    found: dict[str, float] = tap.page.evaluate("name => window.tensortap.node(name)", name)
    return found


def test_all_scopes_open_and_close(tap: TapPage, graph: Locator) -> None:
    with relayout(tap):
        graph.press("[")
    closed = tap.drawn_nodes()
    assert LAYER not in closed
    with relayout(tap):
        graph.press("]")
    opened = tap.drawn_nodes()
    assert LAYER in opened
    assert len(opened) > 3 * len(closed)
    with relayout(tap):
        tap.page.get_by_label("Collapse all").click()
    assert tap.drawn_nodes() == closed


def test_double_click_opens_a_scope_where_it_is(tap: TapPage, graph: Locator) -> None:
    with relayout(tap):
        graph.press("[")
    before = box(tap, MODEL)
    with relayout(tap):
        tap.page.mouse.dblclick(before["x"] + before["width"] - 6, before["y"] + 6)
    after = box(tap, MODEL)
    assert LAYER in tap.drawn_nodes()
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1)
    assert after["height"] > before["height"]


def test_arrow_keys_follow_the_data(tap: TapPage, graph: Locator) -> None:
    tap.search("/conv1.*Relu$/")
    inspector = tap.page.get_by_test_id("inspector")
    start = inspector.get_attribute("data-node") or ""
    graph.press("ArrowUp")
    expect(inspector).not_to_have_attribute("data-node", start)
    said = tap.page.locator(".graph-offscreen")
    expect(said).to_contain_text("Selected")
    graph.press("ArrowDown")
    tap.expect_inspected(start)
    graph.press("Escape")  # the search
    graph.press("Escape")
    expect(inspector).to_have_count(0)
    expect(said).to_have_text("")


def test_zooming_by_key_or_button_keeps_the_selection_in_view(tap: TapPage, graph: Locator) -> None:
    tap.search("/conv1.*Relu$/")
    name = tap.page.get_by_test_id("inspector").get_attribute("data-node") or ""
    graph.press("f")
    tap.wait_until_ready()
    before = box(tap, name)
    for _ in range(5):
        graph.press("+")
        tap.page.get_by_label("Zoom in").click()
    tap.wait_until_ready()
    view = graph.bounding_box()
    assert view is not None
    after = box(tap, name)
    assert after["width"] > 3 * before["width"]
    for place, size in (("x", "width"), ("y", "height")):
        assert view[place] < after[place]
        assert after[place] + after[size] < view[place] + view[size]


def test_search_goes_round_its_hits(tap: TapPage, graph: Locator) -> None:
    field = tap.page.get_by_test_id("search")
    graph.press("/")
    expect(field).to_be_focused()
    field.fill("op:conv2d")
    hits = tap.page.locator(".graph-hits")
    first = tap.page.get_by_test_id("search-result").first
    expect(first).to_contain_text("Conv2D")
    count = int(hits.inner_text())
    inspected = set()
    for number in range(1, count + 1):
        field.press("Enter")
        expect(hits).to_have_text(f"{number} of {count}")
        tap.wait_until_ready()
        inspected.add(tap.page.get_by_test_id("inspector").get_attribute("data-node"))
    assert len(inspected) == count
    field.press("Enter")
    expect(hits).to_have_text(f"1 of {count}")
    field.fill("/conv(/")
    expect(hits).to_contain_text("not a regular expression")
    field.press("Escape")
    expect(hits).to_have_count(0)


def test_legend_counts_what_is_red(tap: TapPage, graph: Locator) -> None:
    expect(graph).to_be_focused()
    tap.page.keyboard.press("ArrowRight")  # the graph has the focus: no step changes
    legend = tap.page.get_by_label("Legend")
    nan = int(
        legend.get_by_role("listitem").filter(has_text="NaN").locator(".graph-legend-count").inner_text()
    )
    assert nan > 0
    tap.page.get_by_test_id("search").fill("is:nan")
    expect(tap.page.locator(".graph-hits")).to_have_text(str(nan))


def test_a_link_keeps_what_is_open(tap: TapPage, graph: Locator) -> None:
    tap.search("op:conv2d")
    tap.page.wait_for_function("() => location.hash.includes('open=')")
    layers = [name for name in tap.drawn_nodes() if name.startswith(f"{LAYER}/")]
    assert layers != []
    tap.page.reload()
    tap.wait_until_ready()
    assert set(layers) <= set(tap.drawn_nodes())


def test_a_link_keeps_that_all_is_closed(tap: TapPage, graph: Locator) -> None:
    graph.press("[")
    tap.page.wait_for_function("() => /open=(&|$)/.test(location.hash)")
    closed = tap.drawn_nodes()
    tap.page.reload()
    tap.wait_until_ready()
    assert tap.drawn_nodes() == closed
