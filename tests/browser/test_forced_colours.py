"""Contrast themes, which take all backgrounds away: what is chosen, on or bad is told all the same."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import Locator, expect


def background(place: Locator, pseudo: str = "") -> str:
    return str(
        place.evaluate(
            "(e, pseudo) => { const s = getComputedStyle(e, pseudo || null);"
            " return s.backgroundColor + s.backgroundImage; }",
            pseudo,
        )
    )


def test_what_is_told_by_colour_is_told_in_forced_colours(tap: TapPage, site: Site) -> None:
    """GIVEN forced colours THEN the chosen view differs from the others, a switch that is on from one that
    is off, and the strip of the steps keeps the colours of its data."""
    page = tap.page
    page.emulate_media(forced_colors="active")
    tap.enter(site)
    tap.choose_run("digits-nan")
    views = page.get_by_label("View", exact=True)
    chosen, other = (views.get_by_role("button", name=name, exact=True) for name in ("Graph", "Tensors"))
    assert background(chosen) != background(other)
    switch = page.get_by_role("switch", name="NaN's way")
    before = background(switch, "::before")
    on = switch.get_attribute("aria-checked")
    switch.click()
    expect(switch).not_to_have_attribute("aria-checked", on or "")
    assert background(switch, "::before") != before
    adjust = "e => getComputedStyle(e).forcedColorAdjust"
    assert page.locator(".strip-cells").evaluate(adjust) == "none"
