"""Runs without a single snapshot: the page says whether more may come, why there is none, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_page import TapPage
from browser_site import Serve, Site, serving
from playwright.sync_api import expect
from small_dump import small_graph

from tensortap.dump.write.writer import DumpWriter

WATCH = "Watch(nodes='nothing_like_this')"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A run that was closed empty, and one with a graph alone."""
    logdir = tmp_path_factory.mktemp("empty") / "logs"
    DumpWriter(logdir, run="closed", info={"watch": [WATCH]}).close()
    with DumpWriter(logdir, run="graph-only") as writer:
        writer.graph(small_graph())
    with serving(logdir) as running:
        yield running


def test_a_closed_run_says_that_it_is_over_and_why_it_may_be_empty(tap: TapPage, empty: Site) -> None:
    tap.page.goto(empty.start_url)
    tap.page.get_by_test_id("run-picker").click()
    tap.page.get_by_test_id("run-row").filter(has_text="closed").click()
    message = tap.page.get_by_test_id("nothing-captured")
    expect(message).to_contain_text("No tensors captured")
    expect(message).to_contain_text(WATCH)
    expect(message).to_contain_text('tensortap.Tap("logs/closed-2"')
    expect(tap.page.get_by_test_id("step-label")).to_contain_text("no steps")
    expect(tap.page.get_by_test_id("run-summary")).to_contain_text("closed")
    for view in ("Tensors", "Timeline", "Source"):
        tap.page.get_by_role("button", name=view, exact=True).click()
        expect(message).to_be_visible()


def test_a_graph_without_snapshots_is_drawn_and_its_lists_say_why_they_are_empty(
    tap: TapPage, empty: Site
) -> None:
    tap.page.goto(empty.start_url)
    tap.page.get_by_test_id("run-picker").click()
    tap.page.get_by_test_id("run-row").filter(has_text="graph-only").click()
    tap.page.get_by_role("button", name="Ops", exact=True).click()
    tap.wait_until_ready()
    assert "dense/MatMul" in tap.drawn_nodes()
    expect(tap.page.get_by_test_id("run-summary")).to_contain_text("no tensors were captured")
    tap.page.get_by_role("button", name="Tensors", exact=True).click()
    expect(tap.page.get_by_test_id("nothing-captured")).to_be_visible()


def test_a_run_that_is_being_written_may_still_come(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "logs", run="going") as writer:
        tap.page.goto(serve(tmp_path / "logs").start_url)
        expect(tap.page.get_by_test_id("empty-state")).to_contain_text("yet")
        writer.log("x:0", 1.0, step=0)
        writer.flush()
        tap.expect_step(0)


def test_an_error_of_the_first_step_is_the_reason(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "logs", run="raised") as writer:
        writer.event("raised", step=0, error="TypeError: Input 'y' has type float32")
    tap.page.goto(serve(tmp_path / "logs").start_url)
    message = tap.page.get_by_test_id("nothing-captured")
    expect(message).to_contain_text("Step 0 raised: TypeError: Input 'y'")
    expect(message).not_to_contain_text("No tensor matched")
