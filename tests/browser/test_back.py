"""Back and forward lead through what was on show: jumps to scopes, and all scopes opened or closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter


def write_model(logdir: Path) -> None:
    """Scopes `a` to `f`, each with a scope `in` of three nodes, written by two workers at steps 0 to 4."""
    names = [f"{scope}/in/{op}" for scope in "abcdef" for op in ("MatMul", "Add", "Relu")]
    nodes = [
        Node(name, name.rpartition("/")[2], (f"{before}:0",) if before else ())
        for before, name in zip(["", *names[:-1]], names, strict=True)
    ]
    for rank in range(2):
        with DumpWriter(logdir, "scopes", rank=rank) as writer:
            graph = writer.graph(Graph("scopes", nodes))
            for step in range(5):
                writer.log("a/in/Relu:0", np.float32(step), step=step, graph=graph)


def open_nodes(tap: TapPage) -> list[str]:
    return sorted(name for name in tap.drawn_nodes() if name.endswith(("MatMul", "Add", "Relu")))


def go_to_scope(tap: TapPage, path: str) -> None:
    """By the palette."""
    tap.page.keyboard.press("Control+k")
    tap.page.get_by_test_id("palette-field").fill(path)
    scopes = tap.page.get_by_role("group", name="Scopes")
    scopes.get_by_test_id("palette-row").filter(has_text=path).first.click()
    tap.page.wait_for_function(
        "path => new URLSearchParams(location.hash.slice(1)).get('selected') === path", arg=path
    )


def expect_open(tap: TapPage, names: list[str]) -> None:
    tap.page.wait_for_function(
        "names => JSON.stringify(window.tensortap.nodes().filter(name =>"
        " /(MatMul|Add|Relu)$/.test(name)).sort()) === JSON.stringify(names)",
        arg=names,
    )


def test_back_undoes_what_opened_or_closed_all_scopes(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    write_model(tmp_path)
    tap.enter(serve(tmp_path))
    graph = tap.page.get_by_test_id("graph")
    graph.focus()
    graph.press("[")
    expect_open(tap, [])
    go_to_scope(tap, "c/in")
    graph.focus()
    graph.press("Enter")
    by_hand = [f"c/in/{op}" for op in ("Add", "MatMul", "Relu")]
    expect_open(tap, by_hand)

    graph.press("[")
    expect_open(tap, [])
    tap.page.go_back()
    expect_open(tap, by_hand)
    graph.press("]")
    tap.page.wait_for_function("() => window.tensortap.nodes().includes('f/in/Relu')")
    everything = open_nodes(tap)
    tap.page.go_back()
    expect_open(tap, by_hand)
    tap.page.go_forward()
    expect_open(tap, everything)


def test_back_leads_from_scope_to_scope(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    write_model(tmp_path)
    tap.enter(serve(tmp_path))
    for scope in ("b/in", "e/in"):
        go_to_scope(tap, scope)
    tap.page.go_back()
    tap.page.wait_for_function("() => new URLSearchParams(location.hash.slice(1)).get('selected') === 'b/in'")
    tap.page.go_forward()
    tap.page.wait_for_function("() => new URLSearchParams(location.hash.slice(1)).get('selected') === 'e/in'")


def test_another_worker_is_shown_at_the_same_step(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    write_model(tmp_path)
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "scopes", "a/in/Relu:0", 2)
    tap.page.get_by_label("Worker: ").click()
    tap.page.get_by_role("button", name="rank 1").click()
    expect(tap.page.get_by_label("Worker: rank 1")).to_be_visible()
    tap.expect_step(2)
