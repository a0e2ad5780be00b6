"""A graph of 50,000 nodes: shown, searched, opened whole."""

from __future__ import annotations

from pathlib import Path

from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import expect

import tensortap
from tensortap.core.records import Graph, Node

BLOCKS = 2500
_OPS = ("MatMul", "BiasAdd", "Relu", "Mul", "Exp", "Softmax")


def write_graph(logdir: Path) -> None:
    """Blocks of 20 nodes in a chain, in groups of 50."""
    nodes: list[Node] = []
    before: tuple[str, ...] = ()
    for block in range(BLOCKS):
        for place in range(20):
            name = f"group_{block // 50}/block_{block % 50}/part_{place // 10}/op_{place}"
            nodes.append(Node(name, _OPS[place % len(_OPS)], before, output_dtypes=("float32",)))
            before = (f"{name}:0",)
    with tensortap.DumpWriter(logdir, run="large") as writer:
        writer.graph(Graph(name="large", nodes=nodes))


def test_fifty_thousand_nodes(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    write_graph(tmp_path)
    tap.page.goto(serve(tmp_path).start_url)
    pane = tap.page.locator(".graph-pane")
    expect(pane).to_have_attribute("data-status", "ready")
    tap.wait_until_ready()
    assert any("group_" in name for name in tap.drawn_nodes())

    field = tap.page.get_by_test_id("search")
    field.fill("Exp -> Softmax -> MatMul -> .* -> Exp op:exp")
    # Three in each block, and every one begins or ends such a row.
    expect(tap.page.locator(".graph-hits")).to_contain_text(f"{BLOCKS * 3:,}")
    field.press("Escape")

    shown = int(pane.get_attribute("data-layouts") or "")
    tap.page.get_by_label("Expand all").click()
    expect(pane).to_have_attribute("data-layouts", str(shown + 1), timeout=60_000)
    tap.wait_until_ready()
    assert tap.page.evaluate("name => window.tensortap.node(name)", "group_49/block_49/part_1/op_19")
