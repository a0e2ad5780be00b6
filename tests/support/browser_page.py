"""The page as a person uses it: what the browser tests click, type and read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from browser_site import Site
from playwright.sync_api import FrameLocator, Locator, Page, expect

# Everything is loaded, laid out and drawn; window.tensortap is the page's own probe of its canvas.
READY = "() => window.tensortap?.ready === true"
AXE = Path(__file__).resolve().parents[2] / "frontend/node_modules/axe-core/axe.min.js"
RUN_AXE = "() => axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)"
ON_CANVAS = """name => {
    const box = window.tensortap.node(name);
    if (box === null) return false;
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return top !== null && top.closest('[data-testid=graph]') !== null;
}"""


@dataclass(frozen=True)
class TapPage:
    """A browser's page that shows a server's runs."""

    page: Page

    def enter(self, site: Site) -> None:
        """Opens the graph of ops, by the address with the token, and waits until the page is quiet."""
        self.page.goto(f"{site.start_url}#view=graph&part=all")
        self.wait_until_ready()

    def go_to(self, site: Site, run: str, tensor: str, step: int) -> None:
        """Follows a deep link."""
        link = {"run": self.run_id(run), "tensor": tensor, "step": step}
        self.page.goto(site.url + "#" + "&".join(f"{key}={quote(str(value))}" for key, value in link.items()))
        self.expect_inspected(tensor.rpartition(":")[0])
        self.expect_step(step)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        self.page.wait_for_function(READY)

    def run_id(self, name: str) -> str:
        runs = self.page.evaluate("() => fetch('api/runs').then(answer => answer.json())")["runs"]
        (found,) = [run["id"] for run in runs if run["name"] == name]
        return str(found)

    def choose_run(self, name: str) -> None:
        picker = self.page.get_by_test_id("run-picker")
        picker.click()
        run_row(self.page, name).click()
        expect(picker).to_have_text(name)
        self.wait_until_ready()

    def search(self, text: str) -> None:
        """Types into the graph's search and goes to the first hit."""
        self.page.keyboard.press("/")
        box = self.page.get_by_test_id("search")
        expect(box).to_be_focused()
        box.fill(text)
        box.press("Enter")
        expect(self.page.get_by_role("status").filter(has_text=re.compile(r"^1 of \d"))).to_be_visible()
        self.wait_until_ready()

    def drawn_nodes(self) -> list[str]:
        """Names of the nodes and paths of the scopes that the canvas shows now."""
        self.page.wait_for_function("() => window.tensortap.nodes().length > 0")
        names: list[str] = self.page.evaluate("() => window.tensortap.nodes()")
        return names

    def click_on_canvas(self, name: str) -> None:
        """Clicks where the canvas shows the node, once nothing lies over it."""
        self.page.wait_for_function(ON_CANVAS, arg=name)
        box = self.page.evaluate("name => window.tensortap.node(name)", name)
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def unselect(self) -> None:
        self.page.get_by_label("Close (Esc)").click()
        expect(self.page.get_by_test_id("inspector")).to_have_count(0)

    def expect_inspected(self, node: str) -> None:
        expect(self.page.get_by_test_id("inspector")).to_have_attribute("data-node", node)

    def show_tab(self, name: str) -> None:
        """Opens a tab of the node's panel: `overview`, `history`, `histogram`, `value`, `source`."""
        self.page.get_by_test_id(f"tab-{name}").click()

    def step(self) -> int:
        """The step on show."""
        return int(self.page.get_by_test_id("step-label").get_attribute("data-step") or "")

    def expect_step(self, step: int) -> None:
        expect(self.page.get_by_test_id("step-label")).to_have_attribute("data-step", str(step))

    def statistic(self, name: str) -> float:
        """The full number behind a statistic of the overview."""
        title = self.page.get_by_test_id(f"statistic-{name}").get_attribute("title") or ""
        return float(title.rpartition("= ")[2])

    def value_cells(self) -> dict[tuple[int, ...], str]:
        """Index -> text of the cells of the value's table that are drawn."""
        cells = self.page.get_by_test_id("value-cell")
        expect(cells.first).to_be_visible()
        read = "cells => cells.map(cell => [cell.dataset.index, cell.textContent])"
        return {tuple(map(int, index.split(","))): text for index, text in cells.evaluate_all(read)}


def run_row(page: Page | FrameLocator, name: str) -> Locator:
    """The row of a run in the run menu."""
    exactly = re.compile(rf"^{re.escape(name)}$")
    label = page.locator(".long-name").filter(has_text=exactly)
    return page.get_by_test_id("run-row").filter(has=label)


def violations(tap: TapPage) -> list[str]:
    """What axe-core, which was put into the page, complains about."""
    found = tap.page.evaluate(RUN_AXE)
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"][:3]]
