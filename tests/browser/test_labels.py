"""Buttons that stand there once a tensor or line: a screen reader tells them apart."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, expect

LABELS = "buttons => buttons.map(button => button.ariaLabel ?? button.innerText)"
TENSORS = ("digits_1/conv1_1/Relu:0", "digits_1/conv2_1/Relu:0")


def expect_apart(buttons: Locator) -> None:
    labels = buttons.evaluate_all(LABELS)
    assert len(labels) > len(TENSORS)
    assert sorted(set(labels)) == sorted(labels)


def test_side_by_side_every_button_names_its_tensor(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", TENSORS[1], 20)
    tap.page.evaluate("pin => { location.hash += `&pins=${encodeURIComponent(pin)}&enlarged=1` }", TENSORS[0])
    columns = tap.page.get_by_test_id("side-by-side")
    expect(columns.get_by_role("button", name="Show the histograms of")).to_have_count(2)
    expect_apart(columns.get_by_role("button").or_(tap.page.get_by_test_id("pinned").get_by_label("Unpin")))


def test_in_source_every_button_names_its_line(tap: TapPage, site: Site) -> None:
    tap.enter(site)
    tap.go_to(site, "digits", TENSORS[0], 20)
    tap.show_tab("source")
    expect(tap.page.get_by_role("button", name="Nodes of the line").first).to_be_visible()
    expect_apart(tap.page.locator(".stack button"))


def test_the_columns_menu_ticks_the_columns_of_the_table(tap: TapPage, site: Site) -> None:
    page = tap.page
    page.goto(f"{site.start_url}#run=digits&view=table")
    tap.wait_until_ready()
    expect(page.get_by_test_id("tensor-row").first).to_be_visible()
    page.get_by_test_id("table-columns").click()
    menu = page.locator(".columns-menu")
    ticked = menu.locator("label", has=page.locator("input:checked")).all_inner_texts()
    heads = page.get_by_test_id("tensor-table").locator("thead th").all_inner_texts()
    assert {text.strip() for text in ticked} - {"Auto (fit width)"} == set(heads) - {"Tensor"}
    menu.get_by_label("Max |x|").uncheck()
    expect(page.get_by_test_id("tensor-table").locator("thead")).not_to_contain_text("Max |x|")
    expect(menu.get_by_label("Auto (fit width)")).not_to_be_checked()
