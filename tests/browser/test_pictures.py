"""The main pages look as they did: small pictures of a run that is the same everywhere (tests/pictures.py).

After a change that is meant, look at the pages, and then renew the pictures:

    RENEW_PICTURES=1 .venv/bin/python -m pytest tests/browser/test_pictures.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Site, serving
from pictures import Pictures
from playwright.sync_api import Browser, Page, expect
from polling import until

from tensortap.dump import DumpWriter, Graph, Node

KEPT = Path(__file__).with_name("pictures")
RENEW = os.environ.get("RENEW_PICTURES") == "1"
BLOCKS, STEPS, BAD_STEP = 3, 12, 9
RELU = "net/block_1/Relu"
# Shades of 255. The same machine makes 0; a fallback font for all letters up to 2.0 (the mean) and 15 (the
# worst block). A missing small histogram is 35, a panel moved by 40 px 32; a missing minimap, 10, passes.
MEAN, WORST = 3.5, 22.0
PAGES = {
    "graph": "",
    "graph-dark": "",
    "overview": f"&tensor={RELU}:0",
    "history": f"&tensor={RELU}:0&panel=history",
    "histograms-dark": f"&tensor={RELU}:0&panel=histogram",
    "value": f"&tensor={RELU}:0&panel=value&value=heatmap",
    "tensors": f"&view=table&tensor={RELU}:0",
    "timeline-dark": f"&view=timeline&tensor={RELU}:0",
    "problems": f"&view=problems&tensor={RELU}:0",
}
# What differs from run to run or machine to machine: when, where, how long.
HIDDEN = """
.facts, .worker, .picker, .problems-page .faint { visibility: hidden !important }
*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent }
"""
# The page's policy refuses style elements; sheets made by a script are none.
STYLE = """css => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [sheet];
}"""


def layers() -> Graph:
    """Three blocks of a dense layer and a loss, each node with its shape."""
    nodes = [Node("x", "Placeholder", output_dtypes=["float32"], output_shapes=[[16, 24]])]
    before = "x:0"
    for block in range(BLOCKS):
        scope = f"net/block_{block}"
        weight = Node(f"{scope}/w", "ReadVariableOp", output_dtypes=["float32"], output_shapes=[[24, 24]])
        nodes.append(weight)
        for op_type, inputs in (("MatMul", [before, f"{weight.name}:0"]), ("Softsign", None), ("Relu", None)):
            name = f"{scope}/{op_type}"
            nodes.append(
                Node(name, op_type, inputs or [before], output_dtypes=["float32"], output_shapes=[[16, 24]])
            )
            before = f"{name}:0"
    nodes.append(Node("loss/Log", "Log", [before], output_dtypes=["float32"], output_shapes=[[16, 24]]))
    nodes.append(Node("loss/Mean", "Mean", ["loss/Log:0"], output_dtypes=["float32"], output_shapes=[[]]))
    return Graph("train_step", nodes)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A run whose every number is given; infinite in the loss from `BAD_STEP` on."""
    logdir = tmp_path_factory.mktemp("pictures") / "logs"
    rng = np.random.default_rng(5)
    with DumpWriter(logdir, run="layers") as writer:
        graph = layers()
        graph_id = writer.graph(graph)
        for step in range(STEPS):
            for node in graph.nodes:
                array = rng.normal(0, 1 + step / 4, node.output_shapes[0]).astype(np.float32)
                array = np.maximum(array, 0) if node.op_type == "Relu" else array
                if node.name.startswith("loss") and step >= BAD_STEP:
                    array = np.full_like(array, -np.inf)
                writer.log(f"{node.name}:0", array, step=step, graph=graph_id, keep="value")
    with serving(logdir) as running:
        yield running


@pytest.fixture(scope="module")
def pictures(browser: Browser) -> Iterator[Pictures]:
    reader = Pictures(browser)
    yield reader
    reader.close()


def photograph(page: Page) -> bytes:
    """The page once it is at rest: two pictures in a row are the same."""
    page.evaluate("() => document.fonts.ready")
    taken = [b"", page.screenshot()]

    def at_rest() -> bool:
        taken[:] = [taken[1], page.screenshot()]
        return taken[0] == taken[1]

    until(at_rest, "the page to rest")
    return taken[1]


def shown(tap: TapPage, made: Site, name: str) -> Page:
    """The page of a name of `PAGES`, loaded once and then moved on by its address."""
    tap.page.emulate_media(reduced_motion="reduce", color_scheme="dark" if "dark" in name else "light")
    tap.page.goto(f"{made.url}#run={quote(tap.run_id('layers'))}&step=10{PAGES[name]}")
    if PAGES[name]:
        tap.expect_inspected(RELU)
    if name.startswith("hist"):
        tap.page.locator(".js-plotly-plot").first.wait_for()
    expect(tap.page.get_by_role("progressbar")).to_have_count(0)
    tap.wait_until_ready()
    return tap.page


def test_pages_look_as_they_did(tap: TapPage, made: Site, pictures: Pictures) -> None:
    tap.page.set_viewport_size({"width": 1280, "height": 800})
    tap.enter(made)
    expect(tap.page.get_by_test_id("chain")).to_be_visible()  # where Inf was born is known
    tap.page.evaluate(STYLE, HIDDEN)
    found = {}
    for name in PAGES:
        png = photograph(shown(tap, made, name))
        kept = KEPT / f"{name}.png"
        if RENEW:
            KEPT.mkdir(exist_ok=True)
            kept.write_bytes(pictures.scaled(png)[0])
        found[name] = pictures.distance(png, kept)
    far = {name: apart for name, apart in found.items() if apart.mean > MEAN or apart.worst > WORST}
    assert far == {}, "look at these pages; if that is how they should look, renew the pictures"


def test_pages_are_told_apart(pictures: Pictures) -> None:
    """Each picture is much further from each other one than a page may be from its own."""
    kept = {name: (KEPT / f"{name}.png") for name in PAGES}
    for name, path in kept.items():
        for other, reference in kept.items():
            if other > name:
                found = pictures.distance(path.read_bytes(), reference)
                assert found.mean > MEAN or found.worst > WORST, (name, other, found)
