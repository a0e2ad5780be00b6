"""Finding: the command palette, and what the search box of the graph understands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import Locator, Route, expect

import tensortap

# Whether a highlight is drawn around the node of an op, above the graph.
OUTLINED = """op => {
    const [, canvas] = document.querySelectorAll('.graph-canvas');
    const name = window.tensortap.nodes().find(node => node.endsWith('/' + op));
    const box = name && window.tensortap.node(name);
    if (!box) return false;
    const { left, top, width } = canvas.getBoundingClientRect();
    const scale = canvas.width / width;
    const [x, y] = [(box.x + box.width / 2 - left) * scale, (box.y + box.height - top) * scale];
    const patch = new OffscreenCanvas(8, 8).getContext('2d', { willReadFrequently: true });
    patch.drawImage(canvas, x - 4, y - 4, 8, 8, 0, 0, 8, 8);
    return patch.getImageData(0, 0, 8, 8).data.some((value, i) => i % 4 === 3 && value > 128);
}"""


@pytest.fixture
def field(tap: TapPage, site: Site) -> Locator:
    """The search box of the demo's graph."""
    tap.enter(site)
    tap.wait_until_ready()
    return tap.page.get_by_test_id("search")


def open_palette(tap: TapPage, text: str) -> Locator:
    """The rows that the palette finds for a text; the first of them is chosen."""
    tap.page.keyboard.press("Control+k")
    tap.page.get_by_test_id("palette-field").fill(text)
    return tap.page.get_by_test_id("palette-row")


def test_the_palette_runs_a_command_and_offers_it_again(tap: TapPage, field: Locator) -> None:
    """GIVEN a command found by its letters WHEN Enter THEN it is done, and first the next time."""
    rows = open_palette(tap, "vw tmln")
    expect(rows.first).to_have_text("View: Timeline")
    expect(rows.first.locator("mark").first).to_have_text("V")
    tap.page.keyboard.press("Enter")
    expect(tap.page.get_by_test_id("palette")).to_have_count(0)
    expect(tap.page.get_by_role("button", name="Timeline", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )

    rows = open_palette(tap, "")
    expect(rows.first).to_contain_text("View: Timeline")
    expect(tap.page.get_by_role("group", name="Recent")).to_contain_text("View: Timeline")
    expect(rows.filter(has_text="Trace upstream")).to_have_count(0)  # nothing is selected
    tap.page.keyboard.press("Escape")
    expect(tap.page.get_by_test_id("palette")).to_have_count(0)


def test_the_palette_goes_to_nodes_and_steps(tap: TapPage, field: Locator) -> None:
    """GIVEN a list box of what was found WHEN the arrows choose THEN the field names the row."""
    rows = open_palette(tap, "conv1 relu")
    node = tap.page.get_by_role("group", name="Nodes").get_by_test_id("palette-row").first
    expect(node).to_be_visible()
    chosen = tap.page.get_by_test_id("palette").locator("[aria-selected=true]")
    tap.page.keyboard.press("ArrowUp")  # around the end: to search the graph
    expect(chosen).to_contain_text("Search the graph")
    combobox = tap.page.get_by_role("combobox", name="Find anything")
    expect(combobox).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "")
    name = (node.locator(".palette-text").text_content() or "").strip()
    node.click()
    expect(tap.page.get_by_test_id("inspector")).to_have_attribute("data-node", name)

    rows = open_palette(tap, "step 1")
    expect(rows.first).to_have_text(re.compile("^step 1(?!.*nearest)"))
    tap.page.keyboard.press("Enter")
    tap.expect_step(1)
    expect(open_palette(tap, "step 99999").first).to_contain_text("nearest to 99999")


TYPE_AND_ENTER = """(field, text) => {
    field.value = text;
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
}"""


