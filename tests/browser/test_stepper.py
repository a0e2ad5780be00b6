"""Recorded steps on the page: a tensor computed on demand, the stepper, what is said without the option."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import small_models
import tensorflow as tf
from browser_page import TapPage
from browser_site import Serve, Site, serving
from playwright.sync_api import expect
from recorded_programs import custom_loop, fit

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two recorded steps without values; the second gives NaN, as it takes the logarithm of 0."""
    path = tmp_path_factory.mktemp("recorded")
    with Tap(path / "nan", Watch(steps=every(1), nodes="Log|Sum", keep="summary"), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            with tf.name_scope("entropy"):
                return tf.reduce_sum(x * tf.math.log(x))

        step(tf.constant([[0.5, 0.25], [1.0, 2.0]]))
        step(tf.constant([[0.5, 0.0], [1.0, 2.0]]))
    return path


@pytest.fixture(scope="module")
def replaying(recorded: Path) -> Iterator[Site]:
    with serving(recorded, "--allow-replay") as site:
        yield site


def test_a_value_that_nobody_kept_is_computed(tap: TapPage, replaying: Site) -> None:
    tap.enter(replaying)
    tap.go_to(replaying, "nan", "entropy/Log:0", 1)
    tap.show_tab("value")
    expect(tap.page.get_by_test_id("not-kept")).to_be_visible()
    tap.page.get_by_test_id("compute").click()
    badge = tap.page.get_by_test_id("computed-badge")
    expect(badge).to_contain_text("Verified", timeout=90_000)
    expect(badge).to_contain_text("bit-identical to the tensor captured")  # its own hash, as it was watched
    assert tap.value_cells()[0, 1] == "-Inf"


def test_a_nan_is_stepped_to_and_repaired(tap: TapPage, replaying: Site, recorded: Path) -> None:
    page = tap.page
    tap.enter(replaying)
    page.goto(replaying.url + "#view=stepper")
    expect(page.get_by_test_id("proof")).to_have_text("verified", timeout=90_000)
    tap.expect_inspected("entropy/Log")  # it begins at the first
    expect(page.get_by_test_id("stepper-out")).to_contain_text("1 Inf")
    page.get_by_test_id("stepper-list").press("r")
    tap.expect_inspected("entropy/mul")  # 0 times -Inf makes a NaN, which Sum passes on
    page.get_by_test_id("stepper-list").press("r")
    tap.expect_inspected("entropy/mul")
    page.get_by_test_id("stepper-list").press("m")
    tap.expect_inspected("entropy/Sum")
    page.get_by_test_id("stepper-list").press("R")
    page.get_by_test_id("stepper-list").press("R")
    tap.expect_inspected("entropy/Log")

    page.get_by_test_id("override").fill("exec(x)")
    page.get_by_test_id("apply").click()
    expect(page.get_by_test_id("override-error")).to_contain_text("'exec' is not allowed")
    expect(page.get_by_test_id("what-if")).to_have_count(1)
    page.get_by_test_id("override").fill("clip(x, -9, 9)")
    page.get_by_test_id("apply").click()
    what_if = page.get_by_test_id("what-if").nth(1)
    expect(what_if).to_have_attribute("data-current", "true")
    expect(what_if.locator("td")).to_have_text(["4", "0", "-9", "-2.25", "0.6931"])
    expect(page.get_by_test_id("next-bad")).to_be_disabled()
    page.get_by_test_id("next-changed").click()
    tap.expect_inspected("entropy/mul")
    tap.show_tab("value")
    assert tap.value_cells()[0, 1] in ("0", "-0")

    expect(page.get_by_role("region", name="Legend")).to_contain_text("What-if")
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("save")).to_have_text("Saved")
    saved = json.loads((recorded / "nan" / "what-ifs.json").read_text())["recordings"]
    assert list(saved.values()) == [{"what-if 1": [["entropy/Log:0", "clip(x, -9, 9)"]]}]
    page.get_by_test_id("undo").click()
    expect(what_if.locator("td").first).to_have_text("0")
    expect(page.get_by_test_id("next-bad")).to_be_enabled()

    page.get_by_test_id("override").fill("x * 1.2345e-33")  # numbers as wide as they get
    page.get_by_test_id("apply").click()
    expect(what_if.locator("td").last).to_have_text("1.7e-33")
    assert page.locator(".what-if-scroll, .what-if-table th").evaluate_all(
        "all => all.every(e => e.scrollWidth <= e.clientWidth)"
    )
    # A node of no scope begins where others begin.
    begins = page.locator('[data-testid="stepper-row"]').evaluate_all(
        "all => all.map(e => [...e.querySelectorAll('.truncate')].find(x => x.textContent)"
        ".getBoundingClientRect().left)"
    )
    assert len(begins) > 4 and len(set(begins)) == 1


