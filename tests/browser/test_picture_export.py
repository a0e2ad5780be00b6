"""The graph as a picture: SVG that says what the canvas shows, PNG of the wanted size, large graphs."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser_page import TapPage
from browser_site import Serve, Site
from pictures import Pictures
from playwright.sync_api import Browser, expect

import tensortap
from tensortap.core.records import Graph, Node

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "]]><b>"
# Shades of 255. Fonts apart, SVG and canvas are drawn alike.
MEAN, WORST = 1.0, 10.0
WIDTH = "name => window.tensortap.node(name)?.width"


@pytest.fixture(scope="module")
def pictures(browser: Browser) -> Iterator[Pictures]:
    reader = Pictures(browser)
    yield reader
    reader.close()


def enter(tap: TapPage, site: Site) -> None:
    """Shows the run that ends in NaN, with all that its page grows."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    expect(tap.page.get_by_test_id("chain")).to_be_visible()
    tap.wait_until_ready()


def choose(tap: TapPage, *names: str) -> None:
    """Opens the menu, if it is closed, and chooses there by the buttons' names."""
    menu = tap.page.get_by_role("dialog", name="Export image")
    if menu.count() == 0:
        tap.page.get_by_role("button", name="Export image").click()
    for name in names:
        menu.get_by_role("button", name=name, exact=True).click()


def save(tap: TapPage, to: Path) -> Path:
    with tap.page.expect_download() as download:
        tap.page.get_by_test_id("save-picture").click()
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path


def texts(path: Path) -> list[str]:
    return [text.text or "" for text in ElementTree.parse(path).iter(f"{SVG}text")]


