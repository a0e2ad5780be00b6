"""The page over a log directory whose disk hangs: it says so, and retries."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
from hanging_disk import hanging_disk
from playwright.sync_api import Browser, expect

from tensortap.dump.write.writer import DumpWriter
from tensortap.server.serve import Server


def test_a_disk_that_hangs_is_reported_until_it_answers(browser: Browser, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "my-logs", run="first") as writer:
        writer.log("x:0", np.ones(3), step=0)
    with hanging_disk(patience=0.1) as recovered:
        server = Server([tmp_path / "my-logs"], port=0)
        serving = threading.Thread(target=server.run)
        serving.start()
        page = browser.new_page()  # not `tap`: Chromium logs each 503 as an error
        try:
            page.goto(server.url)
            reported = page.get_by_test_id("error-state")
            expect(reported).to_contain_text("The log directory has not responded for")
            expect(reported).to_contain_text("This page retries")
            recovered.set()
            expect(page.get_by_test_id("run-picker")).to_have_text("first")
            expect(reported).to_have_count(0)
        finally:
            recovered.set()
            page.close()
            server.close()
            serving.join()
