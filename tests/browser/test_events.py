"""What happened besides snapshots, a range of steps, compared histories, and a list of any length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Site, serving
from playwright.sync_api import expect

import tensortap
from tensortap.core.records import Graph, Node
from tensortap.core.sampling import Sample

STEPS = 30


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run `hunt`: 30 steps of three tensors and their batches; at step 20, `a` turns NaN, a trigger fires."""
    logdir = tmp_path_factory.mktemp("hunt")
    inputs: dict[str, list[str]] = {"a": [], "b": ["a:0"], "c": ["b:0"]}
    known = {"output_dtypes": ["float32"], "output_shapes": [[40, 50]]}
    nodes = [Node(name, "Identity", given, stack=0, **known) for name, given in inputs.items()]
    made = Graph("train", nodes, stacks=[[("train.py", 2, "step")]], sources={"train.py": "x\ny = a(x)\n"})
    with tensortap.DumpWriter(logdir, run="hunt") as writer:
        graph = writer.graph(made)
        for step in range(STEPS):
            files = [f"shards/part-{step % 3}.csv"] * 4
            writer.event(
                "batch", step=step, ids=[f"id-{4 * step + i}" for i in range(4)], files=files, count=4
            )
            for i, name in enumerate(inputs):
                value = np.full((40, 50), step + i, np.float32)
                if name == "a" and step >= 20:
                    value[:] = np.nan
                sample = Sample(100) if name == "b" else None
                writer.log(f"{name}:0", value, step=step, graph=graph, keep="value", sample=sample)
        facts = {"trigger": "NonFinite()", "reason": "a:0 has 2000 NaN", "tensor": "a:0", "node": "a"}
        facts |= {"graph": graph, "source": ["train.py", 2, "step"], "first_step": 15, "stops": True}
        writer.event("trigger", step=20, **facts, inputs=[{"tensor": "c:0", "nan": 0, "inf": 0}])
    with tensortap.DumpWriter(logdir, run="plain") as writer:
        writer.log("x:0", np.zeros(3), step=0)
    return logdir


@pytest.fixture(scope="module")
def hunted(hunt: Path) -> Iterator[Site]:
    with serving(hunt) as site:
        yield site


def test_events_tell_what_fired_and_what_fed_a_step(tap: TapPage, hunted: Site) -> None:
    tap.enter(hunted)
    tap.choose_run("hunt")
    page = tap.page
    expect(page.get_by_test_id("strip-trigger")).to_have_count(1)
    page.get_by_role("button", name="Events", exact=True).click()
    trigger = page.get_by_test_id("trigger")
    expect(trigger).to_contain_text("a:0 has 2000 NaN")
    expect(trigger).to_contain_text("ended training")
    page.get_by_test_id("recorded").click()
    tap.expect_step(15)
    expect(page.get_by_test_id("step-batch")).to_contain_text("4 samples from 1 file")
    page.get_by_test_id("sample-part").fill("PART-2")
    expect(page.get_by_test_id("fed-steps")).to_contain_text("10 steps saw shards/part-2.csv")
    page.get_by_test_id("fed-steps").get_by_role("button", name="26", exact=True).click()
    tap.expect_step(26)
    page.reload()
    tap.wait_until_ready()
    expect(page.get_by_test_id("fed-steps")).to_contain_text("10 steps saw shards/part-2.csv")
    page.get_by_test_id("trigger-node").click()
    tap.expect_inspected("a")
    tap.expect_step(20)
    tap.show_tab("value")
    expect(page.get_by_test_id("nothing-finite")).to_contain_text("All 2,000 elements are NaN.")
    page.get_by_test_id("look-finite").click()
    tap.expect_step(19)
    expect(page.get_by_test_id("nothing-finite")).to_have_count(0)

    tap.unselect()
    tap.choose_run("plain")
    expect(page.get_by_test_id("no-triggers")).to_contain_text("FlightRecorder(5)")
    expect(page.get_by_test_id("no-batches")).to_contain_text("tap.trace_batches")


