"""A server and headless Chromium, for what is measured in the page."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, sync_playwright

from tensortap.server.serve import Server
from tensortap.system.pandas_guard import hide_pandas

FRAMES = 90  # of moving, of which the 95th percentile is reported


@contextmanager
def chromium() -> Iterator[Browser]:
    """$TENSORTAP_CHROMIUM, or the system's."""
    names = [os.environ.get("TENSORTAP_CHROMIUM", ""), "chromium", "google-chrome"]
    path = next(filter(None, map(shutil.which, filter(None, names))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served(logdir: Path) -> Iterator[str]:
    """The address of a server over a log directory, in a thread of this process."""
    hide_pandas()  # as `tensortap serve` does
    server = Server([logdir], port=0, use_token=False)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server.url
    server.close()
    thread.join(10)


def renderers(session: CDPSession) -> tuple[float, float]:
    """CPU seconds of the browser's processes so far, and megabytes that the largest page occupies."""
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    cpu = sum(float(process["cpuTime"]) for process in processes)
    sizes = [_resident(process["id"]) for process in processes if process["type"] == "renderer"]
    return cpu, max(sizes, default=0.0)


def _resident(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:  # not Linux, or gone
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def runs_of(browser: Browser, url: str) -> list[dict[str, Any]]:
    """What `api/runs` lists."""
    page = browser.new_page()
    page.goto(url)
    answer = page.evaluate("() => fetch('api/runs').then(answer => answer.json())")
    page.close()
    return list(answer["runs"])