def png_size(path: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def reported_size(tap: TapPage) -> tuple[int, int]:
    reported = tap.page.get_by_test_id("picture-size").inner_text()
    (sizes,) = re.findall(r"([\d,]+) × ([\d,]+)(?: pixels$|, vector| pixels\. SVG)", reported)
    width, height = (int(number.replace(",", "")) for number in sizes)
    return width, height


def test_an_svg_shows_what_the_canvas_shows(
    tap: TapPage, site: Site, browser: Browser, pictures: Pictures, tmp_path: Path
) -> None:
    enter(tap, site)
    tap.page.get_by_test_id("graph").press("f")
    tap.wait_until_ready()
    choose(tap, "Current view", "SVG")
    drawing = save(tap, tmp_path)
    width, height = reported_size(tap)
    choose(tap, "PNG", "1×")
    photograph = save(tap, tmp_path)
    assert png_size(photograph) == (width, height)
    written = texts(drawing)
    assert any(text.startswith("digits-nan · ") for text in written), written
    assert {"NaN", "Health", "not captured"} <= {text.partition("  ")[0] for text in written}
    assert any(text.startswith("digits") and "·" not in text for text in written)
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(drawing.as_uri())
    apart = pictures.distance(page.screenshot(), photograph)
    page.close()
    assert apart.mean < MEAN, apart
    assert apart.worst < WORST, apart


def test_a_png_has_the_wanted_size(tap: TapPage, site: Site, tmp_path: Path) -> None:
    enter(tap, site)
    canvas = tap.page.locator(".graph-canvas").first.bounding_box()
    assert canvas is not None
    for scale in (1, 2, 4):
        choose(tap, "Current view", "PNG", f"{scale}×")
        width, height = png_size(save(tap, tmp_path))
        assert (width, height) == reported_size(tap)
        assert width == round(canvas["width"]) * scale
        assert height > canvas["height"] * scale  # the caption and the legend
    menu = tap.page.get_by_role("dialog", name="Export image")
    for name in ("Legend", "Caption"):
        menu.get_by_role("switch", name=name).click()
    assert reported_size(tap) == (width, round(canvas["height"]) * 4)


def test_what_is_saved_is_what_is_on_show_then(tap: TapPage, site: Site, tmp_path: Path) -> None:
    """GIVEN the open menu WHEN the view is moved below it THEN the picture is of where it is now."""
    enter(tap, site)
    choose(tap, "Current view", "SVG")
    canvas = tap.page.locator(".graph-canvas").first.bounding_box()
    assert canvas is not None
    tap.page.mouse.move(canvas["x"] + canvas["width"] / 3, canvas["y"] + canvas["height"] / 2)
    (name, *_) = tap.drawn_nodes()
    width = tap.page.evaluate(WIDTH, name)
    tap.page.mouse.wheel(0, -400)
    tap.page.wait_for_function(f"([name, before]) => ({WIDTH})(name) !== before", arg=[name, width])
    tap.wait_until_ready()
    moved = texts(save(tap, tmp_path))
    choose(tap, "PNG", "SVG")  # the menu looks at the view again
    assert texts(save(tap, tmp_path)) == moved


def test_the_menu_keeps_the_keyboard_and_tells_what_was_saved(tap: TapPage, site: Site) -> None:
    """GIVEN a selected node WHEN a picture is saved by keyboard THEN Escape closes the menu alone."""
    enter(tap, site)
    tap.page.get_by_test_id("graph").press("m")
    tool = tap.page.get_by_role("button", name="Export image").first
    tap.page.wait_for_function("() => location.hash.includes('tensor=')")
    tap.wait_until_ready()
    chosen = tap.page.url
    expect(tool).to_have_attribute("aria-haspopup", "dialog")
    expect(tool).to_have_attribute("aria-expanded", "false")
    choose(tap, "Current view", "SVG")
    expect(tool).to_have_attribute("aria-expanded", "true")
    button = tap.page.get_by_test_id("save-picture")
    button.focus()
    with tap.page.expect_download() as download:
        tap.page.keyboard.press("Enter")
    reported = tap.page.get_by_role("toolbar", name="Graph view").get_by_role("status")
    name = download.value.suggested_filename
    assert re.fullmatch(r"digits-nan_.*_step_\d+_on_show_Health\.svg", name), name
    expect(reported).to_have_text(f"Saved {name}.")
    expect(button).to_be_focused()
    tap.page.keyboard.press("Escape")
    expect(button).to_have_count(0)
    expect(tool).to_be_focused()
    assert tap.page.url == chosen


def test_hostile_names_stay_text(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with tensortap.DumpWriter(tmp_path / "logs", run="hostile") as writer:
        writer.graph(Graph(name="g", nodes=[Node(HOSTILE, "Op<&>"), Node("\ufffex\x1b", "Other")]))
    tap.page.goto(serve(tmp_path / "logs").start_url)
    tap.wait_until_ready()
    choose(tap, "Whole graph", "SVG")
    drawing = save(tap, tmp_path)
    assert {HOSTILE, "Op<&>", "x\\u001b"} <= set(texts(drawing))
    assert {element.tag for element in ElementTree.parse(drawing).iter()} <= {
        f"{SVG}{name}" for name in ("svg", "title", "g", "rect", "path", "text")
    }


def write_large(logdir: Path, blocks: int) -> None:
    nodes: list[Node] = []
    before: tuple[str, ...] = ()
    for block in range(blocks):
        for place in range(20):
            name = f"group_{block // 50}/block_{block % 50}/op_{place}_{block % 7}"
            nodes.append(Node(name, "Relu" if place % 2 else "MatMul", before, output_dtypes=("float32",)))
            before = (f"{name}:0",)
    with tensortap.DumpWriter(logdir, run="large") as writer:
        writer.graph(Graph(name="large", nodes=nodes))


@pytest.mark.nightly
def test_fifty_thousand_nodes_are_saved_while_the_page_goes_on(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    write_large(tmp_path / "logs", blocks=2500)
    tap.page.goto(serve(tmp_path / "logs").start_url)
    tap.wait_until_ready()
    pane = tap.page.locator(".graph-pane")
    shown = int(pane.get_attribute("data-layouts") or "")
    tap.page.get_by_label("Expand all").click()
    expect(pane).to_have_attribute("data-layouts", str(shown + 1), timeout=60_000)
    tap.wait_until_ready()

    choose(tap, "Whole graph", "SVG")
    tap.page.get_by_test_id("save-picture").click()
    expect(tap.page.get_by_label("Picture drawn")).to_be_visible()
    tap.page.get_by_role("button", name="Cancel").click()
    expect(tap.page.get_by_label("Picture drawn")).to_have_count(0)
    expect(tap.page.get_by_test_id("save-picture")).to_be_focused()

    tap.page.get_by_test_id("save-picture").click()
    expect(tap.page.get_by_label("Picture drawn")).to_be_visible()
    tap.page.evaluate("() => document.querySelector('[aria-label^=\"Collapse all\"]').click()")
    expect(tap.page.get_by_role("alert")).to_contain_text("Try again")
    expect(pane).to_have_attribute("data-layouts", str(shown + 2))
    tap.page.get_by_label("Expand all").click()
    expect(pane).to_have_attribute("data-layouts", str(shown + 3), timeout=60_000)
    tap.wait_until_ready()

    choose(tap, "Whole graph", "SVG")
    drawing = save(tap, tmp_path)
    root = ElementTree.parse(drawing).getroot()
    assert sum(1 for _ in root.iter(f"{SVG}rect")) > 50_000
    assert sum(1 for text in root.iter(f"{SVG}text") if (text.text or "").startswith("op_")) == 50_000
    choose(tap, "PNG", "4×")
    expect(tap.page.get_by_test_id("picture-size")).to_contain_text("exceed the canvas limit")
    width, height = reported_size(tap)
    assert png_size(save(tap, tmp_path)) == (width, height)
    assert max(width, height) <= 16_384
