"""Makes the pictures of README.md and docs/ from real runs: `python tests/support/docs_pictures.py [NAME …]`.

Needs TensorFlow, scikit-learn, and a Chromium at CHROMIUM, by default /usr/bin/chromium. Runs are trained
in a temporary folder; `--runs FOLDER` keeps them there, and uses those that are there already.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from browser_site import Site, serving
from documents import CHECKOUT, DOCS, python_of
from playwright.sync_api import Browser, Error, Locator, Page, sync_playwright

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

IMAGES = DOCS / "images"
MOST_BYTES = 250_000
Find = Callable[[Page], Locator]


@dataclass(frozen=True)
class Picture:
    """A screenshot of one address of the page.

    `run`: the run's name. `link`: what follows it in the address. `ready`: appears when the view is drawn.
    `act`: what is clicked before. `marks`: the parts that get the numbers 1, 2, … of the text below it.
    """

    run: str
    link: str
    ready: str
    act: Callable[[Page], None] | None = None
    marks: tuple[Find, ...] = ()
    dark: bool = False
    size: tuple[int, int] = (1280, 800)
    panel: bool = True


def testid(name: str) -> Find:
    return lambda page: page.get_by_test_id(name)


def css(selector: str) -> Find:
    return lambda page: page.locator(selector)


def label(name: str) -> Find:
    return lambda page: page.get_by_label(name)


def tab(name: str) -> Find:
    return lambda page: page.get_by_role("tab", name=name)


def click(find: Find) -> Callable[[Page], None]:
    return lambda page: find(page).first.click()


def to_rule(rule: str) -> Callable[[Page], None]:
    return lambda page: page.locator(f"[data-rule={rule}]").first.evaluate("card => card.scrollIntoView()")


def run_id(page: Page, address: str, name: str) -> str:
    runs = page.request.get(f"{address}api/runs").json()["runs"]
    return next(str(run["id"]) for run in runs if run["name"] == name)


RELU = "tensor=digits_1/conv2_1/Relu:0"
LOG = "tensor=compile_loss/cross_entropy/Log:0"
SUB = "tensor=net_1/normalise_1/sub:0"
ORIGIN_BLOCK, ORIGIN_STEP, BLOCKS, STEPS = 7, 41, 12, 60
RANKS, DRIFTING, STOPPED = 16, 11, 5

PICTURES: dict[str, Picture] = {
    # README and tutorial
    "first_nan": Picture(
        "first",
        f"view=problems&step=28&{LOG}",
        "show-chain",
        lambda page: (page.get_by_test_id("show-chain").click(), page.keyboard.press("W"), None)[-1],
        size=(1440, 800),
    ),
    "tutorial_run": Picture(
        "first", "view=layers&step=15", "layers", marks=(testid("loss-line"), testid("health-strip"))
    ),
    "tutorial_problems": Picture(
        "first",
        "view=problems&step=28",
        "origin-card",
        marks=(css(".problem-reason"), css("[data-testid=origin-card] .place")),
        panel=False,
        size=(1000, 700),
    ),
    "tutorial_path": Picture(
        "first", f"view=problems&step=28&{LOG}", "show-chain", click(testid("show-chain"))
    ),
    "tutorial_value": Picture("first", f"view=graph&step=28&{LOG}&panel=value", "value"),
    "tutorial_fixed": Picture("fixed", "view=layers", "layers", marks=(testid("problems-toggle"),)),
    # The views
    "layers": Picture(
        "digits",
        "view=layers&step=100",
        "layers",
        lambda page: page.get_by_test_id("layers").focus(),
        (label("Model"), testid("shade"), testid("step-slider"), testid("problems-toggle")),
    ),
    "ops": Picture(
        "digits",
        f"view=graph&step=100&{RELU}",
        "graph",
        marks=(testid("parts"), testid("search"), testid("inspector")),
    ),
    "tensors": Picture(
        "digits",
        f"view=table&step=100&{RELU}",
        "tensor-table",
        marks=(label("Rows"), testid("table-filter"), testid("table-where"), label("Quick filters")),
    ),
    "timeline": Picture(
        "tower", f"view=timeline&color=statistic:abs_max&step={STEPS - 1}", "timeline-first", panel=False
    ),
    "source": Picture("first", "view=source&step=28", "source-view"),
    "problems": Picture("reader", "view=problems", "origin-card", panel=False, size=(1000, 900)),
    "compare": Picture(
        "float32",
        f"view=compare&other=bfloat16&{SUB}",
        "compare-table",
        marks=(testid("compare-run"), testid("compare-verdict"), testid("compare-report")),
        panel=False,
    ),
    "events": Picture("watched", "view=events", "events-page", panel=False),
    "replay": Picture(
        "watched",
        f"view=stepper&step=28&{LOG}",
        "stepper",
        lambda page: page.get_by_test_id("stepper-row").first.wait_for(timeout=180_000),
    ),
    # The panel
    "overview": Picture("digits", f"view=graph&step=100&{RELU}", "summary", size=(1280, 800)),
    "history": Picture("digits", f"view=graph&step=100&{RELU}&panel=history", "history"),
    "histograms": Picture("digits", f"view=graph&{RELU}&panel=histogram", "histogram", dark=True),
    "value": Picture("digits", f"view=graph&step=100&{RELU}&panel=value&enlarged=1", "value"),
    "workers": Picture(
        "job", f"view=graph&step={STEPS - 1}&tensor=dense/kernel:0&panel=workers", "worker-strip"
    ),
    # The hunts
    "hunt_nan": Picture("reader", "view=problems", "origin-card", panel=False, size=(1000, 700)),
    "hunt_dead": Picture(
        "cnn", "view=problems", "problems-page", to_rule("DeadRelu"), panel=False, size=(1000, 700)
    ),
    "hunt_drift": Picture(
        "float32",
        f"view=compare&other=bfloat16&{SUB}",
        "compare",
        lambda page: page.get_by_role("button", name="Side by side").click(),
        panel=False,
        size=(1000, 700),
    ),
}

# A circle with its number at the upper left corner of each part that is explained.
MARK = """(element, number) => {
    const box = element.getBoundingClientRect();
    const mark = document.createElement('div');
    mark.textContent = number;
    let [left, top] = [Math.max(3, box.left - 16), Math.max(3, box.top - 12)];
    const taken = [...document.querySelectorAll('[data-mark]')].map((other) => other.getBoundingClientRect());
    while (taken.some((other) => Math.hypot(other.left - left, other.top - top) < 24)) top += 6;
    mark.dataset.mark = number;
    Object.assign(mark.style, {
        position: 'fixed', zIndex: 9999, width: '22px', height: '22px', borderRadius: '11px', color: 'white',
        background: '#c2185b', font: '700 13px/22px sans-serif', textAlign: 'center',
        boxShadow: '0 0 0 2px white', pointerEvents: 'none',
        left: `${left}px`, top: `${top}px`,
    });
    document.body.append(mark);
}"""
# Files of the checkout and of the temporary folder by their place in it.
SHORTEN = """roots => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) for (const root of roots)
        walker.currentNode.data = walker.currentNode.data.replaceAll(root, '');
}"""


def take(browser: Browser, site: Site, picture: Picture, folder: Path) -> bytes:
    """The picture as PNG."""
    width, height = picture.size
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(30_000)
    page.emulate_media(color_scheme="dark" if picture.dark else "light", reduced_motion="reduce")
    page.add_init_script(f"localStorage.setItem('tensortap.panelOpen', '{str(picture.panel).lower()}')")
    page.goto(site.start_url)
    page.get_by_test_id("run-picker").wait_for()
    link = re.sub(r"other=(\w+)", lambda other: f"other={run_id(page, site.url, other[1])}", picture.link)
    page.goto(f"{site.url}#run={run_id(page, site.url, picture.run)}&{link}")
    page.get_by_test_id(picture.ready).first.wait_for()
    if picture.act:
        picture.act(page)
    page.wait_for_timeout(4000)  # pictures wait for the graph's motion to end
    page.evaluate(SHORTEN, [f"{CHECKOUT}/", f"{folder}/", f"{folder.name}/"])
    for number, find in enumerate(picture.marks, 1):
        find(page).first.evaluate(MARK, str(number))
    taken = page.screenshot()
    page.close()
    return taken


def train(folder: Path) -> None:
    """Writes to `logs` the runs of demo, tutorial and docs/hunts.md, a made-up transformer and job."""
    run = [sys.executable, "-m", "tensortap", "demo", "--no-serve", "--steps", "200", "--logdir", "logs"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TF_CPP_MIN_LOG_LEVEL": "3"}

    def python(*arguments: str, cwd: Path = folder) -> None:
        subprocess.run([sys.executable, *arguments], check=True, cwd=cwd, env=environment)

    subprocess.run(run, check=True, cwd=folder, env=environment)
    program, fix = python_of("tutorial.md")
    (folder / "train.py").write_text(program, encoding="utf-8")
    python("train.py")
    python("-c", fix)
    python("fixed.py")
    watched = program.replace('"logs/first"', '"logs/watched"').replace(
        'keep="value")',
        'keep="value"), on=tensortap.NonFinite(), record=tensortap.Record(on_trigger=True)',
    )
    (folder / "watched.py").write_text(watched, encoding="utf-8")
    python("watched.py")
    python(str(CHECKOUT / "tests" / "support" / "hunts.py"), str(folder))
    for made in (folder / "found" / "logs").iterdir():
        made.rename(folder / "logs" / made.name)
    write_tower(folder / "logs")
    write_job(folder / "logs")


PARTS = {
    "attention": ("query", "key", "value", "scores", "Softmax", "context", "output"),
    "ffn": ("norm", "up", "Gelu", "down", "add"),
}


def tower() -> list[Node]:
    """The blocks of a transformer, one node after the other."""
    names = ["net/embedding/lookup", "net/embedding/add"]
    names += [
        f"net/block_{n}/{part}/{op}" for n in range(BLOCKS) for part, ops in PARTS.items() for op in ops
    ]
    names += ["net/head/MatMul", "net/head/BiasAdd", "loss/Mean"]
    return [
        Node(name, name.rpartition("/")[2], [f"{before}:0"] if before else [])
        for before, name in zip(["", *names], names, strict=False)
    ]


def write_tower(logdir: Path) -> None:
    """Numbers that grow, and turn NaN in one block: downstream in that step, everywhere from the next on."""
    nodes = tower()
    origin = next(
        i for i, node in enumerate(nodes) if node.name == f"net/block_{ORIGIN_BLOCK}/attention/scores"
    )
    with DumpWriter(logdir, run="tower") as writer:
        graph = writer.graph(Graph("train_step", nodes))
        for step in range(STEPS):
            for i, node in enumerate(nodes):
                bad = step > ORIGIN_STEP or (step == ORIGIN_STEP and i >= origin)
                growth = 1 + step / STEPS * (1 + 6 * np.exp(-(((i - origin) / 25) ** 2)))
                value = np.nan if bad else 3 * growth * (1 + i / len(nodes))
                writer.log(f"{node.name}:0", np.array([value, 1], np.float32), step=step, graph=graph)


def write_job(logdir: Path) -> None:
    """Ranks that fit one linear model with gradients of all; one misses a gradient at ORIGIN_STEP - 10, one
    stops after ORIGIN_STEP."""
    random = np.random.default_rng(0)
    truth = random.normal(size=(64, 8))
    marks = {"tensortap.kind": "weight", "tensortap.variable": "dense/kernel"}
    nodes = [
        Node("dense/kernel", "ReadVariableOp", attributes=marks),
        Node("dense/MatMul", "MatMul", ["dense/kernel:0"]),
    ]
    kernels = [np.zeros((64, 8), np.float32) for _ in range(RANKS)]
    writers = [DumpWriter(logdir, run="job", rank=rank) for rank in range(RANKS)]
    graphs = [writer.graph(Graph("train_step", nodes)) for writer in writers]
    for step in range(STEPS):
        x = random.normal(size=(RANKS, 32, 64))
        gradient = np.mean([batch.T @ (batch @ (kernels[0] - truth)) / 32 for batch in x], axis=0)
        for rank, (writer, graph) in enumerate(zip(writers, graphs, strict=True)):
            if rank == STOPPED and step > ORIGIN_STEP:
                continue
            writer.log("dense/kernel:0", kernels[rank], step=step, graph=graph)
            writer.log("dense/MatMul:0", x[rank] @ kernels[rank], step=step, graph=graph)
            if (rank, step) != (DRIFTING, ORIGIN_STEP - 10):
                kernels[rank] -= (0.05 * gradient).astype(np.float32)
    for writer in writers:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="of docs/images, without .png; by default all"
    )
    parser.add_argument(
        "--runs", type=Path, help="a folder for the runs, which are trained where it has none"
    )
    parser.add_argument("--out", type=Path, default=IMAGES, help="where the pictures go")
    options = parser.parse_args()
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = (options.runs or Path(temporary)).resolve()
        if not (folder / "logs" / "tower").exists():
            folder.mkdir(parents=True, exist_ok=True)
            train(folder)
        options.out.mkdir(parents=True, exist_ok=True)
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serving(folder / "logs", "--allow-replay") as site:
            for name in options.names or PICTURES:
                try:
                    taken = take(browser, site, PICTURES[name], folder)
                except Error as error:
                    failed.append(f"{name}: {error}")
                    continue
                assert len(taken) < MOST_BYTES, f"{name} has {len(taken)} bytes"
                (options.out / f"{name}.png").write_bytes(taken)
                print(f"{name}.png  {len(taken) // 1000} kB")
        browser.close()
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
