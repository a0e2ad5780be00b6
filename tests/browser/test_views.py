"""The table of tensors and the value viewer, as far as an address brings them back."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

import tensortap


def test_a_condition_finds_the_dead_tensor_and_is_in_the_address(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    with tensortap.DumpWriter(tmp_path, run="dead") as writer:
        for i in range(20):
            writer.log(f"layer_{i}/Relu:0", np.zeros(8) if i == 7 else np.arange(8.0), step=0)
    tap.enter(serve(tmp_path))
    tap.page.get_by_role("button", name="Tensors").click()
    rows = tap.page.get_by_test_id("tensor-row")
    tap.page.get_by_test_id("table-filter").fill("layer_[")
    expect(tap.page.get_by_text("Not a regular expression (unterminated character class)")).to_be_visible()
    tap.page.get_by_test_id("table-filter").fill("layer_[7]")
    expect(rows).to_have_count(1)
    tap.page.get_by_test_id("table-filter").fill("")
    where = tap.page.get_by_test_id("table-where")
    where.fill("zero / size >")
    expect(tap.page.get_by_text("something is missing at the end")).to_be_visible()
    expect(rows).not_to_have_count(1)
    where.fill("zero / size > 0.9")
    expect(rows).to_have_count(1)
    expect(rows).to_have_attribute("data-tensor", "layer_7/Relu:0")
    written = f"where={quote('zero / size > 0.9', safe='/')}"
    tap.page.wait_for_function("where => location.hash.includes(where)", arg=written)  # a moment later
    tap.page.reload()
    tap.wait_until_ready()
    expect(rows).to_have_count(1)


def test_chips_filter_and_histograms_stand_side_by_side(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with tensortap.DumpWriter(tmp_path, run="wall") as writer:
        for i in range(300):
            writer.log(f"layer_{i}/Relu:0", np.maximum(np.arange(-9.0 * (i % 7), 9), 0), step=0)
    tap.enter(serve(tmp_path))
    tap.page.get_by_role("button", name="Tensors", exact=True).click()
    tap.page.get_by_role("button", name="> 90 % zeros").click()
    expect(tap.page.get_by_test_id("table-where")).to_have_value("zeros > 90%")
    expect(tap.page.get_by_text("No tensors match")).to_be_visible()
    tap.page.get_by_test_id("table-where").fill("zero > 0.9")
    expect(tap.page.get_by_text("For a share, write zero > 90%")).to_be_visible()
    tap.page.get_by_test_id("table-where").fill("Zeros > 80%")
    expect(tap.page.get_by_test_id("table-total")).to_have_text("128 tensors")
    tap.page.get_by_test_id("table-where").fill("")
    tap.page.get_by_role("button", name="Histograms", exact=True).first.click()
    wall = tap.page.get_by_test_id("histogram-wall")
    expect(wall).to_have_attribute("data-total", "300")
    cards = wall.get_by_test_id("wall-card")
    expect(cards.first.locator("path")).to_have_attribute("d", re.compile("^M"))
    assert cards.count() < 150
    wall.evaluate("wall => wall.scrollTo(0, wall.scrollHeight)")
    last = wall.locator('[data-tensor="layer_299/Relu:0"]')
    last.click()
    expect(tap.page.get_by_test_id("histogram")).to_have_attribute("data-tensor", "layer_299/Relu:0")
    expect(tap.page).to_have_url(re.compile("list=histograms"))


def test_the_field_of_an_index_goes_back_to_what_is_shown(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with tensortap.DumpWriter(tmp_path, run="cube") as writer:
        writer.log("a:0", np.arange(60.0).reshape(5, 3, 4), step=0)
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "cube", "a:0", 0)
    tap.show_tab("value")
    index = tap.page.get_by_label("Index in dimension 0, as a number")
    for typed, shown in (
        ("2", "2"),
        ("1.5", "2"),
        ("e", "2"),
        ("", "2"),
        ("99", "4"),
        ("99", "4"),
        ("-3", "0"),
    ):
        index.press("Control+A")
        index.press_sequentially(typed) if typed else index.press("Delete")
        index.press("Enter")
        expect(index).to_have_value(shown)
    expect(tap.page.get_by_label("Index in dimension 0", exact=True)).to_have_value("0")


def test_a_colour_scale_says_what_it_is_of(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    with tensortap.DumpWriter(tmp_path, run="odd") as writer:
        writer.log("fft:0", np.array([[3 + 4j, 0], [1j, 1]], np.complex64), step=0)
        writer.log("dead:0", np.full((2, 2), np.nan), step=0)
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "odd", "fft:0", 0)
    tap.show_tab("value")
    tap.page.get_by_role("button", name="Heatmap").click()
    bar = tap.page.get_by_test_id("colour-bar")
    expect(bar.get_by_text("magnitude")).to_be_visible()
    expect(bar.get_by_label("Colour maximum")).to_have_attribute("placeholder", "5")
    tap.go_to(site, "odd", "dead:0", 0)
    tap.show_tab("value")
    tap.page.get_by_role("button", name="Heatmap").click()
    expect(bar).to_contain_text("No colour scale: all elements are NaN or Inf")
    expect(bar.get_by_label("Colour maximum")).to_have_count(0)


def test_a_feature_map_opens_as_pictures_plays_and_is_saved(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    """GIVEN feature maps WHEN played through THEN the index moves, and the address brings back the place."""
    maps = np.random.default_rng(0).normal(size=(4, 8, 8, 6)).astype(np.float32)
    with tensortap.DumpWriter(tmp_path, run="maps") as writer:
        writer.log("conv/Relu:0", maps, step=0, keep="value")
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "maps", "conv/Relu:0", 0)
    tap.show_tab("value")
    expect(tap.page.get_by_role("button", name="Image", exact=True)).to_have_attribute("aria-pressed", "true")
    index = tap.page.get_by_label("Index in dimension 0, as a number")
    tap.page.get_by_test_id("play-dim-0").click()
    expect(index).not_to_have_value("0")
    tap.page.get_by_test_id("play-dim-0").click()
    expect(tap.page.get_by_role("button", name="Play through dimension 0")).to_be_visible()
    tap.page.wait_for_url(re.compile(rf"value=image&dims={index.input_value()},y,x,n"))

    tap.page.get_by_role("img", name="Image of conv/Relu:0").hover()
    with tap.page.expect_download() as download:
        tap.page.get_by_test_id("download-png").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")

    tap.page.get_by_role("button", name="Heatmap").click()
    tap.page.reload()
    tap.wait_until_ready()
    expect(tap.page.get_by_role("button", name="Heatmap")).to_have_attribute("aria-pressed", "true")
    expect(tap.page.get_by_label("Role of dimension 1")).to_have_value("y")


def test_a_handle_of_a_variable_leads_to_what_reads_it(tap: TapPage, site: Site) -> None:
    """TensorFlow calls it `unknown`; capturing it is impossible."""
    tap.enter(site)
    tap.go_to(site, "digits", "unknown:0", 30)
    panel = tap.page.get_by_test_id("not-captured")
    expect(panel).to_contain_text("has no values itself")
    read = panel.get_by_test_id("handle-read")
    name = read.inner_text()
    assert name.endswith("ReadVariableOp")
    read.click()
    tap.expect_inspected(name)
