"""The user's program beside the nodes that its lines made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

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
    expect(tap.page.get_by_test_id("source-which")).to_contain_text("No file nowhere.py")
    tap.page.get_by_role("button", name=path, exact=True).click()
    expect(line).to_have_attribute("data-line", "7")
    expect(tap.page.get_by_test_id("source-file")).to_have_value(path)


def test_of_a_long_file_only_what_comes_near_is_drawn(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    """GIVEN a line far down WHEN it is shown THEN it is in view, and others are text until they come near."""
    lines = [f"x{line} = f{line}()" for line in range(1, 5001)]
    node = Node("net/Relu", "Relu", stack=0)
    graph = Graph("g", (node,), stacks=((("train.py", 4000, "f"),),), sources={"train.py": "\n".join(lines)})
    with DumpWriter(tmp_path, run="long") as writer:
        writer.log("net/Relu:0", np.ones(3, np.float32), step=0, graph=writer.graph(graph))
    site = serve(tmp_path)
    tap.enter(site)
    tap.page.goto(f"{site.url}#run=long&view=source&place=train.py:4000")
    text = tap.page.get_by_label("Program", exact=True)
    expect(text.locator("[data-current=true]")).to_be_in_viewport()
    expect(text.locator("[data-current=true]")).to_contain_text("x4000 = f4000()")
    expect(text.locator("[data-line='5000']")).to_have_count(0)
    expect(text).to_contain_text("x5000 = f5000()")
    assert text.locator("[data-line]").count() < 1000
    text.press("End")
    expect(text.locator("[data-line='5000']")).to_be_in_viewport()


def test_long_lines_are_wrapped(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    node = Node("net/Relu", "Relu", stack=0)
    code = "\n".join(f"x{line} = f({', '.join(['argument'] * 60)})" for line in range(200))
    graph = Graph("g", (node,), stacks=((("train.py", 150, "f"),),), sources={"train.py": code})
    with DumpWriter(tmp_path, run="wide") as writer:
        writer.log("net/Relu:0", np.ones(3, np.float32), step=0, graph=writer.graph(graph))
    site = serve(tmp_path)
    tap.enter(site)
    tap.page.goto(f"{site.url}#run=wide&view=source&place=train.py:150")
    text = tap.page.get_by_label("Program", exact=True)
    wide = "element => element.scrollWidth > element.clientWidth"
    expect(text.locator("[data-current=true]")).to_be_in_viewport()
    assert text.evaluate(wide)
    tap.page.get_by_test_id("source-wrap").click()
    expect(text).to_have_attribute("data-wrapped", "true")
    expect(text.locator("[data-current=true]")).to_be_in_viewport()
    assert not text.evaluate(wide)


def test_a_file_or_line_that_there_is_not_is_named(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.page.goto(f"{site.url}#place=nope.py:3")
    expect(tap.page.get_by_test_id("source-which")).to_contain_text("No file nope.py in this graph")
    tap.page.goto(f"{site.url}#place=demo_model.py:99999")
    expect(tap.page.get_by_test_id("no-line")).to_contain_text("The file has no line 99999; it has")
