"""A job of many workers: found by its drift, seen on the strip of all workers, chosen from a long menu."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Site, serving
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

WORKERS, STEPS = 40, 12


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Rank 23's kernel leaves the others at step 7; rank 31 stops after step 5."""
    logdir, kernel = tmp_path_factory.mktemp("job"), np.linspace(-1, 1, 64)
    marks = {"tensortap.kind": "weight", "tensortap.variable": "dense/kernel"}
    nodes = [Node("kernel", "ReadVariableOp", attributes=marks), Node("out", "Relu", ["kernel:0"])]
    for rank in range(WORKERS):
        with DumpWriter(logdir, run="job", rank=rank) as writer:
            graph = writer.graph(Graph("train", nodes))
            for step in range(6 if rank == 31 else STEPS):
                drift = 1e-6 * (rank == 23 and step >= 7)
                writer.log("kernel:0", kernel * 0.9**step + drift, step=step, graph=graph)
                writer.log("out:0", kernel + rank + step, step=step, graph=graph)
    with serving(logdir) as site:
        yield site


def test_a_drift_is_seen_on_the_strip_of_all_workers(tap: TapPage, job: Site) -> None:
    page = tap.page
    page.goto(f"{job.start_url}#view=problems")
    drift = page.locator("[data-rule=ReplicaDrift]")
    drift.get_by_role("button", name="Workers").click()
    strip, tip = page.get_by_test_id("worker-strip"), page.get_by_test_id("worker-tip")
    expect(page.get_by_test_id("worker-note")).to_contain_text(
        "40 workers, worst first. 1 differs from the median, the first at step 7. 1 worker captured fewer"
    )
    strip.hover(position={"x": 90, "y": 60})
    expect(tip).to_contain_text("rank 23 · step 0 · Mean")
    strip.focus()
    page.keyboard.press("End")
    expect(tip).to_contain_text("rank 23 · step 11")
    page.keyboard.press("ArrowDown")
    expect(tip).to_contain_text("rank 31 · step 11 · not captured")
    page.keyboard.press("ArrowUp")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    tap.expect_step(8)
    expect(page.get_by_role("button", name="Worker: rank 23")).to_be_visible()

    page.get_by_test_id("worker-statistic").select_option("zero_share")
    expect(page.get_by_test_id("worker-note")).not_to_contain_text("differs from the median")


def test_a_worker_is_found_in_a_long_menu(tap: TapPage, job: Site) -> None:
    page = tap.page
    tap.enter(job)
    page.get_by_role("button", name="Worker: all workers").click()
    menu = page.get_by_role("dialog", name="Worker")
    expect(menu.locator(".long-name").nth(1)).to_have_text("rank 31")  # it wrote less
    page.get_by_label("Search workers").fill("rank 17")
    expect(menu.locator(".picker-row")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Worker: rank 17")).to_be_visible()
