"""The timeline leads to the step and the node at which a run turned bad."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect

import tensortap


def test_a_bad_cell_leads_to_its_step_and_node(tap: TapPage, site: Site) -> None:
    """GIVEN a run that went NaN WHEN its reddest row is followed down THEN step and node are the dump's."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.page.get_by_role("button", name="Timeline").click()
    rows = tap.page.get_by_test_id("timeline-row")
    bad = rows.and_(tap.page.locator("[data-health=nan]")).first
    expect(bad).to_be_visible()
    tap.wait_until_ready()
    while bad.locator(".faint").count():  # a scope says how many nodes it has
        path = bad.get_attribute("data-path") or ""
        bad.click()
        expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
        tap.wait_until_ready()
    bad.click()
    node = tap.page.get_by_test_id("inspector").get_attribute("data-node") or ""
    run = tensortap.open(site.logdir).runs["digits-nan"]
    steps = [found.step for found in run.find(where="nan > 0") if found.name.rpartition(":")[0] == node]
    assert f", NaN from step {min(steps)}" in (bad.text_content() or "")


def test_an_address_opens_the_timeline_of_a_scope(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits")
    tap.page.get_by_role("button", name="Timeline").click()
    scope = tap.page.get_by_test_id("timeline-row").filter(has=tap.page.locator(".faint")).first
    path = scope.get_attribute("data-path") or ""
    scope.click()
    expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
    tap.page.reload()
    tap.wait_until_ready()
    expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", path)
    tap.page.get_by_role("button", name="All scopes").click()
    expect(tap.page.get_by_test_id("timeline")).to_have_attribute("data-scope", "")