def test_histories_are_compared_over_a_range_of_steps(tap: TapPage, hunted: Site) -> None:
    tap.enter(hunted)
    page = tap.page
    tap.go_to(hunted, "hunt", "b:0", 4)
    page.get_by_test_id("pin").click()
    page.get_by_test_id("consumers").locator('[data-node="c"]').click()
    tap.expect_inspected("c")
    page.get_by_test_id("pin").click()
    tap.show_tab("history")
    expect(page.get_by_test_id("compared-histories")).to_have_attribute("data-tensors", "2")
    rows = page.get_by_test_id("compared-row")
    expect(rows.nth(0)).to_contain_text(re.compile(r"b:0\s*5"))
    expect(rows.nth(1)).to_contain_text(re.compile(r"c:0\s*6"))
    page.get_by_test_id("show-side-by-side").click()
    columns = page.get_by_test_id("side-column")
    expect(columns).to_have_count(2)
    for column, value in ((columns.nth(0), "5"), (columns.nth(1), "6")):
        expect(column.get_by_test_id("statistic-mean")).to_contain_text(value)
    page.keyboard.press("e")
    tap.show_tab("history")
    page.get_by_role("button", name="This tensor").click()
    chart = page.get_by_test_id("history").locator(".nsewdrag").first
    expect(chart).to_be_visible()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 30, steps=6)
    page.mouse.up()
    expect(page.get_by_test_id("step-range")).to_be_visible()
    found = re.search(r"range=(\d+)-(\d+)", page.url)
    assert found
    first, last = int(found[1]), int(found[2])
    assert 0 < first < last < STEPS - 1
    page.get_by_test_id("step-slider").focus()
    page.keyboard.press("Home")
    tap.expect_step(first)
    page.reload()
    tap.wait_until_ready()
    expect(page.get_by_test_id("step-range")).to_contain_text(f"steps {first}–{last}")
    expect(page.get_by_test_id("pinned").get_by_role("button", name="Unpin b:0")).to_be_visible()
    page.get_by_role("button", name="Show all steps").click()
    page.get_by_test_id("step-slider").press("Home")
    tap.expect_step(0)


def test_a_list_of_all_steps_is_sorted_scrolled_and_fits(tap: TapPage, hunted: Site) -> None:
    tap.page.set_viewport_size({"width": 1024, "height": 700})
    tap.enter(hunted)
    tap.choose_run("hunt")
    page = tap.page
    page.get_by_role("button", name="Tensors", exact=True).click()
    rows, table = page.get_by_test_id("tensor-row"), page.get_by_test_id("tensor-table")
    expect(rows).to_have_count(3)
    assert table.evaluate("element => element.scrollWidth <= element.clientWidth")
    expect(rows.nth(1)).to_contain_text("sample")
    page.get_by_role("button", name="All steps").click()
    expect(page.get_by_test_id("table-total")).to_have_text("90 snapshots")
    page.get_by_role("columnheader", name="NaN").get_by_role("button").click()
    expect(rows.first).to_have_attribute("data-tensor", "a:0")
    expect(rows.first).to_have_attribute("data-step", "20")
    table.evaluate("element => { element.scrollTop = element.scrollHeight; }")
    expect(rows.last).to_have_attribute("data-step", str(STEPS - 1))
    rows.last.click()
    tap.expect_inspected("c")
    tap.expect_step(STEPS - 1)
    page.get_by_test_id("table-where").fill("nan == 0 and tensor ~ '^b' and step < 2")
    expect(rows).to_have_count(2)
    tap.show_tab("value")
    rows.first.click()
    expect(page.get_by_test_id("sampled")).to_contain_text("100 of 2,000 elements stored")
    expect(page.locator('[data-index="3"]')).to_have_attribute("title", re.compile(r"\[1, 10\] of the whole"))