@pytest.fixture
def arrive(tap: TapPage, site: Site) -> Callable[[], None]:
    """Lets the code of the palette arrive, which is held back."""
    held: list[Route] = []
    answer = held.append
    tap.page.route(re.compile(r"/assets/lazy_views-"), lambda route: answer(route))

    def arrive() -> None:
        nonlocal answer
        answer = Route.continue_
        for route in held:
            route.continue_()

    tap.enter(site)
    tap.page.keyboard.press("Control+k")
    return arrive


def test_letters_typed_while_the_palette_is_loaded_are_for_its_field(
    tap: TapPage, arrive: Callable[[], None]
) -> None:
    """GIVEN a page whose other code is still loading WHEN a word follows Ctrl+K THEN it runs no commands."""
    before = tap.page.url
    tap.page.keyboard.type("goto")
    arrive()
    expect(tap.page.get_by_test_id("palette-field")).to_have_value("goto")
    assert tap.page.url == before


def test_enter_typed_while_the_palette_is_loaded_goes_there(tap: TapPage, arrive: Callable[[], None]) -> None:
    tap.page.keyboard.type("step 10")
    tap.page.keyboard.press("Enter")
    arrive()
    tap.expect_step(10)
    expect(tap.page.get_by_test_id("palette")).to_have_count(0)


def test_enter_means_what_was_typed_and_not_what_was_found_before(tap: TapPage, field: Locator) -> None:
    expect(field).to_be_visible()
    expect(open_palette(tap, "vw tmln").first).to_contain_text("View: Timeline")
    tap.page.get_by_test_id("palette-field").evaluate(TYPE_AND_ENTER, "step 10")
    tap.expect_step(10)
    expect(tap.page.get_by_test_id("graph")).to_be_visible()


def test_the_palette_shows_a_scope_from_any_view(tap: TapPage, field: Locator) -> None:
    tap.page.get_by_role("button", name="Tensors", exact=True).click()
    open_palette(tap, "conv1")
    row = tap.page.get_by_role("group", name="Scopes").get_by_test_id("palette-row").first
    expect(row).to_contain_text(re.compile(r"\d+ nodes$"))
    path = row.locator(".palette-text").text_content() or ""
    row.click()
    tap.wait_until_ready()
    tap.page.wait_for_function("path => window.tensortap.nodeState(path)?.selected === true", arg=path)


