"""Layers and graph in a browser: how soon they can be used, how fast steps change and scopes open.

    python benchmarks/graph.py [--nodes 5000,50000,200000] [--peers] [--limit 120] [--json FILE]

Graphs of these sizes (transformer towers, their gradients, a flat optimizer scope) are written into a log
directory, served, and shown by headless Chromium. `layers` counts from the navigation to the second frame of
the layer view, the median of five pages of one browser; `pan` moves it. `step` is the slowest of ten step
changes, from the click to the frame after the cards' new numbers were painted: two frames of 17 ms at best.
`wall` is the time until 200 small histograms were drawn, scrolling.

`usable` counts to the second frame after the first layout of the ops, server included, and `server` is the
CPU time that this process, which serves, has spent by then. `open one` opens `gradients`, `open all` every
scope. `pan` and `moving` are the time between frames (by the browser's clock of frames) while the wheel zooms
and pans, at its 95th percentile; `CPU` is what the browser's processes spend on such a frame, which a busy
machine changes less. Headless browsers draw without a GPU.

With `--peers` TensorBoard, Netron and Model Explorer show the same graphs in the same browser (`make bench`
installs the last two into .tools/peers). Theirs counts until the first node is visible; what takes longer
than the limit, or crashes the tab, is a dash.

Measured on two idle cores without a GPU, limit 70 s. The server's analysis of the new runs ran at low
priority while the layers loaded:

    nodes                             5,000   200,000
    layers s                           0.44      1.33
    step ms                              31        47
    wall s                             0.23      0.47
    usable s, tensortap                0.40      1.03
    usable s, TensorBoard 2.21         2.03     10.14
    usable s, Model Explorer 0.1.34    2.29     18.47
    usable s, Netron 9.3.3                -         -
    moving ms, tensortap                 17        17
    moving ms, TensorBoard               17        17
    moving ms, Model Explorer            67        67
    open all s                         0.10      0.75
    search ms                            25        72
    MB, tensortap                       250       638
    MB, TensorBoard                     331       777
    MB, Model Explorer                  304     1,493
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from _browser import FRAMES, chromium, renderers, runs_of, served
from _peers import PEERS, Peer, opened
from _table import print_table
from _towers import towers
from playwright.sync_api import Browser, CDPSession, Error, Page

from tensortap.dump.write.writer import DumpWriter

_FIGURES = [
    "layers s",
    "pan ms",
    "step ms",
    "wall s",
    "usable s",
    "server s",
    "open one ms",
    "open all s",
    "moving ms",
    "all open ms",
    "CPU ms",
    "search ms",
    "MB",
]
_SEARCHES = ("softmax", "/query.*MatMul$/", "op:Mul")
_DEADLINE_S = 300
_STEPS = 6
_LOADS = 5
_HISTOGRAMS = 200

_PROBES = """
const pane = () => document.querySelector('.graph-pane');
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
const layouts = () => Number(pane()?.dataset.layouts ?? 0);
const surface = () => document.querySelector('.graph-surface');
const twice = async () => { await frame(); await frame(); return performance.now(); };
window.bench = {
    layers: async () => {
        while (pane()?.dataset.status !== 'ready' || !window.tensortap?.nodes().length) await frame();
        return twice();
    },
    ready: async () => {
        while (!window.tensortap?.ready) await frame();
        return twice();
    },
    step: async name => {
        const shown = () => document.querySelector('[data-testid=step-label]').dataset.step;
        const [before, start] = [shown(), performance.now()];
        document.querySelector(`.transport [aria-label^="${name} step"]`).click();
        while (shown() === before || !window.tensortap.ready) await frame(); // not ready until it was painted
        return performance.now() - start;
    },
    wall: async count => {
        const [seen, start] = [new Set(), performance.now()];
        location.hash += '&list=histograms';
        for (let deadline = start + 60000; seen.size < count && performance.now() < deadline;) {
            await frame();
            const wall = document.querySelector('[data-testid=histogram-wall]');
            if (!wall) continue;
            let waiting = 0;
            for (const card of wall.querySelectorAll('.wall-card')) {
                if (card.querySelector('.mini-histogram path')) seen.add(card.dataset.tensor);
                else waiting++;
            }
            if (waiting === 0) wall.scrollTop += wall.clientHeight;
        }
        if (seen.size < count) throw new Error(`only ${seen.size} histograms were drawn`);
        return performance.now() - start;
    },
    usable: async () => {
        while (pane()?.dataset.status !== 'ready' || layouts() === 0) await frame();
        await frame();
        await frame();
        return performance.now();
    },
    openOne: async name => {
        const box = window.tensortap.node(name);
        const [before, start] = [layouts(), performance.now()];
        const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
        surface().dispatchEvent(new MouseEvent('dblclick', at));
        while (layouts() === before) await frame();
        return performance.now() - start;
    },
    openAll: async () => {
        const [before, start] = [layouts(), performance.now()];
        document.querySelector('[aria-label^="Expand all"]').click();
        while (layouts() === before) await frame();
        return performance.now() - start;
    },
    move: async frames => {
        const times = [];
        const box = surface().getBoundingClientRect();
        const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2};
        for (let i = 0, last = 0; i < frames; i++) {
            const now = await frame();
            if (last) times.push(now - last);
            last = now;
            const turned = {deltaY: 40 * Math.sin(i / 6), shiftKey: i % 3 === 0};
            const wheel = {...turned, bubbles: true, cancelable: true};
            surface().dispatchEvent(new WheelEvent('wheel', {...at, ...wheel}));
        }
        return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)];
    },
    search: async text => {
        const input = document.querySelector('.graph-search-input');
        const hits = () => document.querySelector('.graph-hits')?.textContent;
        const [start, before] = [performance.now(), hits()];
        input.value = text;
        input.dispatchEvent(new InputEvent('input', {bubbles: true}));
        input.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}));
        while (hits() === before) await frame();
        return performance.now() - start;
    },
};
"""


_MOVE_PEER = """
async frames => {
    const times = [];
    const at = document.elementFromPoint(800, 500) ?? document.body;
    for (let i = 0, last = 0; i < frames; i++) {
        const now = await new Promise(resolve => requestAnimationFrame(resolve));
        if (last) times.push(now - last);
        last = now;
        const turned = {deltaY: 40 * Math.sin(i / 6), clientX: 800, clientY: 500, composed: true};
        at.dispatchEvent(new WheelEvent('wheel', {...turned, bubbles: true, cancelable: true}));
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)];
}
"""


def write_run(logdir: Path, nodes: int) -> None:
    """A run with one graph and statistics of every fourth node at each step, one of them with a NaN."""
    graph = towers(nodes)
    rng = np.random.default_rng(0)
    with DumpWriter(logdir, run=f"n{nodes}") as writer:
        graph_id = writer.graph(graph)
        for step in range(_STEPS):
            for i, node in enumerate(graph.nodes[::4]):
                array = rng.normal(size=64).astype(np.float32)
                if i == len(graph.nodes) // 8:
                    array[3] = np.nan
                writer.log(f"{node.name}:0", array, step=step, graph=graph_id, keep="summary")


def measure(browser: Browser, url: str, run: str) -> dict[str, float]:
    return {**_measure_layers(browser, url, run), **_measure_ops(browser, url, run)}


def _measure_layers(browser: Browser, url: str, run: str) -> dict[str, float]:
    loads = []
    for load in range(_LOADS):
        page = _new_page(browser)
        page.goto(f"{url}#run={run}&view=layers")
        loads.append(_call(page, "layers") / 1000)
        if load < _LOADS - 1:
            page.close()
    found = {"layers s": statistics.median(loads)}
    _call(page, "ready")
    page.get_by_test_id("graph").press("f")
    page.wait_for_timeout(600)
    found["pan ms"] = _call(page, "move", FRAMES)
    ways = ["Previous"] * (_STEPS - 1) + ["Next"] * (_STEPS - 1)
    found["step ms"] = max(_call(page, "step", way) for way in ways)
    page.goto(f"{url}#run={run}&view=table")
    page.get_by_test_id("tensor-row").first.wait_for()
    found["wall s"] = _call(page, "wall", _HISTOGRAMS) / 1000
    page.close()
    return found


def _new_page(browser: Browser) -> Page:
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.set_default_timeout(_DEADLINE_S * 1000)
    page.add_init_script(_PROBES)
    return page


def _measure_ops(browser: Browser, url: str, run: str) -> dict[str, float]:
    page = _new_page(browser)
    session = browser.new_browser_cdp_session()
    before = time.process_time()
    page.goto(f"{url}#run={run}&view=graph&part=all")
    found = {"usable s": _call(page, "usable") / 1000}
    found["server s"] = time.process_time() - before
    page.get_by_test_id("graph").press("f")
    page.wait_for_timeout(600)
    found["moving ms"] = _call(page, "move", FRAMES)
    page.get_by_test_id("graph").press("f")
    page.wait_for_timeout(600)
    found["open one ms"] = _call(page, "openOne", "gradients")
    found["open all s"] = _call(page, "openAll") / 1000
    page.wait_for_timeout(600)
    before, _ = renderers(session)
    found["all open ms"] = _call(page, "move", FRAMES)
    after, found["MB"] = renderers(session)
    found["CPU ms"] = 1000 * (after - before) / FRAMES
    found["search ms"] = max(_call(page, "search", text) for text in _SEARCHES)
    page.close()
    return found


def measure_peer(browser: Browser, peer: Peer, nodes: int, limit_s: float) -> dict[str, float]:
    """Usable, moving and memory of another viewer; figures beyond the limit are skipped."""
    found: dict[str, float] = {}
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.set_default_timeout(limit_s * 1000)
    session = page.context.new_cdp_session(page)  # Netron forbids eval, which Playwright's own calls use
    with tempfile.TemporaryDirectory() as folder:
        try:
            with opened(peer, towers(nodes), Path(folder) / "graph") as url:
                start = time.perf_counter()
                page.goto(url)
                while not _evaluate(session, peer.ready):
                    if time.perf_counter() - start > limit_s:
                        raise TimeoutError(f"no graph after {limit_s:.0f} s")
                    page.wait_for_timeout(50)
                found["usable s"] = time.perf_counter() - start
                page.wait_for_timeout(1000)
                found["moving ms"] = _evaluate(session, f"({_MOVE_PEER})({FRAMES})")
                found["MB"] = renderers(browser.new_browser_cdp_session())[1]
        except (Error, TimeoutError) as error:
            print(f"{peer.name}, {nodes:,} nodes: {str(error).splitlines()[0]}")
    page.close()
    return found


def _evaluate(session: CDPSession, expression: str) -> float:
    asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
    return float(session.send("Runtime.evaluate", asked)["result"].get("value") or 0)


def _call(page: Page, name: str, argument: str | int | None = None) -> float:
    return float(page.evaluate(f"argument => window.bench.{name}(argument)", argument))


def main() -> None:
    parser = argparse.ArgumentParser(description="The graph in a browser, measured.")
    parser.add_argument(
        "--nodes", default="5000,50000,200000", help="sizes of the graphs, separated by commas"
    )
    parser.add_argument(
        "--peers", action="store_true", help="also measure TensorBoard, Netron, Model Explorer"
    )
    parser.add_argument("--limit", type=float, default=120, help="time limit of a peer in seconds")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    sizes = [int(size) for size in options.nodes.split(",")]
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            write_run(Path(folder), size)
        with served(Path(folder)) as url, chromium() as browser:
            runs = {run["name"]: run["id"] for run in runs_of(browser, url)}
            for size in sizes:
                figures[f"tensortap {size:,}"] = measure(browser, url, runs[f"n{size}"])
                _report(figures)
        peers = [peer for peer in PEERS if options.peers and not peer.missing]
        for size, peer in itertools.product(sizes, peers):
            with chromium() as browser:
                figures[f"{peer.name} {size:,}"] = measure_peer(browser, peer, size, options.limit)
            _report(figures)
    rows = [[key, *(_text(name, found.get(name)) for name in _FIGURES)] for key, found in figures.items()]
    print_table("The graph in a browser", ["nodes", *_FIGURES], rows)
    if options.json:
        options.json.write_text(json.dumps({"made": time.time(), "figures": figures}, indent=1))


def _report(figures: dict[str, dict[str, float]]) -> None:
    """The newest figures, at once: a viewer that hangs later loses none."""
    key, found = list(figures.items())[-1]
    print(key, *(f"{name} {_text(name, figure)}" for name, figure in found.items()), sep="; ", flush=True)


def _text(name: str, figure: float | None) -> str:
    if figure is None:
        return "-"
    return f"{figure:.2f}" if name.endswith(" s") else f"{figure:.0f}"


if __name__ == "__main__":
    main()
