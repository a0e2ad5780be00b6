"""Makes the pictures of docs/hunts.md again: `python tests/hunt_pictures.py`. Needs a Chromium at CHROMIUM,
by default /usr/bin/chromium."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from hunts import DOCUMENT
from playwright.sync_api import Page, sync_playwright
from werkzeug.serving import make_server

from tensortap.server.app import create_app

IMAGES = DOCUMENT.parent / "images"
MOST_BYTES = 150_000


def nan(page: Page, address: str) -> None:
    page.goto(f"{address}#run={run_id(page, address, 'reader')}&view=problems")
    page.get_by_test_id("birth-card").first.wait_for()


def dead(page: Page, address: str) -> None:
    page.goto(f"{address}#run={run_id(page, address, 'cnn')}&view=problems")
    page.locator("[data-rule=DeadRelu]").evaluate("card => card.scrollIntoView()")


def drift(page: Page, address: str) -> None:
    a, b = (run_id(page, address, name) for name in ("float32", "bfloat16"))
    page.goto(f"{address}#run={a}&view=compare&other={b}&tensor=net_1/normalise_1/sub:0")
    page.get_by_role("button", name="Side by side").click()
    page.get_by_test_id("compare-graphs").get_by_role("application").nth(1).wait_for()


def run_id(page: Page, address: str, name: str) -> str:
    runs = page.request.get(f"{address}api/runs").json()["runs"]
    return next(str(run["id"]) for run in runs if run["name"] == name)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(DOCUMENT.parents[1] / "tests" / "hunts.py"), folder], check=True)
        app = create_app(Path(folder, "found", "logs"))
        server = make_server("127.0.0.1", 0, app, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for name, show in (("hunt_nan", nan), ("hunt_dead", dead), ("hunt_drift", drift)):
                page = browser.new_page(viewport={"width": 1000, "height": 700}, color_scheme="light")
                page.set_default_timeout(120_000)
                page.add_init_script("localStorage.setItem('tensortap.panelOpen', 'false')")
                show(page, f"http://127.0.0.1:{server.port}/")
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(3000)  # pictures wait for the graph's motion to end
                picture = page.screenshot(path=IMAGES / f"{name}.png")
                assert len(picture) < MOST_BYTES, f"{name} has {len(picture)} bytes"
            browser.close()


if __name__ == "__main__":
    main()
