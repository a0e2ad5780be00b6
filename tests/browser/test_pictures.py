"""The main pages look as they did: small pictures of a run that is the same everywhere.

After a change that is meant, look at the pages, and then renew the pictures:

    RENEW_PICTURES=1 .venv/bin/python -m pytest tests/browser/test_pictures.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Site, serving
from pictures import Distance, Pictures
from playwright.sync_api import Browser, Page, expect
from polling import until

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

KEPT = Path(__file__).with_name("pictures")
RENEW = os.environ.get("RENEW_PICTURES") == "1"
BLOCKS, STEPS, BAD_STEP = 3, 12, 9
STEP = 10  # on show
RELU = "net/block_1/Relu"
# Shades of 255. The same machine makes 0; one with full hinting, whose only font is bold italic with serifs,
# up to 0.7 (the mean) and 5.4 (the worst block). A missing small histogram is 35, a panel moved by 40 px 32;
# a missing minimap, 10, passes.
MEAN, WORST = 3.5, 22.0
PATIENCE_S = 10.0
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
# What is on such a page once all its answers came. One is not enough: each part asks for itself.
STRIP = ".strip-flag"  # the first step with Inf
OVERVIEW = ("[data-testid=summary] .mini-histogram path", "[data-testid=inputs] .link-row")
CONTENT = {
    "graph": ("[data-testid=run-summary] .num", "[data-testid=chain]"),
    "graph-dark": ("[data-testid=run-summary] .num", "[data-testid=chain]"),
    "overview": OVERVIEW,
    "history": ("[data-testid=history] .scatterlayer .trace path",),
    "histograms-dark": ("[data-testid=histogram] .scatterlayer .trace path",),
    "value": (".raster canvas[style*=width]", "[data-testid=value] canvas.scale"),
    "tensors": ("[data-testid=tensor-row] .sparkline path", *OVERVIEW),
    "timeline-dark": ("[data-testid=timeline-row]", "[data-testid=timeline-cells][style*=width]", *OVERVIEW),
    "problems": (".problems-page .problems-head", "[data-testid=origin-card]", *OVERVIEW),
}
UNFINISHED = "[role=progressbar], [data-testid=working], [data-pending=true], .loading"
# What differs from run to run or machine to machine: when, where, how long, and the machine's own letters
# of one width, which the letters that come with the page stand in for.
HIDDEN = """
:root { --mono: "Inter Variable" !important }
.facts, .worker, .picker, .problems-page .faint { visibility: hidden !important }
*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent }
"""
# The page's policy refuses style elements; sheets made by a script are none.
STYLE = """css => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [sheet];
}"""

# Whether the letters that come with the page are there, not the machine's.
OWN_LETTERS = """async () => {
    await document.fonts.load('400 13px "Inter Variable"');
    const own = [...document.fonts].filter(font => font.family.includes('Inter Variable'));
    return own.some(font => font.status === 'loaded');
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


def shown(tap: TapPage, made: Site, name: str) -> Page:
    """The page of a name of `PAGES` with all its content, loaded once and then moved on by its address."""
    theme: Literal["dark", "light"] = "dark" if "dark" in name else "light"
    tap.page.emulate_media(reduced_motion="reduce", color_scheme=theme)
    view = "" if "view=" in PAGES[name] else "&view=graph"
    tap.page.goto(f"{made.url}#run={quote(tap.run_id('layers'))}&step={STEP}{view}{PAGES[name]}")
    expect(tap.page.locator(f"html[data-theme={theme}]")).to_have_count(1)
    tap.expect_step(STEP)
    if PAGES[name]:
        tap.expect_inspected(RELU)
    for content in (STRIP, *CONTENT[name]):
        tap.page.locator(content).first.wait_for(state="attached", timeout=20_000)
    expect(tap.page.locator(UNFINISHED)).to_have_count(0)
    tap.wait_until_ready()
    return tap.page


def photograph(page: Page) -> bytes:
    """The page once it is at rest: two pictures in a row are the same."""
    taken = [b"", page.screenshot()]

    def at_rest() -> bool:
        taken[:] = [taken[1], page.screenshot()]
        return taken[0] == taken[1]

    until(at_rest, "the page to rest")
    return taken[1]


def far(apart: Distance) -> bool:
    return apart.mean > MEAN or apart.worst > WORST


def distance(page: Page, kept: Path, pictures: Pictures) -> Distance:
    """How far the page is from its picture; a page that is far is given time, for what is drawn late."""
    deadline = time.monotonic() + PATIENCE_S
    while far(apart := pictures.distance(photograph(page), kept)) and time.monotonic() < deadline:
        pass
    return apart


def test_pages_look_as_they_did(tap: TapPage, made: Site, pictures: Pictures) -> None:
    tap.page.set_viewport_size({"width": 1280, "height": 800})
    tap.enter(made)
    tap.page.evaluate(STYLE, HIDDEN)
    assert tap.page.evaluate(OWN_LETTERS), "the page's own font was not loaded: is it in the build?"
    found = {}
    for name in PAGES:
        page = shown(tap, made, name)
        kept = KEPT / f"{name}.png"
        if RENEW:
            KEPT.mkdir(exist_ok=True)
            kept.write_bytes(pictures.scaled(photograph(page))[0])
        found[name] = distance(page, kept, pictures)
    changed = {name: apart for name, apart in found.items() if far(apart)}
    assert changed == {}, "look at these pages; if that is how they should look, renew the pictures"


def test_pages_are_distinguished(pictures: Pictures) -> None:
    """Each picture is much further from each other one than a page may be from its own."""
    kept = {name: (KEPT / f"{name}.png") for name in PAGES}
    for name, path in kept.items():
        for other, reference in kept.items():
            if other > name:
                found = pictures.distance(path.read_bytes(), reference)
                assert far(found), (name, other, found)
