"""A page of 1440x900 at 200 %: 720x450 CSS pixels."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, expect

RELU = "digits_1/conv1_1/Relu"


def box(place: Locator) -> dict[str, float]:
    found = place.bounding_box()
    assert found
    return {"right": found["x"] + found["width"], "bottom": found["y"] + found["height"], **found}


def test_a_zoomed_page_has_all_views_in_sight_and_room_for_graph_and_value(tap: TapPage, site: Site) -> None:
    page = tap.page
    page.set_viewport_size({"width": 720, "height": 450})
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.go_to(site, "digits-nan", f"{RELU}:0", tap.step())
    views = page.get_by_label("View", exact=True).get_by_role("button")
    expect(views).to_have_count(9)
    edge = box(page.locator(".centre"))["right"]
    assert all(box(view)["right"] <= edge for view in views.all())
    expect(page.locator(".graph-legend-title")).to_have_attribute("aria-expanded", "false")
    page.get_by_role("tab", name="Value").click()
    tap.wait_until_ready()
    assert box(page.locator(".tab-body.fill"))["height"] >= 340
    body = page.locator(".panel-body").evaluate(
        """body => {
            body.scrollTo(0, body.scrollHeight);
            return [body.scrollTop, body.scrollHeight - body.clientHeight];
        }"""
    )  # at once, because the body grows when more of the value arrives
    assert body[0] == body[1] > 0
