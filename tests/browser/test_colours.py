"""Colours by a statistic: one scale for all steps, whose ends tell what lies beyond."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Request, expect

SCALE = ".graph-scale"
NODE = "digits_1/conv1_1/Relu"


def is_for_range(request: Request) -> bool:
    return request.url.partition("?")[0].endswith("/range")


def test_a_statistic_has_one_scale_for_all_steps(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.go_to(site, "digits-nan", f"{NODE}:0", 20)
    legend, control = tap.page.get_by_label("Legend"), tap.page.get_by_test_id("colour-by")
    with tap.page.expect_request(is_for_range) as asked:
        control.select_option("statistic:abs_max")
    assert "statistic=abs_max" in asked.value.url
    expect(legend).to_contain_text("one scale for all steps")
    scale = legend.locator(SCALE)
    reported = scale.get_attribute("aria-label") or ""
    assert "Max |x|: " in reported and "≥ " in reported
    slider = tap.page.get_by_test_id("step-slider")
    for key in ("Home", "End"):
        slider.press(key)
        tap.wait_until_ready()
        expect(scale).to_have_attribute("aria-label", reported)
    expect(legend).to_contain_text("all NaN")
    control.select_option("statistic:mean")
    expect(legend).to_contain_text("Mean")
    expect(legend).to_contain_text("one scale for all steps")
    control.select_option("statistic:nan_share")
    expect(scale).to_have_attribute("aria-label", "% NaN: 0 % to 100 %")
    expect(legend).not_to_contain_text("scale for all steps")
