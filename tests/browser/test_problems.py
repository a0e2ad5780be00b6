"""The demo's second run ends in NaN: the page says where it began."""

from __future__ import annotations

import re
from pathlib import Path

from browser_page import TapPage
from browser_site import Serve, Site
from nan_programs import X, in_a_loop
from playwright.sync_api import Route, expect

import tensortap
from tensortap import Tap, Watch, every


def test_list_leads_to_the_first_nan(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits-nan")
    problem = tap.page.get_by_test_id("problem").first
    expect(problem).to_be_visible()
    node, step = problem.get_attribute("data-node"), problem.get_attribute("data-step")
    assert node is not None and step is not None
    problem.click()
    tap.expect_inspected(node)
    tap.expect_step(int(step))
    wait_until_drawn(tap, node, nonfinite=True)
    assert tap.page.evaluate("name => window.tensortap.nodeState(name).selected", node) is True

    run = tensortap.open(site.logdir).runs["digits-nan"]
    first = run.tensor(f"{node}:0", step=int(step)).summary
    assert first.nan + first.pos_inf + first.neg_inf > 0


def test_what_is_not_known_yet_is_not_reported(tap: TapPage, site: Site) -> None:
    """GIVEN answers that take long THEN neither is the run called healthy, nor its first NaN the culprit."""
    tap.enter(site)
    tap.choose_run("digits")
    held: list[Route] = []
    tap.page.route("**/problems", lambda route: held.append(route))
    for unanswered in ("**/nan", "**/findings"):  # what rules find is told as soon as it is known
        tap.page.route(unanswered, lambda _route: None)
    with tap.page.expect_request("**/problems"), tap.page.expect_request("**/nan"):
        tap.choose_run("digits-nan")
    badge = tap.page.get_by_test_id("problems-toggle")
    expect(badge).to_have_text("Counting NaN/Inf…")
    expect(tap.page.get_by_text("No NaN, no Inf")).to_have_count(0)
    held[-1].continue_()
    expect(badge).to_contain_text("NaN/Inf tensor")
    expect(tap.page.locator(".problem-first")).to_contain_text("Analysing")


def test_bad_nodes_are_red_on_the_canvas(tap: TapPage, site: Site) -> None:
    """A node with NaN is drawn in red, and not at a step where it had none."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    problem = tap.page.get_by_test_id("problem").filter(has_text="NaN").first
    node = problem.get_attribute("data-node")
    problem.click()
    tap.expect_inspected(str(node))
    wait_until_drawn(tap, str(node), nonfinite=True)
    assert is_red(colour(tap, str(node)))
    tap.page.get_by_test_id("step-slider").press("Home")
    tap.expect_step(0)
    wait_until_drawn(tap, str(node), nonfinite=False)
    assert not is_red(colour(tap, str(node)))


def test_the_origin_is_explained_and_its_chain_leads_on(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits-nan")
    expect(tap.page.get_by_test_id("origin")).to_contain_text("log(0) = -inf")
    expect(tap.page.get_by_test_id("finding").first).to_be_visible()
    tap.page.get_by_test_id("chain-link").last.click()
    tap.expect_inspected("compile_loss/_careless_loss/div_no_nan")


def test_the_card_of_the_home_page_leads_to_the_first_bad_step(tap: TapPage, site: Site) -> None:
    """GIVEN any step WHEN title, tensor and line of the card are clicked THEN each leads to what it names."""
    tap.page.goto(f"{site.start_url}#run=digits-nan")
    card = tap.page.get_by_test_id("origin")
    title = card.get_by_test_id("origin-title")
    step = int(re.search(r"at step (\d+)", title.inner_text())[1])  # type: ignore[index]
    tap.page.get_by_test_id("step-slider").press("Home")
    title.click()
    tap.expect_inspected("compile_loss/_careless_loss/Log")
    tap.expect_step(step)
    tap.unselect()
    card.locator(".inline-link").first.click()
    tap.expect_step(step)
    expect(tap.page.get_by_test_id("inspector")).to_be_visible()
    tap.unselect()
    card.locator(".place .link").click()
    expect(tap.page.get_by_test_id("tab-source")).to_have_attribute("aria-selected", "true")


def test_a_healthy_run_has_no_problems(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits")
    expect(tap.page.get_by_test_id("problems-toggle")).to_contain_text("All finite")


def test_the_page_of_problems_tells_the_truth_first(tap: TapPage, site: Site) -> None:
    """Key w: reason, evidence and advice; the chain is drawn on the graph; a muted rule stays muted."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.page.keyboard.press("w")
    card = tap.page.get_by_test_id("origin-card")
    expect(card.locator("h3").first).to_have_text(
        re.compile(r"^Infinity originates at step \d+ in compile_loss/_careless_loss/Log$")
    )
    expect(card).to_contain_text("log(0) = -inf")
    expect(card).to_contain_text("Suggested fix")
    tap.page.set_viewport_size({"width": 1024, "height": 700})
    line = card.locator(".place code")
    expect(line).to_contain_text("# 0 · log 0 = NaN")
    whole = "line => line.scrollWidth <= line.clientWidth && line.scrollHeight <= line.clientHeight"
    assert line.evaluate(whole)
    groups = tap.page.get_by_test_id("finding-group")
    expect(groups.first).to_be_visible()
    reported = groups.evaluate_all("all => all.map(one => one.innerText.split('\\n').filter(line => line))")
    assert all(len(set(lines)) == len(lines) for lines in reported), "a sentence stands there twice"
    rule = groups.first.locator(".rule-title").inner_text()
    groups.first.get_by_role("button", name="Mute").click()
    expect(tap.page.locator("summary").filter(has_text=f"Muted: {rule}")).to_be_visible()
    tap.page.reload()
    expect(tap.page.locator("summary").filter(has_text=f"Muted: {rule}")).to_be_visible()
    links = card.locator(".chain-link")
    expect(links.nth(1)).to_be_visible()
    titles = links.evaluate_all("all => all.map(link => link.title)")
    path = [title.rpartition(":")[0] for title in titles]
    tap.page.get_by_test_id("show-chain").click()
    tap.expect_inspected("compile_loss/_careless_loss/Log")
    expect(tap.page.get_by_test_id("chain")).to_have_attribute("aria-checked", "true")
    drawn = "path => path.every(node => window.tensortap.nodes().includes(node))"
    tap.page.wait_for_function(drawn, arg=path)  # all scopes on it are open


def test_an_origin_in_a_loop_is_shown_at_its_visit(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    """The first iteration is finite: the origin, and the path from it, link to the iterations they name."""
    with Tap(tmp_path / "loop", watch=Watch(steps=every(1), keep="value")) as taken:
        taken.function(in_a_loop)(X)
    site = serve(tmp_path)
    tap.enter(site)
    tap.page.keyboard.press("w")
    card, visit = tap.page.get_by_test_id("origin-card"), tap.page.get_by_test_id("visit-picker")
    expect(card.locator("h3").first).to_have_text("Infinity originates at step 0 (iteration 2) in while/Exp")
    card.get_by_test_id("origin-title").click()
    tap.expect_inspected("while/Exp")
    expect(visit).to_have_value("2")
    way_back = card.locator(".led-back li", has_text="while/mul:0")
    expect(way_back.nth(0)).to_contain_text("while/mul:0 (iteration 1) = 695.6")
    expect(way_back.nth(1)).to_contain_text("while/mul:0 = 6.65")
    way_back.first.get_by_role("button").click()
    tap.expect_inspected("while/mul")
    expect(visit).to_have_value("1")
    card.get_by_role("button", name="while/Identity_3:0 (iteration 1)").first.click()
    tap.expect_inspected("while/Identity_3")
    expect(visit).to_have_value("1")
    tap.page.get_by_test_id("show-chain").click()
    tap.expect_inspected("while/Exp")
    expect(visit).to_have_value("2")
    # Where no visit is named, as by a click on the graph, it is the first that is bad.
    tap.go_to(site, "loop", "while/Exp:0", 0)
    expect(visit).to_have_value("2")
    visit.select_option("0")
    expect(visit).to_have_value("0")


def test_a_healthy_run_is_reported_so(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits")
    tap.page.get_by_test_id("problems-toggle").click()
    expect(tap.page.get_by_test_id("problems-page")).to_contain_text(re.compile(r"\d\d rules"))
    expect(tap.page.get_by_test_id("origin-card")).to_have_count(0)


def test_steps_with_nan_are_marked_in_the_strip(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.choose_run("digits-nan")
    expect(tap.page.get_by_test_id("health-strip").locator("[data-health=nan]").first).to_be_visible()


def wait_until_drawn(tap: TapPage, node: str, *, nonfinite: bool) -> None:
    """Waits until the canvas shows the node with this health: scopes open, and colours come, later."""
    wanted = "([name, bad]) => window.tensortap.nodeState(name)?.nonfinite === bad"
    tap.page.wait_for_function(wanted, arg=[node, nonfinite])


def colour(tap: TapPage, node: str) -> tuple[float, ...]:
    """Red, green and blue of a node's fill, as the browser understands the colour."""
    script = """name => {
        const context = document.createElement('canvas').getContext('2d');
        context.fillStyle = window.tensortap.nodeState(name).color;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data];
    }"""
    return tuple(tap.page.evaluate(script, node)[:3])


def is_red(rgb: tuple[float, ...]) -> bool:
    red, green, blue = rgb
    return red > max(green, blue) + 25 and abs(green - blue) < 15  # amber has far more green than blue
