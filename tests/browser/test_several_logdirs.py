"""A server of several log directories, in which runs have the same names."""

from __future__ import annotations

import re
from pathlib import Path

from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import Route, expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter


def test_runs_of_one_name_are_distinguished(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    """GIVEN two log directories of one name that hold runs of one name WHEN the page is asked for a run of
    that name THEN it asks which, and calls each after its directory wherever it is named."""
    folders = [tmp_path / study / "logs" for study in ("may", "june")]
    for folder in folders:
        for run in ("cnn", folder.parent.name):
            with DumpWriter(folder, run) as writer:
                writer.graph(Graph("of the run", [Node(f"{folder.parent.name}/{run}", "Const")]))
    page = tap.page
    site = serve(folders[0], str(folders[1]))
    tap.enter(site)
    page.goto(f"{site.url}#run=cnn")
    asking = page.get_by_test_id("error-state")
    expect(asking).to_contain_text("2 runs have the name cnn")
    asking.get_by_role("button", name="june/logs/cnn").click()
    expect(page.get_by_test_id("run-picker")).to_have_text("june/logs/cnn")
    expect(page).to_have_title("june/logs/cnn · tensortap")
    heading = page.get_by_test_id("run-summary").get_by_role("heading", level=2)
    expect(heading).to_have_text("june/logs/cnn")

    page.get_by_test_id("run-picker").click()
    rows = page.get_by_test_id("run-row")
    expect(rows).to_have_count(4)
    page.get_by_label("Search runs").fill("may/logs/")
    expect(rows).to_have_count(2)
    for row in rows.all():
        expect(row).to_contain_text("may/logs · ")
    rows.filter(has_text=re.compile("^cnn")).click()
    expect(page.get_by_test_id("run-picker")).to_have_text("may/logs/cnn")

    page.get_by_role("button", name="Compare", exact=True).click()
    runs = page.get_by_test_id("compare-run").locator("option")
    expect(runs.filter(has_text="/cnn")).to_have_text(["june/logs/cnn", "may/logs/cnn"])


def test_a_log_directory_that_cannot_be_looked_into_is_reported(tap: TapPage, site: Site) -> None:
    """GIVEN runs, and a folder that the server may not read THEN the page names it, as long as that is so, or
    until it is put away."""
    shut = [{"folder": "june\u202e/logs", "reason": "Permission denied", "hint": "Let the user read it"}]

    def tell(route: Route) -> None:
        asked = {name: value for name, value in route.request.headers.items() if name != "if-none-match"}
        answer = route.fetch(headers=asked)
        route.fulfill(response=answer, json=answer.json() | {"unread": shut, "unread_count": len(shut)})

    tap.page.route(re.compile(r"/api/(runs$|changes\b)"), tell)
    tap.enter(site)
    bar = tap.page.get_by_test_id("unread")
    expect(bar).to_contain_text("cannot be read: Permission denied")
    expect(bar).not_to_contain_text("\u202e")
    bar.get_by_role("button", name="Hide").click()
    expect(bar).to_have_count(0)
    shut.append(shut[0] | {"folder": "may/logs"})
    expect(bar).to_contain_text("and 1 other folder")
    shut.clear()
    expect(bar).to_have_count(0)
