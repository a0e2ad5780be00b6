"""Another run is chosen: the page says that its graph is on its way, and not that there is none."""

from __future__ import annotations

import re
from pathlib import Path

from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import Route, expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

RUN_OR_GRAPH = re.compile(r"/runs/[^/?]+$|/graphs/[^/?]+$")


def test_a_graph_on_its_way_is_being_loaded(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    for run in ("first", "second"):
        with DumpWriter(tmp_path, run) as writer:
            writer.graph(Graph(f"of {run}", [Node(f"{run}/x", "Const")]))
    site = serve(tmp_path)
    tap.enter(site)
    graph = tap.page.get_by_test_id("graph")
    expect(graph).to_have_attribute("aria-label", re.compile("^Graph of second, "))
    status = tap.page.locator(".graph-status")
    loading = tap.page.get_by_role("progressbar", name="Loading")
    said: list[tuple[str | None, int]] = []

    def look(route: Route) -> None:
        said.append((status.text_content(), loading.count()))
        route.continue_()

    tap.page.route(RUN_OR_GRAPH, look)
    tap.choose_run("first")
    expect(graph).to_have_attribute("aria-label", re.compile("^Graph of first, "))
    assert said == [("Loading the graph…", 1)] * 2
    expect(status).to_have_count(0)
