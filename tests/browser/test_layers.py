"""The layer view: what the page opens on, its cards, the step, blocks, and the ways to ops and panel."""

from __future__ import annotations

import re

import pytest
from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Page, expect


def cards(page: Page) -> list[str]:
    """Keys of the cards that are drawn."""
    page.wait_for_function("() => window.tensortap.ready && window.tensortap.nodes().length > 0")
    found: list[str] = page.evaluate("() => window.tensortap.nodes()")
    return found


def point_of(page: Page, key: str) -> tuple[float, float]:
    """The middle of a card."""
    box = page.evaluate("key => window.tensortap.node(key)", key)
    assert box is not None, key
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def layer(page: Page, ending: str) -> str:
    """The first card whose key ends so."""
    return next(key for key in cards(page) if key.endswith(ending))


@pytest.fixture
def layers(tap: TapPage, site: Site) -> TapPage:
    tap.page.goto(site.start_url)
    tap.wait_until_ready()
    return tap


def test_the_page_opens_on_the_layers(layers: TapPage) -> None:
    expect(layers.page.get_by_test_id("layers")).to_be_visible()
    views = layers.page.get_by_role("group", name="View", exact=True)
    expect(views.get_by_role("button", name="Layers", pressed=True)).to_be_visible()
    assert len(cards(layers.page)) >= 3
    expect(layers.page).to_have_url(re.compile("view=layers"))


def test_a_click_selects_and_a_double_click_leads_to_the_ops(layers: TapPage) -> None:
    page = layers.page
    key = layer(page, "hidden_1")
    page.mouse.click(*point_of(page, key))
    panel = page.get_by_test_id("layer-panel")
    expect(panel).to_have_attribute("data-layer", key)
    expect(panel.get_by_test_id("layer-weights")).to_contain_text("kernel")
    expect(panel.get_by_test_id("made-at")).to_have_text(re.compile(r"\.py:\d+$"))
    expect(page).to_have_url(re.compile("layer="))
    page.mouse.dblclick(*point_of(page, key))
    expect(page.get_by_role("button", name="Ops", pressed=True)).to_be_visible()
    layers.wait_until_ready()
    expect(page).to_have_url(re.compile(r"selected=[^&]*hidden"))


def test_the_bookmark_of_a_layer_has_its_name(layers: TapPage) -> None:
    page = layers.page
    for name in ("hidden_1", "conv1_1"):
        key = layer(page, name)
        page.mouse.click(*point_of(page, key))
        expect(page.get_by_test_id("layer-panel")).to_have_attribute("data-layer", key)
        page.keyboard.press("a")
    page.keyboard.press("A")
    expect(page.locator(".bookmark-go .truncate")).to_have_text(["hidden", "conv1"])


def test_a_weight_of_the_panel_leads_to_its_gradient(layers: TapPage) -> None:
    page = layers.page
    page.mouse.click(*point_of(page, layer(page, "hidden_1")))
    row = page.get_by_test_id("layer-weights").get_by_role("row").filter(has_text="kernel")
    row.get_by_role("button").nth(1).click()
    expect(page.get_by_test_id("inspector")).to_be_visible()
    expect(page).to_have_url(re.compile("tensor="))


def test_arrow_keys_enter_and_escape(layers: TapPage) -> None:
    page = layers.page
    page.get_by_test_id("graph").focus()
    page.keyboard.press("ArrowDown")
    first = page.get_by_test_id("layer-panel").get_attribute("data-layer")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_test_id("layer-panel")).not_to_have_attribute("data-layer", first or "")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_test_id("layer-panel")).to_have_attribute("data-layer", first or "")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("layer-panel")).to_have_count(0)


def test_zoom_and_fit_need_no_focus(layers: TapPage) -> None:
    page = layers.page
    width = "() => window.tensortap.node(window.tensortap.nodes()[0]).width"
    before = cards(page) and page.evaluate(width)
    page.keyboard.press("+")
    page.wait_for_function(f"before => ({width})() > before", arg=before)
    page.keyboard.press("f")
    page.wait_for_function(f"before => Math.abs(({width})() - before) < 1", arg=before)


def test_a_step_change_changes_what_the_cards_say(layers: TapPage) -> None:
    page = layers.page
    page.mouse.click(*point_of(page, layer(page, "hidden_1")))
    norms = page.get_by_test_id("layer-weights")
    before = norms.text_content()
    page.get_by_test_id("step-slider").focus()
    page.keyboard.press("Home")
    expect(norms).not_to_have_text(before or "")


