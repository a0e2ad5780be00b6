"""Lists that are too long to be there whole."""

from __future__ import annotations

from browser_page import TapPage
from browser_site import Site
from playwright.sync_api import expect

# Types without a rest, each letter an event of its own; the requests that this made, answered or not.
TYPE = """async (field, text) => {
    const [fetched, asked] = [window.fetch, []];
    window.fetch = (address, ...rest) => {
        asked.push(String(address));
        return fetched(address, ...rest);
    };
    for (let end = 1; end <= text.length; end++) {
        field.value = text.slice(0, end);
        field.dispatchEvent(new InputEvent('input', {bubbles: true}));
        await new Promise(resolve => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = resolve;
            port2.postMessage(null);
        });
    }
    while (!location.hash.includes('match=')) await new Promise(resolve => requestAnimationFrame(resolve));
    window.fetch = fetched;
    return asked.filter(address => address.includes('match='));
}"""


def test_what_is_typed_fast_is_asked_for_now_and_then(tap: TapPage, site: Site) -> None:
    """WHEN a filter is typed without a rest THEN not every letter is a request, and all of it is found."""
    tap.enter(site)
    tap.choose_run("digits-nan")
    tap.page.get_by_label("View", exact=True).get_by_role("button", name="Tensors").click()
    rows, pattern = tap.page.get_by_test_id("tensor-row"), "gradient_tape/.*MatMul"
    expect(rows.first).to_be_visible()
    asked = tap.page.get_by_test_id("table-filter").evaluate(TYPE, pattern)
    assert 0 < len(asked) < len(pattern) / 2
    expect(rows.first).to_contain_text("gradient_tape/")
    expect(rows.filter(has_not_text="MatMul")).to_have_count(0)
