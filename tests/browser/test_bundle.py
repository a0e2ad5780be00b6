"""A bundle on the page, as somebody sees it who was sent one: with and without leave to run it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from browser_page import TapPage
from browser_site import Serve, Site, serving
from playwright.sync_api import expect

from tensortap.__main__ import main
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Step 1 of a run that captured `Log` there; the run itself is nowhere near."""
    logs, away = tmp_path_factory.mktemp("logs"), tmp_path_factory.mktemp("away")
    with Tap(logs / "mine", Watch(steps=every(1), nodes="Log", keep="summary"), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            with tf.name_scope("entropy"):
                return tf.reduce_sum(x * tf.math.log(x))

        for first in (0.5, 0.25):
            step(tf.constant([[first, 1.0], [1.0, 2.0]]))
    path = away / "step.tapbundle"
    assert main(["bundle", str(logs / "mine"), "--step", "1", "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def replaying(bundle: Path) -> Iterator[Site]:
    with serving(bundle, "--allow-replay") as site:
        yield site


def test_without_leave_the_page_says_how_it_would_be_run(tap: TapPage, serve: Serve, bundle: Path) -> None:
    page, site = tap.page, serve(bundle)
    tap.enter(site)
    expect(page.get_by_test_id("recorded").first).to_contain_text("Step 1 was recorded")
    tap.search("entropy/Log")  # the graph came with the bundle
    tap.expect_inspected("entropy/Log")
    tap.show_tab("value")
    expect(page.get_by_test_id("compute-not-allowed")).to_contain_text("Step 1 was recorded")
    expect(page.get_by_test_id("compute")).to_have_count(0)
    page.goto(site.url + "#view=stepper")
    refused = page.get_by_test_id("replay-not-allowed")
    expect(refused).to_contain_text("This run has 1 recorded step")
    expect(refused).to_contain_text("tensortap serve LOGDIR --allow-replay")
    expect(page.get_by_test_id("stepper-list")).to_have_count(0)


def test_with_leave_its_tensors_are_computed_and_proven(tap: TapPage, replaying: Site) -> None:
    page = tap.page
    tap.enter(replaying)
    tap.search("entropy/Log")
    tap.show_tab("value")
    page.get_by_test_id("compute").click()
    badge = page.get_by_test_id("computed-badge")
    expect(badge).to_contain_text("bit-identical to the tensor captured", timeout=90_000)  # by its own hash
    expect(badge).to_have_attribute("data-proven", "true")
    assert abs(float(tap.value_cells()[0, 0]) - math.log(0.25)) < 1e-3

    page.get_by_role("button", name="Replay", exact=True).first.click()
    expect(page.get_by_test_id("proof")).to_have_text("verified", timeout=90_000)
    page.get_by_test_id("stepper-row").filter(has_text="Log").click()
    tap.expect_inspected("entropy/Log")
    expect(badge).to_have_attribute("data-proven", "true")
    page.get_by_test_id("override").fill("x * 0")
    page.get_by_test_id("apply").click()
    expect(page.get_by_test_id("what-if").nth(1)).to_have_attribute("data-current", "true")
    expect(badge).to_contain_text("Computed with the changes of what-if 1")
    expect(badge).to_have_attribute("data-proven", "false")
    assert tap.value_cells()[0, 0] in ("0", "-0")
