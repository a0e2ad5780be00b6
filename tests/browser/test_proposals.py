"""A link that names what is not there: the error proposes names, and a click on one leads there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import Browser, expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

BESIDE = "dense\u00e9/it's_MatMul"


def write(logdir: Path) -> None:
    nodes = [Node("x", "Placeholder"), Node("dense/MatMul", "MatMul", inputs=("x:0", "x:0"))]
    nodes.append(Node(BESIDE, "MatMul", inputs=("x:0", "dense/MatMul:0")))
    with DumpWriter(logdir, "near") as writer:
        graph = writer.graph(Graph("train", nodes))
        for name in ("x", "dense/MatMul", BESIDE):
            writer.log(f"{name}:0", np.ones(4, np.float32), step=0, graph=graph, keep="value")


@pytest.mark.parametrize(("asked", "proposed"), [("dense/MatMull", "dense/MatMul"), ("it's_MatMul", BESIDE)])
def test_a_click_on_a_proposed_name_leads_there(
    browser: Browser, serve: Serve, tmp_path: Path, asked: str, proposed: str
) -> None:
    write(tmp_path)
    site = serve(tmp_path)
    # Not the `tap` fixture: Chromium logs the 404 that this is about.
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        tap = TapPage(context.new_page())
        tap.enter(site)
        tap.page.goto(f"{site.url}#run={tap.run_id('near')}&tensor={asked}:0")
        expect(tap.page.get_by_test_id("error-state")).to_contain_text(asked)
        names = tap.page.locator(".proposed-name")
        expect(names.filter(has_text=proposed)).to_be_visible()
        names.filter(has_text=proposed).click()
        tap.expect_inspected(proposed)
        tap.wait_until_ready()
        expect(names).to_have_count(0)
        expect(tap.page.get_by_test_id("error-state")).to_have_count(0)
