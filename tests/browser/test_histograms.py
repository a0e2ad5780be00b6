"""Histograms over steps: all over each other, read off, chosen from, and found again by the address."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve, Site
from pictures import Pictures
from playwright.sync_api import Browser, TimeoutError, expect
from polling import until

from tensortap.dump.write.writer import DumpWriter

# More than one answer of the server has: it leaves every other step out.
STEPS = 401
TENSOR = "layer/Tanh:0"


@pytest.fixture
def site(serve: Serve, tmp_path: Path) -> Site:
    """A tensor that grows with the steps: its 8 elements lie from 1 + s / 100 to 1.9 + s / 100."""
    with DumpWriter(tmp_path, run="growing") as writer:
        for step in range(STEPS):
            writer.log(TENSOR, np.linspace(1, 1.9, 8) + step / 100, step=step)
    return serve(tmp_path)


def chart(tap: TapPage, mode: str) -> None:
    tap.page.get_by_role("group", name="Chart").get_by_role("button", name=mode).click()


# Where the highest point of a trace (a step's outline, or `bar`) is; `pointed`: what Plotly reports there.
HIGHEST = """name => {
    const plot = document.querySelector('[data-testid=histogram] .js-plotly-plot');
    const trace = plot?.data?.find((trace) => trace.name === name || trace.type === name);
    if (!trace) return null;
    window.pointed = null;
    plot.on('plotly_hover', ({ points }) => {
        window.pointed = [points[0].data.name, document.querySelector('.hoverlayer .hovertext').textContent];
    });
    const { xaxis, yaxis } = plot._fullLayout;
    const at = trace.y.indexOf(Math.max(...trace.y));
    const box = plot.getBoundingClientRect();
    const x = box.left + xaxis._offset + xaxis.l2p(trace.x[at]);
    return { x, y: box.top + yaxis._offset + yaxis.l2p(trace.y[at]) };
}"""


def point_at(tap: TapPage, trace: str, reported: str) -> str:
    """Points at the highest point of a trace until the pattern `reported` is what stands there: the chart may
    be drawn again meanwhile. Returns the name of the trace pointed at."""
    found: list[str] = []

    def pointed() -> bool:
        tap.page.mouse.move(0, 0)
        place = tap.page.evaluate(HIGHEST, trace)
        if place is None:
            return False
        tap.page.mouse.move(place["x"], place["y"] + 3)
        try:
            found[:] = tap.page.wait_for_function("() => window.pointed", timeout=2000).json_value()
        except TimeoutError:
            return False
        return re.search(reported, found[1]) is not None

    until(pointed, f"{reported} at {trace}")
    return found[0]


def test_outlines_over_each_other_are_read_off_and_lead_to_their_step(tap: TapPage, site: Site) -> None:
    """GIVEN a step that the server leaves out of so many WHEN it is chosen THEN it is drawn."""
    tap.enter(site)
    tap.go_to(site, "growing", TENSOR, 201)
    tap.show_tab("histogram")
    chart(tap, "Overlay")
    expect(tap.page.get_by_test_id("overlay-legend")).to_contain_text(
        re.compile(r"step 0\s*400.*31 of 401 histograms")
    )
    overlay = tap.page.get_by_test_id("histogram-overlay")
    expect(overlay).to_have_attribute("data-outlines", "31")
    assert point_at(tap, "201", r"step 201.*3 … 4.*8 elements") == "201"

    # Half of the elements lie in the narrower bucket, the higher one, as those of other steps do.
    step = int(point_at(tap, "0", r"1\.5 … 2.*4 elements"))
    tap.page.mouse.down()
    tap.page.mouse.up()
    tap.expect_step(step)
    expect(overlay).to_have_attribute("data-outlines", "30")


def test_a_bar_of_this_step_is_read_off(tap: TapPage, site: Site) -> None:
    """What hover tells is plain text: styled text is an inline style, which the page's policy refuses."""
    tap.enter(site)
    tap.go_to(site, "growing", TENSOR, 201)
    tap.show_tab("histogram")
    chart(tap, "This step")
    point_at(tap, "bar", "^3 … 48 elements$")  # two lines


@pytest.mark.parametrize(
    ("tab", "drawn"), [("history", 0.02), pytest.param("histogram", 0.3, marks=pytest.mark.nightly)]
)
def test_a_chart_is_saved_as_png(
    tap: TapPage, site: Site, browser: Browser, tmp_path: Path, tab: str, drawn: float
) -> None:
    """GIVEN a dark page WHEN a chart is saved THEN the file has its background, lines and painted cells."""
    tap.page.emulate_media(color_scheme="dark")
    tap.enter(site)
    tap.go_to(site, "growing", TENSOR, 201)
    tap.show_tab(tab)
    if tab == "histogram":
        chart(tap, "Heatmap")
    tap.page.locator(".js-plotly-plot").hover()
    # An SVG would lack the cells.
    expect(tap.page.locator("[data-title='Download plot']")).to_have_count(0 if tab == "histogram" else 1)
    with tap.page.expect_download() as saved:
        tap.page.locator("[data-title='Download as PNG']").click()
    assert saved.value.suggested_filename == f"layer_Tanh_0-{tab}.png"
    path = tmp_path / "chart.png"
    saved.value.save_as(path)
    pictures = Pictures(browser)
    _, pixels = pictures.scaled(path.read_bytes())
    pictures.close()
    assert pixels[0, 0].tolist() == [20, 23, 29]
    assert (np.abs(pixels - pixels[0, 0]).max(axis=-1) > 20).mean() > drawn


def test_an_address_draws_the_charts_alike_for_somebody_else(tap: TapPage, site: Site) -> None:
    """GIVEN a browser that prefers other charts WHEN it opens an address THEN it shows the sender's."""
    tap.enter(site)
    tap.go_to(site, "growing", TENSOR, 201)
    tap.show_tab("histogram")
    chart(tap, "Overlay")
    tap.page.get_by_role("button", name="Linear").click()
    expect(tap.page).to_have_url(re.compile(r"panel=histogram&chart=overlay&axis=linear"))
    histograms = tap.page.url
    tap.show_tab("history")
    tap.page.get_by_role("button", name="Quantiles").click()
    tap.page.get_by_role("switch", name="Log scale").click()
    expect(tap.page).to_have_url(re.compile(r"panel=history&band=quantiles&log=1"))
    history = tap.page.url

    tap.page.evaluate("() => localStorage.clear()")
    tap.page.reload()
    quantiles = tap.page.get_by_role("button", name="Quantiles")
    expect(quantiles).to_have_attribute("aria-pressed", "true")
    tap.page.get_by_role("button", name="Mean ± std").click()
    tap.show_tab("histogram")
    chart(tap, "Heatmap")
    tap.page.goto(histograms)
    expect(tap.page.get_by_test_id("histogram-overlay")).to_be_visible()
    expect(tap.page.get_by_role("button", name="Linear")).to_have_attribute("aria-pressed", "true")
    tap.page.goto(history.replace("quantiles", "median"))
    expect(tap.page.get_by_test_id("lost")).to_contain_text("Ignored unknown URL parameter: band=median")
