"""Makes the pictures of README.md and docs/page.md again: `python tests/page_pictures.py`. Needs a Chromium
at CHROMIUM, by default /usr/bin/chromium."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from browser_site import serving
from hunt_pictures import IMAGES, run_id
from playwright.sync_api import Page, sync_playwright

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

MOST_BYTES = 250_000
ROOT = f"{IMAGES.parents[1]}/"
# Files of the checkout by their place in it.
SHORTER = """root => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(root, '');
}"""
BLOCKS, STEPS = 12, 60
BORN_BLOCK, BORN_STEP = 7, 41
PARTS = {
    "attention": ("query", "key", "value", "scores", "Softmax", "context", "output"),
    "ffn": ("norm", "up", "Gelu", "down", "add"),
}


def tower() -> list[Node]:
    """The blocks of a transformer, one node after the other."""
    names = ["net/embedding/lookup", "net/embedding/add"]
    names += [
        f"net/block_{n}/{part}/{op}" for n in range(BLOCKS) for part, ops in PARTS.items() for op in ops
    ]
    names += ["net/head/MatMul", "net/head/BiasAdd", "loss/Mean"]
    return [
        Node(name, name.rpartition("/")[2], [f"{before}:0"] if before else [])
        for before, name in zip(["", *names], names, strict=False)
    ]


def write_tower(logdir: Path) -> None:
    """Numbers that grow, and turn NaN in one block: downstream in that step, everywhere from the next on."""
    nodes = tower()
    born = next(i for i, node in enumerate(nodes) if node.name == f"net/block_{BORN_BLOCK}/attention/scores")
    with DumpWriter(logdir, run="tower") as writer:
        graph = writer.graph(Graph("train_step", nodes))
        for step in range(STEPS):
            for i, node in enumerate(nodes):
                bad = step > BORN_STEP or (step == BORN_STEP and i >= born)
                growth = 1 + step / STEPS * (1 + 6 * np.exp(-(((i - born) / 25) ** 2)))
                value = np.nan if bad else 3 * growth * (1 + i / len(nodes))
                writer.log(f"{node.name}:0", np.array([value, 1], np.float32), step=step, graph=graph)


def timeline(page: Page, address: str) -> None:
    run = run_id(page, address, "tower")
    page.keyboard.press("\\")  # the panel makes room
    page.goto(f"{address}#run={run}&view=timeline&color=statistic:abs_max&step={STEPS - 1}")
    page.get_by_test_id("timeline-first").wait_for()


def first_nan(page: Page, address: str) -> None:
    page.goto(f"{address}#run={run_id(page, address, 'digits-nan')}")
    page.get_by_test_id("birth").wait_for()
    page.keyboard.press("n")
    page.wait_for_function("() => window.tensortap?.ready === true")


def histograms(page: Page, address: str) -> None:
    run = run_id(page, address, "digits")
    page.goto(f"{address}#run={run}&tensor=digits_1/conv2_1/Relu:0&panel=histogram")
    page.get_by_role("button", name="Ridgeline").wait_for()
    page.wait_for_function("() => window.tensortap?.ready === true")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        logdir = Path(folder, "logs")
        demo = ["-m", "tensortap", "demo", "--no-serve", "--steps", "200", "--logdir", "logs"]
        subprocess.run([sys.executable, *demo], check=True, cwd=folder)
        write_tower(logdir)
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serving(logdir) as site:
            for show in (timeline, first_nan, histograms):
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.emulate_media(color_scheme="dark" if show is histograms else "light")
                page.goto(site.entrance)
                page.get_by_test_id("run-picker").wait_for()
                show(page, site.url)
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(3000)  # pictures wait for the graph's motion to end
                page.evaluate(SHORTER, ROOT)
                picture = page.screenshot(path=IMAGES / f"{show.__name__}.png")
                assert len(picture) < MOST_BYTES, f"{show.__name__} has {len(picture)} bytes"
        browser.close()


if __name__ == "__main__":
    main()
