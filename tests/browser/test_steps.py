"""Moving along the steps, and coming back to where one was."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

import tensortap
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter


def test_slider_moves_over_the_captured_steps(tap: TapPage, site: Site) -> None:
    steps = [int(step) for step in tensortap.open(site.logdir).runs["digits"].steps]
    tap.enter(site)
    tap.choose_run("digits")
    slider = tap.page.get_by_test_id("step-slider")
    slider.focus()
    for key, step in [
        ("Home", steps[0]),
        ("ArrowRight", steps[1]),
        ("End", steps[-1]),
        ("ArrowLeft", steps[-2]),
    ]:
        slider.press(key)
        tap.expect_step(step)


def test_the_thumb_stands_at_the_ends_where_the_first_and_last_step_do(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits")
    strip, slider = tap.page.get_by_test_id("health-strip"), tap.page.get_by_test_id("step-slider")
    thumb = strip.locator(".strip-thumb")
    box = strip.bounding_box()
    assert box is not None
    for key, place in [("Home", 0.0), ("End", 1.0)]:
        slider.press(key)
        expect(thumb).to_have_attribute("style", f"left: {100 * place:.0f}%;")
        tap.page.mouse.click(box["x"] + min(max(place * box["width"], 1), box["width"] - 1), box["y"] + 14)
        expect(thumb).to_have_attribute("style", f"left: {100 * place:.0f}%;")


def test_numbers_follow_the_step(tap: TapPage, site: Site) -> None:
    run = tensortap.open(site.logdir).runs["digits"]
    name = next(name for name in run.tensors if name.endswith("/Relu:0"))
    first, last = int(run.steps[0]), int(run.steps[-1])
    tap.enter(site)
    tap.go_to(site, "digits", name, first)
    expect(tap.page.get_by_test_id("summary")).to_have_attribute("data-step", str(first))
    before = tap.statistic("mean")
    tap.page.get_by_test_id("step-slider").press("End")
    expect(tap.page.get_by_test_id("summary")).to_have_attribute("data-step", str(last))
    assert [before, tap.statistic("mean")] == [
        run.tensor(name, step=step).summary.mean for step in (first, last)
    ]


def test_an_address_brings_back_the_same_place(tap: TapPage, site: Site) -> None:
    run = tensortap.open(site.logdir).runs["digits"]
    name = next(name for name in run.tensors if name.endswith("/Relu:0"))
    step = int(run.steps[1])
    tap.enter(site)
    tap.go_to(site, "digits", name, step)
    tap.show_tab("value")
    tap.page.get_by_role("button", name="Table").click()
    cells = tap.value_cells()
    tap.page.reload()
    tap.wait_until_ready()
    tap.expect_inspected(name.removesuffix(":0"))
    tap.expect_step(step)
    expect(tap.page.get_by_test_id("run-picker")).to_have_text("digits")
    assert tap.value_cells() == cells


def test_back_leads_to_the_node_before(tap: TapPage, site: Site) -> None:
    names = [name for name in tensortap.open(site.logdir).runs["digits"].tensors if name.endswith(":0")]
    tap.enter(site)
    tap.go_to(site, "digits", names[0], 10)
    tap.go_to(site, "digits", names[1], 10)
    tap.page.go_back()
    tap.expect_inspected(names[0].removesuffix(":0"))


def test_an_address_wins_over_what_happens_at_the_same_moment(tap: TapPage, site: Site) -> None:
    """The event that tells of a new hash comes later than the hash: nothing may write over it meanwhile."""
    run = tensortap.open(site.logdir).runs["digits"]
    steps = [int(step) for step in run.steps]
    tap.enter(site)
    tap.choose_run("digits")
    tap.page.get_by_test_id("step-slider").focus()
    tap.page.evaluate(
        """hash => {
            location.hash = hash;
            const slider = document.querySelector('[data-testid=step-slider]');
            slider.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }));
        }""",
        f"run={quote(tap.run_id('digits'))}&step={steps[1]}",
    )
    tap.expect_step(steps[1])


def test_the_loss_of_a_custom_training_loop_is_drawn_and_leads_to_its_node(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    """GIVEN a loop that logs nothing THEN the line has the name of the tensor, not of a metric."""
    scalar = {"output_dtypes": ("float32",), "output_shapes": ((),)}
    nodes = [
        Node("w", "ReadVariableOp", output_dtypes=("float32",), output_shapes=((4,),)),
        Node("net/Sum", "Sum", ("w:0",), **scalar, attributes={"tensortap.kind": "loss"}),
    ]
    with DumpWriter(tmp_path, run="loop") as writer:
        graph = writer.graph(Graph("train", nodes))
        for step in range(5):
            writer.log("net/Sum:0", np.float32(4 - step), step=step, graph=graph)
    tap.page.goto(serve(tmp_path).start_url)
    expect(tap.page.get_by_test_id("loss-line")).to_have_attribute("data-points", "5")
    name = tap.page.get_by_test_id("loss-tensor")
    expect(name).to_have_text("Sum:0")
    name.click()
    tap.expect_inspected("net/Sum")
    tap.expect_step(4)


def test_a_graph_that_ran_at_some_steps_counts_its_own(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    """GIVEN a run with more steps than its training graph THEN the counts beside each other agree."""
    names = ("train", "test")
    with DumpWriter(tmp_path, run="two") as writer:
        train, test = (writer.graph(Graph(name, [Node("a", "Relu")])) for name in names)
        for step in (0, 1, 2):
            writer.log("a:0", np.ones(3), step=step, graph=train)
        writer.log("a:0", np.ones(3), step=7, graph=test)
    page = tap.page
    page.goto(serve(tmp_path).start_url)
    expect(page.get_by_test_id("step-label")).to_contain_text("3 of 3 in this graph")
    expect(page.get_by_test_id("step-label").locator("span")).to_have_attribute(
        "title", "This graph ran at 3 of the run's 4 steps."
    )
    expect(page.get_by_test_id("run-summary")).to_contain_text("4, from 0 to 7")