def test_the_switch_is_remembered(layers: TapPage, site: Site) -> None:
    page = layers.page
    page.get_by_role("button", name="Ops", exact=True).click()
    expect(page).to_have_url(re.compile("view=graph"))
    page.goto("about:blank")
    page.goto(site.url)
    layers.wait_until_ready()
    expect(page.get_by_role("button", name="Ops", pressed=True)).to_be_visible()


def test_cards_are_coloured_by_a_statistic(layers: TapPage) -> None:
    page = layers.page
    page.get_by_test_id("shade").select_option("gradientNorm")
    expect(page.get_by_label("Legend")).to_contain_text("Gradient norm")
    expect(page).to_have_url(re.compile("shade=gradientNorm"))


def test_a_link_leads_back_to_a_layer(layers: TapPage) -> None:
    page = layers.page
    key = layer(page, "hidden_1")
    page.mouse.click(*point_of(page, key))
    expect(page).to_have_url(re.compile("layer="))
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    layers.wait_until_ready()
    expect(page.get_by_test_id("layer-panel")).to_have_attribute("data-layer", key)


def test_a_layer_leads_to_the_histograms_of_its_tensors(layers: TapPage, site: Site) -> None:
    page = layers.page
    page.goto(f"{site.url}#run=digits&view=layers")
    layers.wait_until_ready()
    page.mouse.click(*point_of(page, layer(page, "hidden_1")))
    expect(page.get_by_test_id("largest-tensor")).to_be_visible()
    page.get_by_test_id("show-wall").click()
    cards_of_wall = page.get_by_test_id("wall-card")
    expect(cards_of_wall.first).to_be_visible()
    names = cards_of_wall.evaluate_all("all => all.map(card => card.dataset.tensor)")
    assert len(names) >= 3 and all("hidden" in name for name in names)


def test_a_scope_of_the_ops_has_a_panel(layers: TapPage, site: Site) -> None:
    """GIVEN a scope WHEN it is selected THEN the panel leads to its tensors, weights and line."""
    page = layers.page
    page.goto(f"{site.url}#run=digits&view=graph&part=all&selected=digits_1/hidden_1")
    panel = page.get_by_test_id("scope-panel")
    expect(panel).to_have_attribute("data-scope", "digits_1/hidden_1")
    expect(panel.get_by_test_id("layer-weights")).to_contain_text("kernel")
    expect(panel.get_by_test_id("scope-inputs")).to_be_visible()
    expect(panel.get_by_test_id("made-at")).to_have_text(re.compile(r"\.py:\d+$"))
    panel.get_by_test_id("scope-outputs").get_by_role("button").last.click()
    expect(page.get_by_test_id("inspector")).to_have_attribute("data-node", re.compile("^digits_1/hidden_1/"))
    page.go_back()
    panel.get_by_test_id("scope-layer").click()
    expect(page.get_by_test_id("layer-panel")).to_have_attribute("data-layer", re.compile("hidden_1$"))


def test_a_scope_selected_in_a_part_is_found_by_other_parts_and_views(tap: TapPage, site: Site) -> None:
    """GIVEN a scope of the forward pass WHEN part or view change THEN the same layer is selected there."""
    page = tap.page
    page.goto(f"{site.start_url}#run=digits&view=graph")
    tap.wait_until_ready()
    page.get_by_test_id("graph").press("[")
    tap.wait_until_ready()
    page.get_by_test_id("graph").press("f")
    tap.click_on_canvas("digits")
    panel = page.get_by_test_id("scope-panel")
    expect(panel).to_have_attribute("data-scope", "digits")
    page.wait_for_function("() => location.hash.includes('selected=digits_1')")
    for part, scope in {"Backward": "digits", "Forward": "digits", "All": "digits_1"}.items():
        page.get_by_role("button", name=part, exact=True).click()
        expect(panel).to_have_attribute("data-scope", scope)
    expect(panel.get_by_role("button", name="Histograms")).to_be_visible()
    page.get_by_role("button", name="Timeline").click()
    row = page.get_by_test_id("timeline-row").and_(page.locator("[data-selected=true]"))
    expect(row).to_have_attribute("data-path", "digits_1")