@pytest.fixture
def at_input(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    """The page replays a step of a custom loop, with its input selected."""
    custom_loop(tmp_path / "loop")
    tap.page.goto(f"{serve(tmp_path, '--allow-replay').start_url}#run=loop&view=stepper&tensor=x:0")
    expect(tap.page.get_by_test_id("proof")).to_have_text("verified", timeout=90_000)


@pytest.mark.usefixtures("at_input")
def test_the_loss_stands_below_each_what_if(tap: TapPage) -> None:
    page = tap.page
    losses = page.get_by_test_id("what-if-loss")
    expect(losses).to_have_count(1)
    page.get_by_test_id("override").fill("x * 0.5")
    page.get_by_test_id("apply").click()
    expect(losses).to_have_count(2)
    expect(losses.last).to_have_text(re.compile(r"^loss [\d.e-]+ \([+−][\d.e-]+\)$"))
    page.get_by_test_id("override").fill("where(x > 9, x, -1) / 0")
    page.get_by_test_id("apply").click()
    remaining = page.get_by_test_id("what-if-remaining")
    expect(remaining).to_contain_text("Loss still not finite")
    remaining.get_by_role("button").click()
    tap.expect_inspected("x")
    tap.show_tab("overview")
    expect(page.get_by_test_id("nothing-finite")).to_have_text("All elements are NaN/Inf.")


@pytest.mark.usefixtures("at_input")
def test_a_change_is_undone_and_redone_by_key_wherever_the_focus_is(tap: TapPage) -> None:
    page = tap.page
    box, undo = page.get_by_test_id("override"), page.get_by_test_id("undo")
    box.fill("x * 0.5")
    page.get_by_test_id("apply").click()
    expect(undo).to_be_enabled()
    page.keyboard.press("Control+z")  # the disabled button lost the focus
    expect(undo).to_have_count(0)
    box.fill("x * 0.25")
    box.press("Enter")
    expect(undo).to_be_enabled()
    box.press("Control+z")
    expect(undo).to_have_count(0)
    for redo in ("Control+Shift+z", "Control+y"):
        box.press(redo)
        expect(undo).to_be_enabled()
        box.press("Control+z")
        expect(undo).to_have_count(0)
    box.press("Enter")
    expect(undo).to_be_enabled()
    box.press_sequentially("1")
    box.press("Control+z")  # of what was typed
    expect(box).not_to_have_value("x * 0.251")
    expect(undo).to_be_enabled()


def test_handles_are_named_like_their_variables_on_a_phone_too(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    """GIVEN `unknown`, the handle of a weight THEN the list names the weight; list and graph are stacked."""
    page = tap.page
    fit(tmp_path / "logs" / "cnn", small_models.cnn(), np.zeros((8, 8, 8, 2), "f"), np.zeros(8))
    site = serve(tmp_path / "logs", "--allow-replay")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.start_url}#view=stepper")
    expect(page.get_by_test_id("proof")).to_have_text("verified", timeout=90_000)
    page.get_by_test_id("stepper-filter").fill("kernel")
    handle = page.locator('[data-testid="stepper-row"][data-node^="unknown"]').first
    expect(handle).to_contain_text("kernel")
    for part in (".stepper-side", ".stepper > .pane-body"):
        expect(page.locator(part)).to_have_css("width", "390px")


def test_the_logic_of_a_step_is_tested_by_buttons(tap: TapPage, replaying: Site) -> None:
    page = tap.page
    tap.enter(replaying)
    page.goto(replaying.url + "#view=stepper")
    expect(page.get_by_test_id("proof")).to_have_text("verified", timeout=90_000)
    outcome = page.get_by_test_id("logic-outcome")
    page.get_by_test_id("test-batch").click()
    expect(outcome).to_contain_text("passed", timeout=30_000)
    expect(page.get_by_test_id("test-batch")).to_have_attribute("data-passed", "true")
    page.get_by_test_id("test-sensitivity").click()
    expect(outcome).to_contain_text("does not mark a loss", timeout=30_000)


def test_without_the_option_the_page_says_how(tap: TapPage, serve: Serve, recorded: Path) -> None:
    site = serve(recorded)
    tap.enter(site)
    tap.go_to(site, "nan", "entropy/Log:0", 1)
    tap.show_tab("value")
    expect(tap.page.get_by_test_id("compute-not-allowed")).to_contain_text("--allow-replay")
    tap.page.goto(site.url + "#view=stepper")
    expect(tap.page.get_by_test_id("replay-not-allowed")).to_contain_text(
        "tensortap serve LOGDIR --allow-replay"
    )
