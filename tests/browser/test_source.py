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
    expect(nodes.first.locator("[data-health]")).to_have_attribute("data-health", "nan")  # the worst first
    nodes.last.click()
    expect(nodes.last).to_have_attribute("data-selected", "true")
    number = line.get_attribute("data-line")
    tap.page.reload()
    expect(line).to_have_attribute("data-line", str(number))


def test_a_file_is_called_by_the_end_of_its_path_or_chosen(tap: TapPage, site: Site) -> None:
    """GIVEN an address with a file's name WHEN one file is called so THEN it shows, else the choice does."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.page.get_by_label("View", exact=True).get_by_role("button", name="Source").click()
    path = tap.page.get_by_test_id("source-file").input_value()
    expect(tap.page.locator("[data-line][data-made=true]").first).to_be_in_viewport()
    line = tap.page.locator("[data-line][data-current=true]")
    for name, found in ((path.rpartition("/")[2], True), ("nowhere.py", False)):
        tap.page.evaluate("place => location.hash = `view=source&run=digits-nan&place=${place}:7`", name)
        if found:
            expect(line).to_have_attribute("data-line", "7")
    expect(tap.page.get_by_test_id("source-which")).to_contain_text("No file called nowhere.py")
    tap.page.get_by_role("button", name=path, exact=True).click()
    expect(line).to_have_attribute("data-line", "7")
    expect(tap.page.get_by_test_id("source-file")).to_have_value(path)
