"""A real browser on a real server over the demo's runs, made once for all tests of this folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser_page import TapPage
from browser_site import Serve, Site, serving
from playwright.sync_api import Browser, ConsoleMessage, expect, sync_playwright
from shared_folder import shared_folder

SCREENSHOTS = Path(__file__).resolve().parents[2] / "test-output"
DEMO_STEPS = "60"
# Chromium looks up addresses of its maker at every start unless it is told not to.
CHROMIUM_ARGUMENTS = ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
# TensorBoard's page logs warnings of its own, and asks for its font at the wrong place below --path_prefix.
TENSORBOARDS_OWN = re.compile(r"/index\.js\?|/font-roboto/")
FAILED = pytest.StashKey[bool]()

expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def demo_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the runs of `tensortap demo`, made by what `make demo` runs; only read it."""

    def train(folder: Path) -> None:
        command = ["-m", "tensortap", "demo", "--no-serve", "--steps", DEMO_STEPS]
        command += ["--logdir", str(folder / "demo-logs")]
        subprocess.run([sys.executable, *command], check=True, stdin=subprocess.DEVNULL)

    return shared_folder(tmp_path_factory, "demo", train) / "demo-logs"


@pytest.fixture(scope="session")
def site(demo_logs: Path) -> Iterator[Site]:
    """The demo's runs, served."""
    with serving(demo_logs) as running:
        yield running


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers over other log directories, and ends them after the test."""
    with ExitStack() as stack:
        yield lambda logdir, *options: stack.enter_context(serving(logdir, *options))


def chromium_path() -> str:
    """The system's Chromium; $TENSORTAP_CHROMIUM chooses another."""
    names = [os.environ.get("TENSORTAP_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    found = next(filter(None, map(shutil.which, filter(None, names))), None)
    assert found, "The browser tests need Chromium: run .ci/chromium, or set TENSORTAP_CHROMIUM"
    return found


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for this folder; closed with it, so that no event loop runs in the tests that follow."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def tap(browser: Browser, serve: Serve, request: pytest.FixtureRequest) -> Iterator[TapPage]:
    """A page of a fresh browser profile. Errors that it logs, violated policies too, fail the test.

    It is closed before the servers end (hence `serve`), which it keeps asking for news.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        source = message.location.get("url", "")
        if message.type in ("error", "warning") and not TENSORBOARDS_OWN.search(source):
            complaints.append(f"{message.type}: {message.text} ({source})")

    context.on("console", note)
    context.on("weberror", lambda error: complaints.append(f"thrown: {error.error}"))
    page = context.new_page()
    yield TapPage(page)
    if request.node.stash.get(FAILED, False):
        name = re.sub(r"\W+", "_", request.node.name)
        page.screenshot(path=SCREENSHOTS / f"{name}.png")
    context.close()
    assert complaints == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Lets the page fixture know of a failure, for its screenshot."""
    report = yield
    if call.when == "call":
        item.stash[FAILED] = report.failed
    return report
