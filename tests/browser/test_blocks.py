"""Repeated blocks on stacks, traces on the graph, and the way of the Tab key, on a model of twelve blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import Locator, expect

import tensortap
from tensortap.core.records import Graph, Node

BLOCKS = 12
OPS = ("MatMul", "BiasAdd", "Relu", "Mul", "Sub", "Exp", "Sum", "AddV2")
STACK = "model/block_0..block_11"
FIRST, SECOND, LAST = (f"model/block_{block}" for block in (0, 1, 11))


def write_model(logdir: Path) -> None:
    """`model/embed`, twelve blocks in a chain, `model/head`; the last block's `Exp` is NaN."""
    nodes = [Node("model/embed", "Gather", (), output_dtypes=("float32",))]
    names = [f"model/block_{block}/{op}" for block in range(BLOCKS) for op in OPS] + ["model/head"]
    for name in names:
        before = (f"{nodes[-1].name}:0",)
        nodes.append(Node(name, name.rpartition("/")[2], before, output_dtypes=("float32",)))
    with tensortap.DumpWriter(logdir, run="blocks") as writer:
        graph = writer.graph(Graph(name="blocks", nodes=nodes))
        for name in names:
            value = float("nan") if name == f"{LAST}/Exp" else 1.0
            writer.log(f"{name}:0", [value], step=0, graph=graph)


@pytest.fixture
def graph(tap: TapPage, serve: Serve, tmp_path: Path) -> Locator:
    """The focused graph."""
    write_model(tmp_path)
    tap.enter(serve(tmp_path))
    surface = tap.page.get_by_test_id("graph")
    surface.focus()
    return surface


def open_in(tap: TapPage) -> str:
    """The address's part after `#`."""
    return str(tap.page.evaluate("() => decodeURIComponent(location.hash)"))


def test_blocks_are_stacked_taken_apart_and_stacked_again(tap: TapPage, graph: Locator) -> None:
    shown = tap.drawn_nodes()
    assert STACK in shown
    assert not {FIRST, LAST} & set(shown)
    # As bad as its worst block.
    tap.page.wait_for_function("name => window.tensortap.nodeState(name)?.nonfinite", arg=STACK)

    tap.click_on_canvas(STACK)
    graph.press("u")
    tap.page.wait_for_function("name => window.tensortap.nodes().includes(name)", arg=SECOND)
    assert STACK not in tap.drawn_nodes()
    assert f"unstacked={STACK}" in open_in(tap)
    tap.page.reload()
    tap.wait_until_ready()
    assert SECOND in tap.drawn_nodes()

    tap.page.go_back()
    tap.page.wait_for_function("name => window.tensortap.nodes().includes(name)", arg=STACK)
    button = tap.page.get_by_label("Group repeated blocks")
    button.click()
    tap.page.wait_for_function("name => !window.tensortap.nodes().includes(name)", arg=STACK)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    tap.page.wait_for_function("name => window.tensortap.nodes().includes(name)", arg=STACK)


def test_a_stack_opens_by_its_menu_and_by_what_is_found_in_it(tap: TapPage, graph: Locator) -> None:
    tap.search(f"{SECOND}/Relu")
    assert {STACK, SECOND, f"{SECOND}/Relu"} <= set(tap.drawn_nodes())
    tap.page.keyboard.press("Escape")
    graph.press("[")
    tap.wait_until_ready()
    tap.click_on_canvas("model")
    graph.press("Enter")
    tap.wait_until_ready()
    box = tap.page.evaluate("name => window.tensortap.node(name)", STACK)
    tap.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 8, button="right")
    menu = tap.page.get_by_test_id("graph-menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    menu.get_by_role("menuitem", name=f"Expand all {BLOCKS} blocks").click()
    expect(menu).to_have_count(0)
    tap.page.wait_for_function("name => window.tensortap.nodes().includes(name)", arg=f"{FIRST}/MatMul")


def test_a_path_is_found_stepped_through_sent_and_cleared(tap: TapPage, graph: Locator) -> None:
    tap.search(f"{FIRST}/Exp")
    tap.page.keyboard.press("Escape")
    graph.press("b")
    card = tap.page.get_by_test_id("trace")
    expect(card).to_contain_text("Paths from Exp")
    tap.search("model/head")
    tap.page.keyboard.press("Escape")
    graph.press("b")
    length = BLOCKS * len(OPS) - OPS.index("Exp") + 1
    expect(card).to_contain_text(f"{length} nodes")
    expect(card.get_by_test_id("trace-row")).to_have_count(length)

    card.get_by_test_id("shortest").check()
    assert f"trace=path,{FIRST}/Exp,model/head" in open_in(tap)
    card.get_by_test_id("shortest").uncheck()
    graph.press("n")
    tap.expect_inspected(f"{FIRST}/Exp")
    graph.press("n")
    tap.expect_inspected(f"{FIRST}/Sum")
    expect(card).to_contain_text(f"2 of {length} nodes")
    assert f"trace=paths,{FIRST}/Exp,model/head" in open_in(tap)
    tap.page.reload()
    tap.wait_until_ready()
    expect(card).to_contain_text(f"{length} nodes")

    graph.focus()
    graph.press("Escape")
    expect(card).to_have_count(0)
    assert "trace=" not in open_in(tap)
    tap.page.get_by_role("button", name="Upstream", exact=True).click()
    expect(card).to_contain_text(f"{OPS.index('Exp') + 2} nodes")


def test_tab_goes_from_the_tools_to_the_graph_to_the_panel(tap: TapPage, graph: Locator) -> None:
    tap.search("model/embed")
    tap.page.keyboard.press("Escape")
    tap.page.get_by_test_id("search").focus()
    stops = []
    for _ in range(3):
        tap.page.keyboard.press("Tab")
        stops.append(tap.page.evaluate("() => document.activeElement.ariaLabel"))
        visible = "() => getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        ring = "() => getComputedStyle(document.activeElement, '::after').borderTopStyle === 'solid'"
        assert tap.page.evaluate(visible) or tap.page.evaluate(ring)
    assert stops[0].startswith("Zoom out")
    assert stops[1].startswith("Graph ")
    tap.page.keyboard.press("Shift+Tab")
    tap.page.keyboard.press("Shift+Tab")
    tap.page.keyboard.press("ArrowRight")
    expect(tap.page.get_by_label("Zoom in")).to_be_focused()
    tap.page.get_by_test_id("graph").focus()
    order = []
    for _ in range(5):
        tap.page.keyboard.press("Tab")
        order.append(tap.page.evaluate("() => document.activeElement.closest('.panel-frame') !== null"))
    assert order == sorted(order), "the panel comes after everything over the graph"
    assert order[-1]
