"""An import whose source does not report all: the page says so, and calls nothing uncounted healthy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.partial_summary import partial_summary


def write(logdir: Path) -> None:
    """Two tensors of which the shape is known, and one that was counted, at two steps."""
    info = {"imported from": "events", "format": "tfdbg2", "not counted": "nan, pos_inf, neg_inf"}
    nodes = [
        Node("x", "Placeholder"),
        Node("y", "MatMul", inputs=("x:0", "x:0")),
        Node("loss", "Log", inputs=("y:0",)),
    ]
    with DumpWriter(logdir, "shapes", info=info) as writer:
        graph = writer.graph(Graph("train", nodes))
        for step in range(2):
            for name in ("x", "y"):
                writer.log_summary(name, partial_summary("float32", (3, 3), 9), step=step, graph=graph)
            writer.log("loss", np.ones(4, np.float32), step=step, graph=graph)


def test_what_is_not_reported_is_said_everywhere(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    write(tmp_path)
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "shapes", "y:0", 1)
    expect(tap.page.get_by_test_id("no-statistics")).to_contain_text("no statistics or histogram")
    tap.page.get_by_role("tab", name="Histograms").click()
    expect(tap.page.get_by_test_id("no-numbers")).to_contain_text("no statistics or histograms (2 snapshots)")
    tap.page.get_by_role("tab", name="Value").click()
    expect(tap.page.get_by_test_id("not-kept")).to_contain_text("have no value for it.")
    expect(tap.page.get_by_test_id("not-kept")).not_to_contain_text("Watch")
    tap.page.keyboard.press("w")
    expect(tap.page.get_by_test_id("healthy")).to_contain_text("NaN/Inf were not counted")
    tap.page.evaluate("location.hash = location.hash.replace(/view=[a-z]*/, 'view=table')")
    tap.page.get_by_test_id("table-where").fill("nan > 0")
    expect(tap.page.get_by_test_id("table-undecided")).to_contain_text("2 snapshots skipped")
    tap.page.get_by_test_id("table-where").fill("size > 4")
    expect(tap.page.get_by_test_id("table-undecided")).to_have_count(0)
