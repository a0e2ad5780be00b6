"""Names and paths that are hard to show: overlong ones, and ones with words that run from right to left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

LONG = "o" * 240 + "/" + "e" * 240
WORD = "\u05e9\u05dc\u05d5\u05dd"
FILE = f"/home/src/{WORD} #?%2F.py"


@pytest.fixture
def site(serve: Serve, tmp_path: Path) -> Site:
    """A run in which the logarithm of zeros is taken, of a tensor with an overlong name."""
    nodes = [
        Node("x", "Placeholder", output_dtypes=["float32"]),
        Node(LONG, "Relu", inputs=["x:0"], output_dtypes=["float32"]),
        Node("Log", "Log", inputs=[f"{LONG}:0"], stack=0, output_dtypes=["float32"]),
    ]
    values = {"x": [-1.0, 2.0], LONG: [0.0, 2.0], "Log": [-np.inf, np.log(2.0)]}
    with DumpWriter(tmp_path, "names") as writer:
        graph = writer.graph(Graph("train", nodes, stacks=[[(FILE, 19, "train")]], sources={FILE: "1\n"}))
        for name, value in values.items():
            array = np.array(value, np.float32)
            writer.log(f"{name}:0", array, step=1, graph=graph, keep="value")
    return serve(tmp_path)


def test_overlong_names_leave_room_for_what_is_said(tap: TapPage, site: Site) -> None:
    """GIVEN an origin behind a name of 481 letters THEN it is cut; tooltip and copy have all of it."""
    tap.enter(site)
    select = "word => { getSelection().selectAllChildren(word); return getSelection().toString() }"
    for testid, key in (("origin", "w"), ("origin-card", "Shift")):
        cut = tap.page.get_by_test_id(testid).locator(".cut-word").first
        expect(cut).to_have_attribute("title", f"{LONG}:0")
        assert cut.evaluate("word => word.getBoundingClientRect().height") < 80
        assert cut.evaluate(select) == f"{LONG}:0"
        tap.page.keyboard.press(key)
    numbers = tap.page.locator(".operands td.num").last
    expect(numbers).to_contain_text("1 zero")
    assert numbers.evaluate("cell => cell.getBoundingClientRect().height") < 60


def test_words_from_right_to_left_turn_nothing_around_them(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    expect(tap.page.get_by_test_id("origin").locator("bdi")).to_have_text(WORD)
    tap.page.keyboard.press("w")
    link = tap.page.get_by_test_id("origin-card").get_by_title("Show the source")
    expect(link.locator("bdi")).to_have_text(WORD)
    after = """link => {
        const [text] = [...link.childNodes].filter(node => node.data?.includes('%2F'));
        const x = letter => {
            const range = document.createRange(), at = text.data.indexOf(letter);
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            return range.getBoundingClientRect().x;
        };
        return ['#', '%', '2', 'F'].map(x);
    }"""
    places = link.evaluate(after)
    assert places == sorted(places)


def test_a_dot_behind_an_overlong_name_stays_in_its_cell(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.page.get_by_role("button", name="Tensors", exact=True).click()
    cell = tap.page.get_by_test_id("tensor-row").filter(has_text="oooo").locator("td").first
    inside = """cell => {
        const [dot, box] = [cell.querySelector('.kept-mark'), cell].map(each => each.getBoundingClientRect());
        return dot.width === 6 && dot.right <= box.right;
    }"""
    assert cell.evaluate(inside)


def test_an_overlong_input_leaves_room_for_its_dtype(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.go_to(site, "names", "Log:0", 1)
    row = tap.page.get_by_test_id("inputs").locator(".link-row")
    apart = """row => {
        const [name, dtype] = [...row.children].map(each => each.getBoundingClientRect());
        const label = row.querySelector('.label-part').getBoundingClientRect();
        return label.right <= dtype.left && name.right <= dtype.left;
    }"""
    assert row.evaluate(apart)


def test_infinity_has_its_colour_and_the_top_level_its_name(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    expect(tap.page.get_by_test_id("origin")).to_have_attribute("data-bad", "inf")
    expect(tap.page.get_by_test_id("problem").first).to_contain_text("(root)")
    tap.page.keyboard.press("w")
    badge = tap.page.locator(".problems-head .severity").first
    expect(badge).to_have_text("Infinity")
    expect(badge).to_have_attribute("data-bad", "inf")


def test_the_nan_of_one_branch_is_not_folded_behind_the_infinity_of_another(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    nodes = [
        Node("x", "Placeholder", output_dtypes=["float32"]),
        Node("side/Exp", "Exp", inputs=["x:0"], output_dtypes=["float32"]),
        Node("while/Log", "Log", inputs=["x:0"], output_dtypes=["float32"]),
    ]
    values = {"x": [100.0, -1.0], "side/Exp": [np.inf, np.exp(-1)], "while/Log": [np.log(100.0), np.nan]}
    with DumpWriter(tmp_path, "two") as writer:
        graph = writer.graph(Graph("train", nodes))
        for name, value in values.items():
            writer.log(f"{name}:0", np.array(value, np.float32), step=1, graph=graph, keep="value")
    tap.enter(serve(tmp_path))
    tap.page.keyboard.press("w")
    expect(tap.page.get_by_test_id("origin-card")).to_have_attribute("data-node", "side/Exp")
    expect(tap.page.get_by_test_id("origin-card").locator(".origins li")).to_be_visible()
