"""The tables by the keyboard alone, and where they scroll to by themselves."""

from __future__ import annotations

import re

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect

import tensortap


@pytest.fixture(scope="module")
def relu(site: Site) -> str:
    """A tensor of the demo whose values are kept."""
    names = tensortap.open(site.logdir).runs["digits"].tensors
    return next(name for name in names if re.search(r"conv1.*/Relu:0$", name))


def test_the_list_scrolls_to_what_is_selected_and_keys_move_on(tap: TapPage, site: Site, relu: str) -> None:
    """GIVEN a tensor selected elsewhere WHEN the list opens THEN its row is in view; keys go on."""
    tap.enter(site)
    tap.go_to(site, "digits", relu, 50)
    tap.page.get_by_role("button", name="Tensors", exact=True).click()
    tap.page.get_by_role("button", name="All steps").click()
    chosen = tap.page.locator("[data-testid=tensor-row][data-selected=true]")
    expect(chosen).to_have_attribute("data-tensor", relu)
    expect(chosen).to_be_in_viewport()
    row = int(chosen.get_attribute("aria-rowindex") or "")
    assert row > 40  # below what is in view at first

    grid = tap.page.get_by_role("grid", name="Tensors")
    grid.press("ArrowDown")
    expect(chosen).to_have_attribute("aria-rowindex", str(row + 1))
    expect(grid).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "")
    grid.press("End")
    expect(chosen).to_have_attribute("aria-rowindex", grid.get_attribute("aria-rowcount") or "")
    expect(chosen).to_be_in_viewport()
    grid.press("PageUp")
    grid.press("Home")
    expect(chosen).to_have_attribute("aria-rowindex", "2")
    expect(chosen).to_be_in_viewport()


def test_elements_of_a_value_are_reached_by_keys(tap: TapPage, site: Site, relu: str) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", relu, 50)
    tap.show_tab("value")
    tap.page.get_by_test_id("inspector").get_by_role("button", name="Table").click()
    grid = tap.page.get_by_role("grid", name="Elements")
    focused = tap.page.locator("[data-testid=value-cell][data-focused=true]")
    rows, columns = (int(grid.get_attribute(f"aria-{axis}count") or "") - 1 for axis in ("row", "col"))

    def place() -> tuple[int, ...]:
        found = re.findall(r"\d+", grid.get_attribute("aria-activedescendant") or "")
        return tuple(map(int, found))

    grid.press("ArrowDown")
    expect(focused).to_be_in_viewport()
    assert place() == (0, 0)
    grid.press("ArrowDown")
    grid.press("ArrowRight")
    expect(grid).to_have_attribute("aria-activedescendant", "element-1-1")
    grid.press("Control+End")
    expect(grid).to_have_attribute("aria-activedescendant", f"element-{rows - 1}-{columns - 1}")
    expect(focused).to_be_in_viewport()
    grid.press("Home")
    grid.press("PageUp")
    expect(focused).to_be_in_viewport()
    assert place()[1] == 0
    assert tap.step() == 50  # the arrows of the page, which change the step, had nothing to do


def test_esc_in_the_search_gives_the_keys_back_to_the_graph(tap: TapPage, site: Site, relu: str) -> None:
    """GIVEN a hit that Enter went to WHEN Esc is pressed THEN the box is empty and keys are commands."""
    tap.enter(site)
    tap.page.keyboard.press("/")
    field = tap.page.get_by_test_id("search")
    field.fill(relu.removesuffix(":0"))
    field.press("Enter")
    tap.wait_until_ready()
    expect(field).to_be_focused()
    field.press("Escape")
    expect(field).to_have_value("")
    expect(field).not_to_be_focused()
    tap.page.keyboard.press("v")
    expect(tap.page.get_by_role("tab", name="Value")).to_have_attribute("aria-selected", "true")
    tap.expect_inspected(relu.removesuffix(":0"))


def test_without_a_node_the_enlarged_panel_makes_room_for_the_graph(
    tap: TapPage, site: Site, relu: str
) -> None:
    """GIVEN an enlarged panel WHEN going back to where no node was selected THEN the graph is there."""
    tap.enter(site)
    graph = tap.page.get_by_role("button", name="Tensors", exact=True)  # of the views
    expect(graph).to_be_visible()
    tap.page.keyboard.press("e")
    expect(graph).to_be_visible()
    tap.page.keyboard.press("e")
    tap.page.evaluate("tensor => { location.hash += `&tensor=${encodeURIComponent(tensor)}`; }", relu)
    tap.expect_inspected(relu.rpartition(":")[0])
    tap.page.keyboard.press("e")
    expect(graph).to_be_hidden()
    tap.page.go_back()
    expect(graph).to_be_visible()
    tap.page.go_forward()
    expect(graph).to_be_hidden()
    tap.page.keyboard.press("Escape")
    expect(graph).to_be_visible()


def test_g_goes_along_the_views_as_they_stand(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    views = tap.page.get_by_role("group", name="View", exact=True)
    order = ("Tensors", "Timeline", "Source", "Problems", "Compare", "Replay", "Events", "Layers", "Ops")
    for name in order:
        tap.page.keyboard.press("g")
        expect(views.get_by_role("button", name=name, exact=True, pressed=True)).to_be_visible()


def test_a_slider_leaves_letters_to_the_page(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    slider = tap.page.get_by_test_id("step-slider")
    slider.focus()
    before = tap.step()
    slider.press("ArrowLeft")
    expect(tap.page.get_by_test_id("step-label")).not_to_have_attribute("data-step", str(before))
    slider.press("w")
    expect(tap.page.get_by_test_id("problems-toggle")).to_have_attribute("aria-pressed", "true")


def test_up_and_down_enter_the_rows_from_the_page_and_from_the_filter(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.page.goto(f"{site.url}#view=table")
    chosen = tap.page.locator("[data-testid=tensor-row][data-selected=true]")
    expect(tap.page.get_by_test_id("tensor-row").first).to_be_visible()
    tap.page.locator("body").press("ArrowDown")
    expect(chosen).to_have_attribute("aria-rowindex", "2")
    tap.page.keyboard.press("ArrowDown")
    expect(chosen).to_have_attribute("aria-rowindex", "3")
    tap.page.get_by_test_id("table-filter").fill("Relu:0")
    expect(tap.page.get_by_test_id("tensor-row").first).to_have_attribute("data-tensor", re.compile("Relu:0"))
    tap.page.get_by_test_id("table-filter").press("ArrowDown")
    expect(tap.page.get_by_role("grid", name="Tensors")).to_be_focused()
    expect(chosen).to_have_attribute("data-tensor", re.compile("Relu:0"))


def test_max_says_where_in_an_image(tap: TapPage, site: Site, relu: str) -> None:
    """GIVEN an image of one slice WHEN Max THEN its slice, with the index and the value."""
    tap.enter(site)
    tap.go_to(site, "digits", relu, 50)
    tap.show_tab("value")
    tap.page.get_by_role("group", name="View").get_by_role("button", name="Image").click()
    button = tap.page.get_by_role("button", name="Max", exact=True)
    largest = (button.get_attribute("title") or "").split("(")[1]
    button.click()
    marked = tap.page.get_by_test_id("marked")
    expect(marked).to_have_text(re.compile(r"^\[\d+, \d+, \d+, \d+\] = "))
    assert float(marked.inner_text().split(" = ")[1]) == pytest.approx(float(largest.rstrip(")")))