def test_a_trace_of_a_scope_and_the_part_survive(tap: TapPage, site: Site) -> None:
    """GIVEN a trace of a scope WHEN the part changes THEN it is of that layer; a reload keeps the part."""
    page = tap.page
    page.goto(f"{site.start_url}#run=digits&view=graph&part=forward&selected=digits/hidden")
    tap.wait_until_ready()
    expect(page.get_by_test_id("scope-panel")).to_have_attribute("data-scope", "digits/hidden")
    page.get_by_test_id("graph").press("i")
    trace = page.get_by_test_id("trace")
    expect(trace).to_contain_text("Upstream of hidden")
    page.get_by_role("button", name="All", exact=True).click()
    expect(trace).to_contain_text(re.compile(r"Upstream of hidden_1\s*[\d,]+ nodes"))
    page.get_by_role("button", name="Forward", exact=True).click()
    expect(trace).to_contain_text(re.compile(r"Upstream of hidden\s*[\d,]+ nodes"))
    page.reload()
    tap.wait_until_ready()
    expect(page.get_by_role("button", name="Forward", exact=True)).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("view", ["layers", "graph"])
def test_in_a_narrow_pane_the_legend_is_one_line_beside_the_minimap(
    tap: TapPage, site: Site, view: str
) -> None:
    """Else it covers what is drawn at the bottom of a window of 1024 by 700."""
    page = tap.page
    page.set_viewport_size({"width": 1024, "height": 700})
    page.goto(f"{site.start_url}#run=digits&view={view}")
    tap.wait_until_ready()
    legend = page.get_by_role("region", name="Legend").bounding_box()
    minimap = page.locator(".graph-minimap")
    assert legend is not None
    assert legend["height"] < 45
    if minimap.count():
        beside = minimap.bounding_box()
        assert beside is not None and legend["x"] + legend["width"] <= beside["x"]


def test_the_updates_of_a_weight_have_no_histograms_of_a_scope(tap: TapPage, site: Site) -> None:
    """GIVEN a scope of the optimizer only WHEN it is selected THEN no button leads to an empty list."""
    page = tap.page
    page.goto(f"{site.start_url}#run=digits&view=graph&part=optimizer&selected=digits/conv1/kernel update")
    panel = page.get_by_test_id("scope-panel")
    expect(panel).to_have_attribute("data-scope", "digits/conv1/kernel update")
    expect(panel.get_by_role("button", name="Histograms")).to_have_count(0)


def test_a_gradient_highlights_the_card_of_its_layer(layers: TapPage) -> None:
    page = layers.page
    key = layer(page, "hidden_1")
    page.mouse.click(*point_of(page, key))
    page.get_by_test_id("layer-weights").get_by_role("button").nth(1).click()
    expect(page.get_by_test_id("inspector")).to_have_attribute("data-node", re.compile("gradient"))
    expect(page.locator(".graph-offscreen")).to_have_text(re.compile("^hidden"))


def test_a_phone_shows_the_whole_model(tap: TapPage, site: Site) -> None:
    page = tap.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.start_url}#run=digits&view=layers")
    tap.wait_until_ready()
    pane = page.get_by_test_id("graph").bounding_box()
    assert pane is not None
    layers_of_model = [key for key in cards(page) if key.startswith("digits")]
    assert len(layers_of_model) > 5
    for key in layers_of_model:
        box = page.evaluate("key => window.tensortap.node(key)", key)
        assert pane["x"] <= box["x"] and box["x"] + box["width"] <= pane["x"] + pane["width"], key
    expect(page.get_by_label("Legend").get_by_role("button")).to_have_attribute("aria-expanded", "false")


def test_a_layer_or_view_that_there_is_not_is_named(tap: TapPage, site: Site) -> None:
    """GIVEN an address with an unknown layer or view WHEN opened THEN a line names it above the layers."""
    tap.enter(site)
    for part, said in (
        ("view=layers&layer=nope", "The graph has no layer nope; showing the whole model."),
        ("view=nope", "Ignored unknown URL parameter: view=nope. Showing Layers."),
    ):
        tap.page.goto("about:blank")
        tap.page.goto(f"{site.url}#{part}")
        expect(tap.page.get_by_test_id("lost")).to_have_text(said)
        expect(tap.page.get_by_test_id("layers")).to_be_visible()


def test_one_back_after_enter_leads_to_the_layer(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.page.goto("about:blank")
    tap.page.goto(f"{site.url}#view=layers")
    tap.wait_until_ready()
    cards = tap.page.get_by_test_id("graph")
    cards.press("ArrowDown")
    cards.press("ArrowDown")
    panel = tap.page.get_by_test_id("layer-panel")
    layer = panel.get_attribute("data-layer") or ""
    before = tap.page.evaluate("() => history.length")
    cards.press("Enter")
    expect(tap.page).to_have_url(re.compile("view=graph|selected="))
    tap.wait_until_ready()
    assert tap.page.evaluate("() => history.length") == before + 1
    tap.page.go_back()
    expect(panel).to_have_attribute("data-layer", layer)
    expect(tap.page.get_by_test_id("layers")).to_be_visible()
