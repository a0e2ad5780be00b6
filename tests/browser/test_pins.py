"""Pins of other steps and runs: a tensor beside itself at another step, and beside that of another run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

RELU = "net/Relu:0"


@pytest.fixture
def two_runs(serve: Serve, tmp_path: Path) -> Site:
    """The runs `small` and `large`: a tensor whose mean is the step, and ten times the step."""
    for run, factor in (("small", 1.0), ("large", 10.0)):
        with DumpWriter(tmp_path, run=run) as writer:
            graph = writer.graph(Graph("g", (Node("net/Relu", "Relu"),)))
            for step in range(5):
                writer.log(RELU, np.full(8, factor * step, np.float32), step=step, graph=graph)
    return serve(tmp_path)


def means(tap: TapPage) -> list[str]:
    """The means of the columns, from left to right."""
    found = tap.page.get_by_test_id("side-column").get_by_test_id("statistic-mean").locator("dd")
    return [text.strip() for text in found.all_inner_texts()]


def open_tensor(tap: TapPage, site: Site, step: int) -> None:
    tap.enter(site)
    tap.go_to(site, "small", RELU, step)
    tap.page.get_by_test_id("compare-with").click()


def test_two_steps_of_a_tensor_stand_side_by_side(tap: TapPage, two_runs: Site) -> None:
    open_tensor(tap, two_runs, 1)
    tap.page.get_by_test_id("compare-step").click()
    columns = tap.page.get_by_test_id("side-column")
    expect(columns).to_have_count(2)
    tap.page.get_by_test_id("step-slider").press("End")
    expect(columns.last).to_have_attribute("data-step", "4")
    expect(columns.first).to_have_attribute("data-step", "1")
    assert means(tap) == ["1", "4"]
    expect(tap.page.get_by_test_id("pinned-histograms")).to_have_attribute("data-outlines", "2")
    expect(tap.page).to_have_url(re.compile("pins=%401%7Cnet/Relu:0"))
    tap.page.reload()
    expect(columns.last).to_have_attribute("data-step", "4")
    assert means(tap) == ["1", "4"]


def test_a_tensor_of_another_run_stands_beside_and_in_the_chart(tap: TapPage, two_runs: Site) -> None:
    open_tensor(tap, two_runs, 3)
    tap.page.get_by_test_id("compare-run").filter(has_text="large").click()
    columns = tap.page.get_by_test_id("side-column")
    expect(columns.first.get_by_test_id("summary")).to_be_visible()
    expect(columns.last.get_by_test_id("summary")).to_be_visible()
    assert means(tap) == ["30", "3"]
    overlay = tap.page.get_by_test_id("pinned-histograms")
    expect(overlay).to_have_attribute("data-outlines", "2")
    expect(overlay.locator(".js-plotly-plot")).to_be_visible()
    expect(overlay.locator("figcaption")).to_contain_text("large")
    tap.page.get_by_test_id("pinned").get_by_role("button", name="Compare").click()
    rows = tap.page.get_by_test_id("compared-row")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("large")
    expect(rows.first.locator("td").nth(1)).to_have_text("30")
    expect(rows.last.locator("td").nth(1)).to_have_text("3")
    columns_of_run = tap.page.get_by_test_id("pinned").get_by_label(re.compile("Unpin .*large"))
    columns_of_run.click()
    expect(tap.page.get_by_test_id("pinned")).to_have_count(0)


def test_a_pin_of_a_deleted_run_has_its_name(tap: TapPage, two_runs: Site) -> None:
    tap.enter(two_runs)
    run = tap.run_id("small")
    tap.page.goto(f"{two_runs.url}#run={run}&tensor={RELU}&pins=%40%2Cgone-01234567%7C{RELU}")
    expect(tap.page.get_by_test_id("pinned").locator(".pinned-chip")).to_contain_text("gone (not found)")
