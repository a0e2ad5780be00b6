"""The Problems page of a server with a file of rules: what it says holds; dead layers are listed with why."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Site, serving
from playwright.sync_api import expect
from synthetic_runs import TRAINING, node, synthetic_run

ZERO, SOME = np.zeros(4, np.float32), np.ones(4, np.float32)
NODES = (
    *TRAINING[:4],
    node("back", "Mul", "loss"),
    node("gradient_tape/relu", "ReluGrad", "back", "product"),
    node("gradient_tape/g", "MatMul", "x", "gradient_tape/relu", kind="gradient", of="dense/kernel"),
)


@pytest.fixture(scope="module")
def dead_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A run whose ReLU passes no gradient on and whose weights stay, served with a file of rules."""
    folder = tmp_path_factory.mktemp("dead")
    fed = [
        (name, value, step)
        for step in range(4)
        for name, value in (
            *(("w", SOME * 9), ("back", SOME), ("gradient_tape/relu", ZERO), ("gradient_tape/g", ZERO)),
        )
    ]
    synthetic_run(folder / "logs", NODES, fed, keep="value", name="dead")
    rules = folder / "mine.toml"
    rules.write_text("[LargeWeights]\nseverity = 'high'\n")
    with serving(folder / "logs", "--rules", str(rules)) as running:
        yield running


def test_dead_layers_are_listed_with_their_reason(tap: TapPage, dead_site: Site) -> None:
    tap.enter(dead_site)
    tap.page.keyboard.press("w")
    ledger = tap.page.get_by_test_id("ledger")
    expect(ledger).to_contain_text("dense/kernel")
    expect(ledger).to_contain_text("the ReLU is inactive")
    expect(ledger).to_contain_text("4 of 4 steps")
    ledger.get_by_role("button", name="gradient_tape/relu:0").click()
    tap.expect_inspected("gradient_tape/relu")


def test_rules_of_a_file_hold_on_the_page_and_are_read_again(tap: TapPage, dead_site: Site) -> None:
    """A rule of low severity is raised by the file; one that is spoilt later is told, and changes nothing."""
    tap.enter(dead_site)
    tap.page.keyboard.press("w")
    page = tap.page.get_by_test_id("problems-page")
    large = page.locator("[data-rule=LargeWeights]")
    expect(large).to_have_attribute("data-severity", "high")
    expect(page).to_contain_text("with mine.toml")
    rules = dead_site.logdir.parent / "mine.toml"
    rules.write_text("[LargeWeights\n")
    try:
        tap.page.reload()
        expect(page).to_contain_text("mine.toml was ignored: mine.toml cannot be parsed")
        expect(large).to_have_attribute("data-severity", "high")
    finally:
        rules.write_text("[LargeWeights]\nseverity = 'medium'\n")
    tap.page.keyboard.press("w")
    tap.page.keyboard.press("w")
    expect(large).to_have_attribute("data-severity", "medium")