def test_the_legend_has_a_command_and_bad_nodes_have_keys(tap: TapPage, site: Site) -> None:
    """GIVEN a run with NaN WHEN m and M THEN the nodes that hold it are selected in turn, origins first."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    open_palette(tap, "legend")
    tap.page.keyboard.press("Enter")
    title = tap.page.get_by_role("region", name="Legend").get_by_role("button")
    expect(title).to_have_attribute("aria-expanded", "false")

    inspector = tap.page.get_by_test_id("inspector")
    expect(tap.page.get_by_test_id("chain")).to_be_visible()  # it is known where they were born
    tap.page.keyboard.press("m")  # the graph takes its keys without having the focus
    expect(inspector).to_be_visible()
    first = inspector.get_attribute("data-node") or ""
    assert first == "compile_loss/_careless_loss/Log"
    tap.wait_until_ready()
    assert tap.page.evaluate("name => window.tensortap.nodeState(name).nonfinite", first)
    tap.page.keyboard.press("m")
    expect(inspector).not_to_have_attribute("data-node", first)
    tap.page.keyboard.press("M")
    expect(inspector).to_have_attribute("data-node", first)


def test_on_a_mac_keys_are_those_of_its_keyboard(tap: TapPage, site: Site) -> None:
    tap.page.add_init_script("Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' })")
    tap.enter(site)
    expect(tap.page.get_by_test_id("palette-hint")).to_have_text("⌘ K")
    tap.page.keyboard.press("?")
    sheet = tap.page.get_by_role("dialog", name="Help")
    expect(sheet.locator("kbd", has_text=re.compile("^⌘ (K|F|z)$"))).to_have_count(3)
    expect(sheet.locator("kbd", has_text="Ctrl")).to_have_count(0)


def test_a_run_without_lines_says_so(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with tensortap.DumpWriter(tmp_path, run="numpy") as writer:
        writer.log("weights:0", np.ones(3), step=0)
    tap.enter(serve(tmp_path))
    open_palette(tap, "train.py:17")
    expect(tap.page.get_by_role("group", name="Source")).to_contain_text("has no source lines")


def test_an_op_of_the_palette_is_searched_for_on_the_graph(tap: TapPage, field: Locator) -> None:
    tap.page.get_by_role("button", name="Tensors", exact=True).click()
    open_palette(tap, "conv2d")
    tap.page.get_by_role("group", name="Ops").get_by_test_id("palette-row").first.click()
    expect(field).to_have_value("op:Conv2D")
    expect(tap.page.get_by_test_id("search-result").first).to_have_count(0)  # the list is the focused box's
    expect(tap.page.get_by_test_id("inspector")).to_have_attribute("data-node", re.compile("convolution"))


def test_letters_find_names_and_what_cannot_be_read_says_why(tap: TapPage, field: Locator) -> None:
    box = tap.page.locator(".graph-search")
    field.fill("mtml")
    expect(box.get_by_role("status")).to_have_text(re.compile(r"^\d+, fuzzy$"))
    field.press("Enter")
    expect(box.get_by_role("status")).to_have_text(re.compile(r"^1 of \d+, fuzzy$"))
    for text, why in [("->", "needs a node on both sides"), ("op:", "op:MatMul"), ("[", "For a regex use")]:
        field.fill(text)
        expect(box.locator(".graph-message")).to_contain_text(why)


def test_lines_and_problems_are_searched_for(tap: TapPage, field: Locator) -> None:
    """GIVEN the sheet below the empty box WHEN its line of the program is taken THEN its nodes are hits."""
    field.focus()
    sheet = tap.page.get_by_test_id("search-sheet")
    expect(sheet.get_by_role("button", name=re.compile(r"\.py:\d+"))).to_be_visible()
    field.press("ArrowDown")
    expect(sheet.get_by_role("button").first).to_be_focused()
    tap.page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    sheet.get_by_role("button", name=re.compile(r"\.py:\d+")).click()
    expect(tap.page.get_by_test_id("search-result").first).to_be_visible()
    expect(field).to_be_focused()
    field.fill("problem:*")
    expect(tap.page.get_by_test_id("search-result").first).to_be_visible()


def attention_run(folder: Path) -> Path:
    """A log directory with one step of a Keras MultiHeadAttention and a dense layer after it."""
    inputs = keras.Input((6, 8))
    attended = keras.layers.MultiHeadAttention(2, 4, name="attention")(inputs, inputs)
    model = keras.Model(inputs, keras.layers.Dense(3, name="head")(attended))
    with tensortap.Tap(folder / "attention") as tap:
        tap.function(lambda x: model(x, training=False))(tf.zeros((2, 6, 8)))
    return folder


def test_matmul_to_softmax_is_found_in_an_attention_layer(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    """GIVEN an attention layer, whose products are Einsum and BatchMatMulV2 THEN both ends are hits."""
    tap.enter(serve(attention_run(tmp_path)))
    tap.page.get_by_test_id("search").fill("MatMul->.*->Softmax")
    hits = tap.page.get_by_test_id("search-result")
    expect(hits).to_have_count(2)
    expect(hits.first).to_contain_text(re.compile("einsum", re.IGNORECASE))
    expect(hits.last).to_contain_text("Softmax")
    tap.page.get_by_test_id("search").press("Enter")
    tap.wait_until_ready()
    tap.unselect()
    tap.page.wait_for_function(OUTLINED, arg="Mul")  # the way between them
    tap.page.get_by_test_id("search").fill("op:Softmax")
    tap.page.wait_for_function(f"op => !({OUTLINED})(op)", arg="Mul")
