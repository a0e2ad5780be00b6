"""A damaged run: each answer of an analysis says what is missing in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_page import TapPage
from browser_site import Serve, Site
from playwright.sync_api import expect

from tensortap.dump.write.writer import DumpWriter


@pytest.fixture
def damaged(tmp_path: Path, serve: Serve) -> Site:
    """Runs `whole` and `part`: of two commits of `part`, the first one is damaged."""
    for run in ("whole", "part"):
        with DumpWriter(tmp_path, run=run) as writer:
            for step in range(2):
                writer.log("x", np.ones(20, np.float32), step=step)
                writer.commit()
    (file,) = tmp_path.glob("part/*/stats-*.arrows")
    data = bytearray(file.read_bytes())
    data[3600] ^= 4
    file.write_bytes(data)
    return serve(tmp_path)


def test_problems_and_compare_say_what_is_missing(tap: TapPage, damaged: Site) -> None:
    page = tap.page
    tap.enter(damaged)
    tap.choose_run("part")
    page.get_by_test_id("problems-toggle").click()
    expect(page.get_by_test_id("healthy")).to_contain_text("No findings in the readable data")
    notice = page.get_by_test_id("damage")
    expect(notice).to_contain_text("Some data are damaged and not shown:")
    expect(notice).to_contain_text("stats-000000.arrows, byte")
    page.get_by_role("button", name="Compare", exact=True).or_(
        page.get_by_role("radio", name="Compare")
    ).click()
    page.get_by_test_id("compare-run").select_option(label="whole")
    expect(page.get_by_test_id("compare-verdict")).to_contain_text("Match")
    expect(notice).to_contain_text("part: ")
    tap.choose_run("whole")
    page.get_by_test_id("compare-run").select_option(label="whole")
    expect(notice).to_have_count(0)


def test_a_healthy_run_says_how_many_snapshots_were_dropped(
    tap: TapPage, tmp_path: Path, serve: Serve
) -> None:
    with DumpWriter(tmp_path, run="lossy") as writer:
        writer.log("x", np.ones(20, np.float32), step=0)
        writer.dropped(1690)
    page = tap.page
    tap.enter(serve(tmp_path))
    expect(page.get_by_test_id("problems-toggle")).to_have_text("All finite · 1,690 dropped")
    expect(page.get_by_test_id("run-summary")).to_contain_text("1,690 snapshots or recordings were dropped")
