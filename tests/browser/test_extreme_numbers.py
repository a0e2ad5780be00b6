"""Charts of numbers near the ends of what a double holds are drawn, in units of a power of ten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve
from playwright.sync_api import expect

from tensortap.dump.write.writer import DumpWriter


@pytest.mark.parametrize(
    ("size", "unit"), [(2e-310, "× 1e-310"), pytest.param(1e308, "× 1e308", marks=pytest.mark.nightly)]
)
def test_charts_tell_their_unit(tap: TapPage, serve: Serve, tmp_path: Path, size: float, unit: str) -> None:
    with DumpWriter(tmp_path, run="ends") as writer:
        for step in range(3):
            writer.log("x:0", np.array([-0.9, -0.5, 0.25, 1.0]) * size, step=step)
    site = serve(tmp_path)
    tap.enter(site)
    tap.go_to(site, "ends", "x:0", 1)

    def drawn(*titles: str) -> None:
        texts = tap.page.locator(".js-plotly-plot .infolayer text")
        for title in titles:
            expect(texts.get_by_text(title, exact=True)).to_be_visible()
        expect(tap.page.locator(".plot-failed")).to_have_count(0)

    tap.show_tab("history")
    drawn(f"min, mean ± std, max {unit}", f"— std, - - max |x| {unit}")
    tap.page.get_by_role("switch", name="Log scale").click()
    drawn(f"— std, - - max |x| (log) {unit}")
    tap.show_tab("histogram")
    tap.page.get_by_role("button", name="Linear").click()
    drawn(f"value {unit}")
    tap.show_tab("value")
    tap.page.get_by_role("button", name="Line", exact=True).click()
    drawn("index", unit)
