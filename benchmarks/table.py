"""The list of tensors in a browser: how smoothly a million rows scroll, how soon they show and sort.

    python benchmarks/table.py [--rows 1000000] [--tensors 1000] [--logdir FOLDER] [--json FILE]

A run of that many snapshots is written (a minute or two; with `--logdir` it is kept there and found the next
time), served, and all its steps are listed by headless Chromium. `scrolling` is the time between frames while
each of them scrolls a few rows, `flying` while each of them jumps to another part of the list, `keys` while
the arrow or Page Down repeats 30 times per second and the panel follows, all at their 95th percentile; `CPU`
is what the browser's processes spend on a frame of scrolling, which a busy machine changes less. `rows there`
is how long after a jump the rows in view are drawn, `sorted` how long after a click on a head the first
of them are, `filtered` after a pattern or a condition; the server does both. Headless browsers draw
without a GPU.

Seen on two cores that other work kept busy (load 5; no GPU), a million rows: first rows 0.8 s, scrolling
48 ms (18 ms of CPU a frame; 31 before rows that stay were left alone), flying 23 ms, rows there 206 ms,
sorted 0.06 s, 269 MB.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _browser import FRAMES, chromium, renderers, runs_of, served
from _table import print_table
from playwright.sync_api import Browser, Page
from query import write_dump

_FIGURES = ["first rows s", "scrolling ms", "flying ms", "keys ms", "CPU ms", "rows there ms"]
_FIGURES += ["sorted s", "filtered s", "MB"]
_FILTERS = (("table-filter", "[0-9]7"), ("table-where", "std > 1"), ("table-filter", ""), ("table-where", ""))
_RUN = "rows"
_DEADLINE_S = 300

_PROBES = """
const table = () => document.querySelector('[data-testid=tensor-table]');
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
const first = () => document.querySelector('[data-testid=tensor-row]');
const drawn = () => first() !== null && document.querySelector('[data-pending=true]') === null;
const percentile = times => times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)];
const total = () => document.querySelector('[data-testid=table-total]').textContent;
const toTop = async () => {
    table().scrollTop = 0;
    await frame();
    await frame();
    while (!drawn()) await frame();
};
const frames = async (count, move) => {
    const times = [];
    for (let i = 0, last = 0; i < count; i++) {
        await frame();
        const now = performance.now();
        if (last) times.push(now - last);
        last = now;
        move(i);
    }
    return percentile(times);
};
window.bench = {
    rows: async () => {
        while (!drawn()) await frame();
        return performance.now();
    },
    scroll: count => frames(count, () => { table().scrollTop += 60; }),
    fly: count => frames(count, i => { table().scrollTop = table().scrollHeight * ((i * 0.377) % 1); }),
    jump: async place => {
        const start = performance.now();
        table().scrollTop = table().scrollHeight * place;
        await frame();
        await frame();
        while (!drawn()) await frame();
        return performance.now() - start;
    },
    keys: (count, key) => {
        document.querySelector('.tensor-table table').focus();
        const pressed = {key, bubbles: true, cancelable: true};
        return frames(count, i => {
            const held = new KeyboardEvent('keydown', {...pressed, repeat: i > 0});
            if (i % 2 === 0) document.activeElement.dispatchEvent(held);
        });
    },
    sort: async label => {
        await toTop();
        const heads = [...document.querySelectorAll('.tensor-table th button')];
        const head = heads.find(button => button.textContent.includes(label));
        const [start, before] = [performance.now(), first().textContent];
        head.click();
        while (!drawn() || first().textContent === before) await frame();
        return performance.now() - start;
    },
    filter: async (field, text) => {
        await toTop();
        const input = document.querySelector(`[data-testid=${field}]`);
        const [start, before] = [performance.now(), total()];
        input.focus();
        input.value = text;
        input.dispatchEvent(new InputEvent('input', {bubbles: true}));
        while (total() === before || !drawn()) await frame();
        return performance.now() - start;
    },
};
"""


@contextmanager
def run_of(rows: int, tensors: int, kept: Path | None) -> Iterator[Path]:
    """A log directory with a run of that many snapshots, written unless it is there."""
    with tempfile.TemporaryDirectory() as folder:
        logdir = kept or Path(folder)
        if not (logdir / _RUN).exists():
            write_dump(logdir / _RUN, rows, tensors)
        yield logdir


def measure(browser: Browser, url: str) -> dict[str, float]:
    (run,) = runs_of(browser, url)
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.set_default_timeout(_DEADLINE_S * 1000)
    page.add_init_script(_PROBES)
    session = browser.new_browser_cdp_session()
    while page.request.get(f"{url}api/runs").json()["reading"]:
        time.sleep(0.5)
    page.goto(f"{url}#run={run['id']}&view=table&rows=all")
    found = {"first rows s": _call(page, "rows") / 1000}
    before, _ = renderers(session)
    found["scrolling ms"] = _call(page, "scroll", FRAMES)
    after, _ = renderers(session)
    found["CPU ms"] = 1000 * (after - before) / FRAMES
    found["flying ms"] = _call(page, "fly", FRAMES)
    found["rows there ms"] = max(_call(page, "jump", place) for place in (0.25, 0.5, 0.99))
    found["sorted s"] = max(_call(page, "sort", label) for label in ("Std", "Tensor", "Mean")) / 1000
    found["filtered s"] = max(_call(page, "filter", *filter) for filter in _FILTERS) / 1000
    found["keys ms"] = max(_call(page, "keys", FRAMES, key) for key in ("ArrowDown", "PageDown"))
    found["MB"] = renderers(session)[1]
    page.close()
    return found


def _call(page: Page, name: str, *arguments: float | str) -> float:
    return float(page.evaluate(f"arguments => window.bench.{name}(...arguments)", list(arguments)))


def main() -> None:
    parser = argparse.ArgumentParser(description="The list of tensors in a browser, measured.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="snapshots of the run")
    parser.add_argument("--tensors", type=int, default=1000, help="tensors of the run")
    parser.add_argument("--logdir", type=Path, help="folder of the run, reused the next time")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    with (
        run_of(options.rows, options.tensors, options.logdir) as logdir,
        served(logdir) as url,
        chromium() as browser,
    ):
        found = measure(browser, url)
    row = [f"{options.rows:,}", *(f"{found[name]:.{2 if name.endswith(' s') else 0}f}" for name in _FIGURES)]
    print_table("The list of tensors in a browser", ["rows", *_FIGURES], [row])
    if options.json:
        options.json.write_text(json.dumps({"made": time.time(), "figures": found}, indent=1))


if __name__ == "__main__":
    main()
