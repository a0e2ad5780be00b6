"""A node that ran several times a step: what is drawn of it is of all visits, or of the chosen one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

STEPS, VISITS = 4, 3


@pytest.fixture
def loop(tap: TapPage, serve: Serve, tmp_path: Path) -> TapPage:
    """The page of a node in a loop; visit v holds 10^v and 3 · 10^v, at every step; in the run `cached` it
    runs once."""
    with DumpWriter(tmp_path, run="once") as writer:
        for step in range(STEPS):
            writer.log("while/Mul:0", np.float32([1, 3]), step=step)
    with DumpWriter(tmp_path, run="loop") as writer:
        node = Node("while/Mul", "Mul", output_dtypes=["float32"], output_shapes=[[2]])
        graph = writer.graph(Graph("loop", [node]))
        for step in range(STEPS):
            for visit in range(VISITS):
                array = np.float32([10**visit, 3 * 10**visit])
                writer.log("while/Mul:0", array, step=step, visit=visit, graph=graph)
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "loop", "while/Mul:0", STEPS - 1)
    return tap


def test_the_history_is_of_the_chosen_visit(loop: TapPage) -> None:
    loop.show_tab("history")
    note = loop.page.locator(".chart-note")
    expect(note).to_contain_text(f"{STEPS * VISITS} snapshots. All {VISITS} loop iterations")
    loop.page.get_by_test_id("visit-picker").select_option("2")
    expect(note).to_contain_text(f"{STEPS} snapshots. Iteration 2 of each step")
    loop.page.get_by_test_id("all-visits").click()
    expect(note).to_contain_text(f"{STEPS * VISITS} snapshots. All {VISITS} loop iterations")


def test_histograms_are_of_the_visit_whose_numbers_stand_beside_them(loop: TapPage) -> None:
    loop.page.get_by_test_id("visit-picker").select_option("2")
    assert loop.statistic("min") == 100
    small = loop.page.get_by_test_id("summary").locator(".mini-histogram")
    expect(small.locator("span")).to_have_text(["100", "200"])  # its ticks; of all visits 1, 10 and 100
    loop.show_tab("histogram")
    expect(loop.page.locator(".chart-note")).to_contain_text("Iteration 2 of each step")


def test_a_picture_is_called_as_the_values_files_are(loop: TapPage) -> None:
    loop.show_tab("value")
    loop.page.get_by_role("button", name="Line", exact=True).click()
    loop.page.locator(".js-plotly-plot").hover()
    with loop.page.expect_download() as saved:
        loop.page.locator("[data-title='Download plot']").click()
    assert saved.value.suggested_filename == f"while_Mul_0-step{STEPS - 1}-visit0.svg"
    loop.page.get_by_test_id("value-export").click()
    with loop.page.expect_download() as saved:
        loop.page.get_by_test_id("download-npy").click()
    assert saved.value.suggested_filename == f"while_Mul_0-step{STEPS - 1}-visit0.npy"


def test_compared_tensors_say_which_visits_they_are_of(loop: TapPage) -> None:
    loop.page.keyboard.press("k")
    loop.show_tab("history")
    expect(loop.page.get_by_test_id("compared-visits")).to_have_text(
        "All iterations of each step together: Mul:0."
    )
    loop.page.get_by_test_id("visit-picker").select_option("2")
    loop.page.get_by_role("button", name="Side by side").click()
    column = loop.page.get_by_test_id("side-column")
    expect(column.get_by_text(f"iteration 2 (of {VISITS})")).to_be_visible()
    expect(column.locator(".mini-histogram span")).to_have_text(["100", "200"])  # of all visits 1, 10 and 100


def test_an_output_that_is_not_there_is_reported(loop: TapPage) -> None:
    loop.page.evaluate("() => { location.hash = location.hash.replace('Mul:0', 'Mul:7') }")
    reported = loop.page.get_by_test_id("no-output")
    expect(reported).to_contain_text("Mul has no output :7")
    expect(reported).to_contain_text("It has 1 output: :0.")
    reported.get_by_role("button", name="Show :0").click()
    expect(loop.page.get_by_test_id("summary")).to_be_visible()


def test_another_run_has_visits_of_its_own(loop: TapPage) -> None:
    loop.page.get_by_test_id("visit-picker").select_option("2")
    loop.show_tab("history")
    note = loop.page.locator(".chart-note")
    expect(note).to_contain_text("Iteration 2 of each step")
    loop.choose_run("once")
    expect(note).to_contain_text(f"{STEPS} snapshots")
    expect(note).not_to_contain_text("Iteration")


def test_a_visit_and_a_step_of_a_link_that_are_not_there_are_reported(loop: TapPage) -> None:
    """GIVEN a page that is open already WHEN it goes to addresses THEN what it shows instead is told."""
    lost = loop.page.get_by_test_id("lost")

    def go(old: str, new: str) -> None:
        loop.page.evaluate("([old, now]) => { location.hash = location.hash.replace(old, now) }", (old, new))

    go("step=3", "step=77&visit=99")
    expect(lost).to_contain_text("Step 77 was not captured: showing the nearest step, 3.")
    expect(lost).to_contain_text("while/Mul:0 has no iteration 99 at step 3; showing iteration 0.")
    loop.page.get_by_test_id("visit-picker").select_option("2")
    expect(lost).not_to_contain_text("iteration")
    go("visit=2", f"visit={2**31}")
    expect(lost).to_contain_text(f"Ignored unknown URL parameter: visit={2**31}")
    lost.get_by_role("button").click()
    expect(lost).to_have_count(0)
