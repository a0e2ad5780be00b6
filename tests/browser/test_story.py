"""A story: one HTML file, opened from the disk without a network; and the Share menu that saves it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser_page import AXE, READY, TapPage, violations
from browser_site import Site
from playwright.sync_api import Browser, Page, Route, expect

from tensortap.__main__ import main
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

ORIGIN = "compile_loss/_careless_loss/Log"


@pytest.fixture(scope="module")
def story(demo_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stories") / "digits-nan.html"
    assert main(["story", str(demo_logs / "digits-nan"), "--out", str(out)]) == 0
    return out


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A page of a browser that reaches nothing but files; what it logs or asks for besides fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    complaints: list[str] = []
    context.on("console", lambda message: complaints.append(message.text))
    context.on("weberror", lambda error: complaints.append(f"thrown: {error.error}"))

    def refuse(route: Route) -> None:
        complaints.append(f"asked for {route.request.url}")
        route.abort()

    context.route(re.compile("^(https?|wss?):"), refuse)
    yield context.new_page()
    context.close()
    assert complaints == []


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """A story of the run `a` compared with `b`, in which the second of two nodes computes something else."""
    nodes = (Node("x", "Relu"), Node("y", "Exp", inputs=("x",)))
    for run, factor in (("a", 1.0), ("b", 2.0)):
        with DumpWriter(tmp_path / "logs", run=run) as writer:
            graph = writer.graph(Graph("g", nodes))
            for step in range(2):
                writer.log("x:0", np.ones(8, np.float32), step=step, graph=graph)
                writer.log("y:0", np.full(8, factor, np.float32), step=step, graph=graph)
    out = tmp_path / "compared.html"
    runs = [str(tmp_path / "logs" / "a"), "--compare", str(tmp_path / "logs" / "b")]
    assert main(["story", *runs, "--out", str(out)]) == 0
    return out


def open_story(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    page.wait_for_function(READY)


def test_the_nan_leads_to_its_line_histogram_and_values(offline: Page, story: Path) -> None:
    open_story(offline, story)
    expect(offline.get_by_test_id("story-banner")).to_contain_text("A story of digits-nan")
    card = offline.get_by_test_id("origin-card").first
    expect(card).to_contain_text("log(0) = -inf")
    card.get_by_role("button", name=f"{ORIGIN}:0").first.click()
    tap = TapPage(offline)
    tap.expect_inspected(ORIGIN)
    tap.show_tab("source")
    expect(offline.get_by_test_id("inspector")).to_contain_text("tf.math.log(probabilities)")
    tap.show_tab("histogram")
    expect(offline.locator("figure.plot.js-plotly-plot").first).to_be_visible()
    tap.show_tab("value")
    cells = tap.value_cells()
    assert any("inf" in text.lower() or "∞" in text for text in cells.values()), cells
    assert len(cells) > 10


def test_a_story_opens_on_the_comparison_that_it_holds(offline: Page, compared: Path) -> None:
    open_story(offline, compared)
    table = offline.get_by_test_id("compare-table")
    expect(table).to_contain_text("y")
    expect(offline.get_by_test_id("first-divergence")).to_contain_text("y")
    expect(offline.get_by_test_id("error-state")).to_have_count(0)


def test_a_story_sorts_and_filters_as_the_server_does(
    tap: TapPage, site: Site, offline: Page, story: Path
) -> None:
    tap.enter(site)
    open_story(offline, story)
    run = tap.run_id("digits-nan")
    for asked in ("sort=flow", "sort=tensor", "sort=-tensor&match=conv"):  # no ties
        link = f"#run={run}&view=table&step=25&{asked}"
        found = []
        for page in (tap.page, offline):
            address = page.url.partition("#")[0]
            page.goto("about:blank")  # else rows of the view before may still stand there
            page.goto(f"{address}{link}")
            page.wait_for_function(READY)
            rows = page.get_by_test_id("tensor-row")
            expect(rows.first).to_be_visible()
            names: list[str] = rows.evaluate_all("all => all.slice(0, 12).map(row => row.dataset.tensor)")
            found.append(names)
        assert found[0] == found[1] and len(found[0]) >= 10, asked


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_a_story(browser: Browser, story: Path, theme: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True, offline=True)
    page = context.new_page()
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    open_story(page, story)
    page.add_script_tag(path=AXE)
    assert violations(TapPage(page)) == []
    context.close()


@pytest.mark.parametrize("view", ["layers", "graph", "table", "timeline", "source"])
def test_every_view_is_drawn(offline: Page, story: Path, view: str) -> None:
    open_story(offline, story)
    run = offline.evaluate("() => new URLSearchParams(location.hash.slice(1)).get('run')")
    offline.goto(f"{story.as_uri()}#run={run}&view={view}")
    offline.wait_for_function(READY)
    expect(offline.get_by_test_id("error-state")).to_have_count(0)
    if view in ("layers", "graph"):
        assert len(TapPage(offline).drawn_nodes()) > 3
    if view == "table":
        expect(offline.get_by_test_id("tensor-row").first).to_be_visible()


def test_a_story_counts_its_steps_and_offers_the_filters_that_it_can_answer(
    offline: Page, story: Path
) -> None:
    open_story(offline, story)
    offline.goto(f"{story.as_uri()}#run=digits-nan&view=table")
    offline.wait_for_function(READY)
    chips = offline.get_by_role("group", name="Quick filters").get_by_role("button")
    expect(chips).to_have_text(["NaN/Inf", "Largest first"])
    expect(offline.get_by_test_id("table-where")).to_have_count(0)
    layers = offline.locator(".table-toolbar select").last
    before = offline.get_by_test_id("table-total").inner_text()
    layers.select_option(index=1)
    expect(offline.get_by_test_id("table-total")).not_to_have_text(before)
    expect(offline.get_by_test_id("run-summary")).to_contain_text(re.compile(r"Steps\d+ of 30, from 0 to 29"))


def test_the_share_menu_saves_a_story_with_notes_and_a_run_that_the_viewer_opens(
    tap: TapPage, site: Site, offline: Page, tmp_path: Path
) -> None:
    page = tap.page
    tap.enter(site)
    tap.go_to(site, "digits-nan", f"{ORIGIN}:0", 25)
    page.get_by_test_id("bookmarks").click()
    page.get_by_role("button", name="Bookmark this view").click()
    page.get_by_label(re.compile("^Name and note of")).click()
    page.get_by_role("textbox", name="Note", exact=True).fill("here it begins</script>")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_test_id("share").click()
    expect(page.get_by_test_id("share-loopback")).to_be_visible()
    expect(page.locator(".share-popover")).to_contain_text(re.compile(r"ssh -L \d+:localhost:\d+ USER@HOST"))
    with page.expect_download(timeout=120_000) as story:
        page.get_by_test_id("save-story").click()
    story.value.save_as(tmp_path / "story.html")
    expect(page.get_by_test_id("share-status")).to_contain_text("Saved digits-nan_story.html")
    with page.expect_download(timeout=120_000) as packed:
        page.get_by_role("button", name="Step 25").click()
    packed.value.save_as(tmp_path / "part.tap.zip")

    open_story(offline, tmp_path / "story.html")
    TapPage(offline).expect_inspected(ORIGIN)
    TapPage(offline).expect_step(25)
    offline.get_by_test_id("bookmarks").click()
    expect(offline.locator(".bookmark-note")).to_have_text("here it begins</script>")

    viewer = tmp_path / "viewer.html"
    viewer.write_bytes(page.request.get(f"{site.url}viewer.html").body())
    offline.goto(viewer.as_uri())
    expect(offline.get_by_test_id("open-file")).to_be_visible()
    offline.get_by_label("Choose a .tap.zip").set_input_files(story_of_nothing(tmp_path))
    expect(offline.get_by_role("alert")).to_contain_text("This is not a .tap.zip")
    offline.get_by_label("Choose a .tap.zip").set_input_files(tmp_path / "part.tap.zip")
    offline.wait_for_function(READY)
    expect(offline.get_by_test_id("story-banner")).to_contain_text("digits-nan")
    TapPage(offline).expect_step(25)
    # Another file of a run with this id would be shown with what was cached of the first.
    with offline.expect_event("dialog") as dialog:
        drop(offline, tmp_path / "part.tap.zip")
    assert "has shown another file of run digits-nan" in dialog.value.message
    dialog.value.dismiss()


def drop(page: Page, file: Path) -> None:
    """Drops a file on the page."""
    page.evaluate(
        """([name, data]) => {
            const files = new DataTransfer();
            files.items.add(new File([Uint8Array.from(atob(data), char => char.charCodeAt(0))], name));
            const what = {bubbles: true, cancelable: true, dataTransfer: files};
            document.body.dispatchEvent(new DragEvent('drop', what));
        }""",
        [file.name, base64.b64encode(file.read_bytes()).decode()],
    )


def story_of_nothing(folder: Path, name: str = "text.zip") -> Path:
    path = folder / name
    path.write_text("no archive")
    return path


@pytest.mark.parametrize("format_name", ["PNG", "SVG"])
def test_the_layers_are_saved_as_an_image(tap: TapPage, site: Site, tmp_path: Path, format_name: str) -> None:
    page = tap.page
    tap.enter(site)
    page.goto(f"{site.url}#run={tap.run_id('digits')}&view=layers")
    tap.wait_until_ready()
    page.get_by_test_id("share").click()
    with page.expect_download() as image:
        page.get_by_role("button", name=format_name, exact=True).first.click()
    path = tmp_path / "image"
    image.value.save_as(path)
    data = path.read_bytes()
    if format_name == "PNG":
        assert data.startswith(b"\x89PNG") and len(data) > 5000
    else:
        assert b"<svg" in data and b"conv1" in data


def test_a_file_dropped_on_a_page_with_a_server_is_not_opened_and_the_page_says_how(
    tap: TapPage, site: Site, tmp_path: Path
) -> None:
    tap.enter(site)
    drop(tap.page, story_of_nothing(tmp_path, "run.tap.zip"))
    said = tap.page.get_by_test_id("dropped")
    expect(said).to_contain_text("tensortap serve run.tap.zip")
    with tap.page.expect_download() as download:
        said.get_by_role("link", name="static viewer").click()
    assert download.value.suggested_filename == "tensortap-viewer.html"
    said.get_by_role("button", name="Dismiss").click()
    expect(said).to_have_count(0)
