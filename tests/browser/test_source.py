"""The user's program beside the nodes that its lines made."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect

LOG = "compile_loss/_careless_loss/Log"


def test_from_the_node_to_its_line_and_back(tap: TapPage, site: Site) -> None:
    """The line of the selected node is marked; its nodes lead on; the link holds the line."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.go_to(site, "digits-nan", f"{LOG}:0", tap.step())
    tap.page.get_by_label("View", exact=True).get_by_role("button", name="Source").click()
    view = tap.page.get_by_test_id("source-view")
    line = view.locator("[data-line][data-current=true]")
    expect(line).to_contain_text("tf.math.log(probabilities)")
    expect(line.locator("[data-health]")).to_have_attribute("data-health", "nan")
    line.click()
    nodes = view.get_by_test_id("source-node")
    expect(nodes.filter(has_text=LOG)).to_have_attribute("data-selected", "true")
    nodes.last.click()
    expect(nodes.last).to_have_attribute("data-selected", "true")
    number = line.get_attribute("data-line")
    tap.page.reload()
    expect(line).to_have_attribute("data-line", str(number))
