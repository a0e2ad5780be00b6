"""Pages that are open while training writes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from browser_page import TapPage, run_row
from browser_site import Serve, serving
from playwright.sync_api import Browser, expect

import tensortap


def log_steps(logdir: Path, run: str, steps: range) -> None:
    with tensortap.DumpWriter(logdir, run=run) as writer:
        for step in steps:
            writer.log("loss:0", np.float32(1 / (step + 1)), step=step, keep="value")


def test_an_empty_folder_says_what_to_do_and_shows_the_first_run(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    tap.page.goto(serve(tmp_path).start_url)
    empty = tap.page.get_by_test_id("empty-state")
    expect(empty).to_contain_text("tensortap.Tap(")
    log_steps(tmp_path, "first", range(3))
    expect(tap.page.get_by_test_id("run-picker")).to_have_text("first")
    expect(empty).to_have_count(0)


def test_a_new_run_and_new_steps_show_up(tap: TapPage, serve: Serve, tmp_path: Path) -> None:
    log_steps(tmp_path, "old", range(3))
    site = serve(tmp_path)
    tap.enter(site)
    with tensortap.DumpWriter(tmp_path, run="new") as writer:
        writer.log("loss:0", np.float32(1), step=0, keep="value")
        writer.flush()
        tap.page.get_by_test_id("run-picker").click()
        expect(run_row(tap.page, "new")).to_be_visible()
        run_row(tap.page, "new").click()
        tap.expect_step(0)
        writer.log("loss:0", np.float32(0.5), step=7, keep="value")
        writer.flush()
        slider = tap.page.get_by_test_id("step-slider")
        expect(slider).to_have_attribute("max", "1")
        slider.press("End")
        tap.expect_step(7)


def test_the_latest_step_is_followed_until_the_run_is_closed(
    tap: TapPage, serve: Serve, tmp_path: Path
) -> None:
    log_steps(tmp_path, "old", range(3))
    site = serve(tmp_path)
    tap.enter(site)
    follow = tap.page.get_by_role("switch", name="follow latest")
    tap.expect_step(2)
    expect(follow).to_have_count(0)
    tap.page.goto(f"{site.url}#run=old&follow=1")
    tap.expect_step(2)
    expect(tap.page).not_to_have_url(re.compile("follow"))
    with tensortap.DumpWriter(tmp_path, run="new") as writer:
        writer.log("loss:0", np.float32(1), step=0, keep="value")
        writer.flush()
        tap.page.goto(f"{site.url}#run=new")
        expect(follow).to_be_checked()
        expect(tap.page).to_have_url(re.compile("&follow=1"))
        writer.log("loss:0", np.float32(1), step=4, keep="value")
    tap.expect_step(4)
    expect(follow).to_have_count(0)
    expect(tap.page).not_to_have_url(re.compile("follow"))
    expect(tap.page.get_by_test_id("lost")).to_have_count(0)


def test_a_page_continues_with_the_new_token_of_a_restarted_server(browser: Browser, tmp_path: Path) -> None:
    """(Without `tap`, which fails because the console reports requests without the token.)"""
    log_steps(tmp_path, "run", range(3))
    context = browser.new_context()
    page = context.new_page()
    with serving(tmp_path) as site:
        page.goto(site.start_url)
        TapPage(page).wait_until_ready()
    port = site.url.rstrip("/").rpartition(":")[2]
    with serving(tmp_path, "--port", port, "--token", "another") as again:
        banner = page.get_by_test_id("banner")
        expect(banner).to_contain_text("Open the link that it printed: this page then continues.")
        context.new_page().goto(f"{again.url}?token=another")
        expect(banner).to_have_count(0)
        context.close()
