"""Two runs compared on the page: where the difference begins, the table, the pictures, the coloured graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

from tensortap.analysis.compare.comparison_files import read_matches
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter

F = {"output_dtypes": ["float32"], "output_shapes": [[4, 6]]}


@pytest.fixture
def two(tmp_path: Path, serve: Serve) -> Site:
    """Runs `after` and `before`: `before`'s Exp is wrong at step 1, and its layer has another name."""
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    for run, layer in (("before", "old"), ("after", "new")):
        nodes = [
            Node("x", "Placeholder", **F),
            Node(f"{layer}/Exp", "Exp", ["x:0"], stack=0, **F),
            Node(f"{layer}/Neg", "Neg", [f"{layer}/Exp:0"], **F),
        ]
        with DumpWriter(tmp_path, run=run) as writer:
            known = {
                "stacks": [[("model.py", 7, "call")]],
                "sources": {"model.py": "\n" * 6 + "y = exp(x)\n"},
            }
            graph = writer.graph(Graph("step", nodes, functions={"": Function()}, **known))
            for step in range(2):
                exp = np.exp(x)
                if run == "before" and step:
                    exp[2, 3] += 0.5
                for name, value in (("x", x), (f"{layer}/Exp", exp), (f"{layer}/Neg", -exp)):
                    writer.log(name, value, step=step, graph=graph, keep="value")
    return serve(tmp_path)


def test_the_first_divergence_is_seen(tap: TapPage, two: Site) -> None:
    page = tap.page
    tap.enter(two)
    tap.choose_run("after")
    page.get_by_role("button", name="Compare", exact=True).or_(
        page.get_by_role("radio", name="Compare")
    ).click()
    expect(page.get_by_test_id("compare-verdict")).to_contain_text("Diverge at step 1: 2 of 3 tensors differ")
    first = page.get_by_test_id("first-divergence")
    expect(first).to_have_attribute("data-tensor", "new/Exp:0")
    expect(first).to_contain_text("All its inputs are equal")
    first.get_by_test_id("divergence-line").click()
    expect(page.get_by_test_id("inspector")).to_contain_text("model.py:7")
    rows = page.get_by_test_id("compare-row")
    expect(rows).to_have_count(2)
    expect(rows.first).to_have_attribute("data-verdict", "diverges")
    page.get_by_test_id("compare-equal").click()
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Tensor", exact=True).click()
    expect(rows.first).to_have_attribute("data-tensor", "new/Exp:0")
    rows.first.click()
    pictures = page.get_by_test_id("compare-values").get_by_role("img")
    expect(pictures).to_have_count(4)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.compare-values img')].every(image => image.naturalWidth === 6)"
    )
    with page.expect_download() as download:
        page.get_by_test_id("compare-report").click()
    assert "First divergence: new/Exp:0" in download.value.path().read_text(encoding="utf-8")
    expect(page.get_by_test_id("compare-matching")).to_contain_text("2 matched by structure")


def test_a_link_leads_to_the_comparison_and_the_graph_is_coloured(tap: TapPage, two: Site) -> None:
    page = tap.page
    tap.enter(two)
    a, b = tap.run_id("after"), tap.run_id("before")
    page.goto(f"{two.url}#run={a}&step=0&view=compare&other={b}&at=step")
    expect(page.get_by_test_id("compare-verdict")).to_contain_text("Match at step 0: 3 tensors (3 identical")
    page.goto(f"{two.url}#run={a}&step=1&view=graph&other={b}&color=difference")
    tap.wait_until_ready()
    expect(page.get_by_text("Difference vs. run B", exact=True).last).to_be_visible()
    expect(page.get_by_label("Legend").get_by_text("diverges")).to_be_visible()


def test_nodes_are_paired_by_hand_side_by_side(tap: TapPage, two: Site, tmp_path: Path) -> None:
    page = tap.page
    tap.enter(two)
    a, b = tap.run_id("after"), tap.run_id("before")
    page.goto(f"{two.url}#run={a}&view=compare&other={b}&tensor=new/Exp:0")
    page.get_by_role("button", name="Side by side").click()
    expect(page.get_by_test_id("compare-graphs").get_by_role("application")).to_have_count(2)
    other = page.get_by_test_id("pair-other")
    expect(other).to_have_value("old/Exp")
    expect(page.get_by_test_id("pair")).to_be_disabled()
    other.fill("old/Neg")
    page.get_by_test_id("pair").click()
    pairs = page.get_by_test_id("pairs").get_by_role("listitem")
    expect(pairs).to_contain_text(["new/Exp = old/Neg"])
    expect(page.get_by_test_id("compare-matching")).to_contain_text("1 matched by hand")
    with page.expect_download() as download:
        page.get_by_test_id("pairs-download").click()
    kept = tmp_path / "pairs.json"
    download.value.save_as(kept)
    assert read_matches(kept) == {"new/Exp": "old/Neg"}
    page.reload()
    page.get_by_role("button", name="Side by side").click()
    expect(pairs).to_have_count(1)
    pairs.get_by_role("button", name="Unpair").click()
    expect(pairs).to_have_count(0)
    page.get_by_test_id("pair-undo").click()
    expect(pairs).to_have_count(1)
    page.get_by_test_id("pairs-open").set_input_files(
        {"name": "wrong.json", "mimeType": "application/json", "buffer": b"[]"}
    )
    expect(page.get_by_role("alert")).to_contain_text("has no matches")
    page.get_by_role("button", name="One graph").click()
    expect(page.get_by_test_id("compare-graphs").get_by_role("application")).to_have_count(1)
    expect(page.get_by_label("Legend").get_by_text("diverges")).to_be_visible()


def test_what_nan_tells_apart_is_counted_beside_the_verdict(
    tap: TapPage, tmp_path: Path, serve: Serve
) -> None:
    for run, bad in (("after", np.nan), ("before", 1.0)):
        with DumpWriter(tmp_path, run=run) as writer:
            graph = writer.graph(Graph("step", [Node("x", "Placeholder", **F)], functions={"": Function()}))
            value = np.ones((4, 6), np.float32)
            value[2, 3] = bad
            writer.log("x", value, step=0, graph=graph, keep="value")
    site = serve(tmp_path)
    tap.enter(site)
    a, b = tap.run_id("after"), tap.run_id("before")
    tap.page.goto(f"{site.url}#run={a}&view=compare&other={b}")
    cells = tap.page.get_by_test_id("compare-row").get_by_role("cell")
    expect(cells.nth(2)).to_have_text("1 NaN/Inf")
    expect(cells.nth(2)).to_have_attribute(
        "title", "NaN/Inf differs in 1 element; where A and B are finite: 0"
    )
    expect(tap.page.get_by_test_id("first-divergence")).to_contain_text("NaN/Inf differs in 1 element")
    pictures = tap.page.get_by_test_id("compare-values")
    cells.first.click()
    expect(pictures.get_by_text("grey is 0", exact=True)).to_be_visible()
