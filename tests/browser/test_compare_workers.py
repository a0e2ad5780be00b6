"""Two workers of one run compared on the page: chosen by clicking, by a link, and one that is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_page import TapPage
from browser_site import Site, serving
from playwright.sync_api import Page, expect

PROGRAM = Path(__file__).resolve().parents[1] / "support/worker_program.py"
FIRST = "net_1/hidden_1/Relu:0"


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Runs `pair`, of two TensorFlow processes of which rank 1 is wrong, and `alone`, of one."""
    logdir = tmp_path_factory.mktemp("workers")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(PROGRAM), str(logdir)]
    ranks = [subprocess.Popen([*command, str(rank)], env=environment) for rank in range(2)]
    assert [rank.wait() for rank in ranks] == [0, 0]
    with serving(logdir) as site:
        yield site


def ranks_of(page: Page, run: str) -> list[str]:
    """Ids of the workers, by rank."""
    reported = page.evaluate("run => fetch(`api/runs/${run}`).then(answer => answer.json())", run)["workers"]
    return [worker["id"] for worker in sorted(reported, key=lambda worker: worker["rank"] or 0)]


def expect_rank_1_wrong(page: Page) -> None:
    expect(page.get_by_test_id("compare-verdict")).to_contain_text("Diverge at step 0")
    expect(page.get_by_test_id("first-divergence")).to_have_attribute("data-tensor", FIRST)


def test_two_workers_are_chosen_and_compared(tap: TapPage, workers: Site) -> None:
    page = tap.page
    tap.enter(workers)
    tap.choose_run("pair")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_test_id("compare-run").select_option(label="pair")
    expect(page.get_by_test_id("compare-itself")).to_be_visible()
    page.get_by_test_id("compare-workers").click()
    expect(page.get_by_role("button", name="Worker: rank 0")).to_be_visible()
    of_a, of_b = page.get_by_test_id("compare-worker-a"), page.get_by_test_id("compare-worker-b")
    expect(of_b.locator("option:checked")).to_have_text("rank 1")
    expect_rank_1_wrong(page)
    with page.expect_download() as download:
        page.get_by_test_id("compare-report").click()
    report = download.value.path().read_text(encoding="utf-8")
    assert all(f"worker {worker}" in report for worker in ranks_of(page, tap.run_id("pair")))
    page.locator(f"[data-testid=compare-row][data-tensor='{FIRST}']").click()
    expect(page.get_by_test_id("compare-values").get_by_role("img")).to_have_count(4)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.compare-values img')].every(i => i.naturalWidth === 16)"
    )
    of_a.select_option(label="rank 1")
    expect(page.get_by_test_id("compare-itself")).to_be_visible()
    of_b.select_option(label="rank 0")
    expect(page.get_by_test_id("first-divergence")).to_contain_text("Its input net_1/hidden_1/add")


def test_a_link_leads_to_two_workers_and_back_leads_out_of_it(tap: TapPage, workers: Site) -> None:
    page = tap.page
    tap.enter(workers)
    run = tap.run_id("pair")
    first, second = ranks_of(page, run)
    link = f"#run={run}&other={run}&worker={first}&otherWorker={second}"
    page.goto(f"{workers.url}{link}&view=compare")
    expect_rank_1_wrong(page)
    page.get_by_role("button", name="Side by side").click()
    sides = page.get_by_test_id("compare-graphs")
    expect(sides.get_by_role("heading")).to_have_text(["A: pair, rank 0", "B: pair, rank 1"])
    expect(page.get_by_test_id("pair-other")).to_have_value(FIRST.rpartition(":")[0])
    page.get_by_role("button", name="Tensors", exact=True).click()
    expect(page.get_by_test_id("compare")).to_have_count(0)
    page.go_back()
    expect_rank_1_wrong(page)
    page.go_forward()
    page.go_back()
    expect(page.get_by_test_id("compare-worker-b").locator("option:checked")).to_have_text("rank 1")
    page.goto(f"{workers.url}{link}&step=0&view=graph&color=difference")
    tap.wait_until_ready()
    expect(page.get_by_label("Legend").get_by_text("diverges")).to_be_visible()


def test_pairs_by_hand_are_of_these_two_workers(tap: TapPage, workers: Site) -> None:
    page = tap.page
    tap.enter(workers)
    run = tap.run_id("pair")
    first, second = ranks_of(page, run)
    pairs, other = page.get_by_test_id("pairs").get_by_role("listitem"), page.get_by_test_id("pair-other")

    def compare(worker: str, worker_b: str, partner: str) -> None:
        link = f"#run={run}&view=compare&other={run}&worker={worker}&otherWorker={worker_b}&tensor={FIRST}"
        page.goto(f"{workers.url}{link}")
        page.reload()
        page.get_by_role("button", name="Side by side").click()
        expect(other).to_have_value(partner)

    compare(first, second, "net_1/hidden_1/Relu")
    expect(page.get_by_test_id("pairing")).to_contain_text("for these two workers")
    other.fill("net_1/middle_1/Tanh")
    page.get_by_test_id("pair").click()
    expect(pairs).to_have_count(1)
    compare(second, first, "net_1/hidden_1/Relu")
    expect(pairs).to_have_count(0)
    compare(first, second, "net_1/middle_1/Tanh")
    expect(pairs).to_have_count(1)


def test_a_worker_that_is_not_there_is_reported_and_one_alone_is_no_choice(
    tap: TapPage, workers: Site
) -> None:
    page = tap.page
    tap.enter(workers)
    pair, alone = tap.run_id("pair"), tap.run_id("alone")
    (only,) = ranks_of(page, alone)
    page.goto(f"{workers.url}#run={alone}&view=compare&other={pair}&worker=gone-1&otherWorker={only}")
    expect(page.get_by_test_id("worker-lost-b")).to_contain_text(f"pair has no worker {only}")
    expect(page.get_by_test_id("worker-lost-a")).to_contain_text("alone has no worker gone-1")
    page.get_by_test_id("compare-worker-a").select_option(label="the first worker")
    expect(page.get_by_test_id("worker-lost-a")).to_have_count(0)
    page.goto(f"{workers.url}#run={alone}&worker=gone-1")
    expect(page.get_by_test_id("lost")).to_contain_text("has no worker gone-1: showing its only worker")
    page.goto(f"{workers.url}#run={alone}&color=difference&other={pair}&otherWorker={only}")
    expect(page.get_by_test_id("difference-notice")).to_contain_text("B cannot be compared")
    page.get_by_role("button", name="Show why").click()
    expect(page.get_by_test_id("worker-lost-b")).to_be_visible()
    page.get_by_test_id("compare-worker-b").select_option(label="rank 1")
    expect_rank_1_wrong(page)
    expect(page.get_by_test_id("compare-worker-a")).to_have_count(0)
    page.get_by_test_id("compare-run").select_option(label="alone")
    expect(page.get_by_test_id("compare-itself")).to_be_visible()
    expect(page.get_by_test_id("compare-worker-b")).to_have_count(0)
    expect(page.get_by_test_id("compare-workers")).to_have_count(0)


def test_a_worker_is_shown_in_its_own_graph(tap: TapPage, workers: Site) -> None:
    """The graph with most snapshots is that of rank 1, which has an op more."""
    page = tap.page
    tap.enter(workers)
    run = tap.run_id("pair")
    reported = page.evaluate("run => fetch(`api/runs/${run}`).then(answer => answer.json())", run)["graphs"]
    first, second = ranks_of(page, run)
    graph = {
        worker: next(graph["id"] for graph in reported if worker in graph["workers"])
        for worker in (first, second)
    }
    page.goto(f"{workers.url}#run={run}&view=graph")
    tap.wait_until_ready()
    for rank, worker in enumerate((first, second)):
        page.get_by_role("button", name="Worker:").click()
        page.get_by_role("dialog", name="Worker").get_by_text(f"rank {rank}").click()
        page.wait_for_url(f"**graph={graph[worker]}**worker={worker}**")
    page.goto(f"{workers.url}#run={run}&view=graph&worker={first}")
    page.wait_for_url(f"**graph={graph[first]}**")
    notice = page.get_by_test_id("worker-notice")
    expect(notice).to_have_count(0)

    page.goto(f"{workers.url}#run={run}&view=graph&worker={first}&graph={graph[second]}")
    expect(notice).to_contain_text("rank 0 captured no tensors of this graph at step 2; it ran")
    page.goto(f"{workers.url}#run={run}&view=layers&worker={first}&graph={graph[second]}")
    expect(notice).to_contain_text("rank 0 captured no tensors of this graph at step 2; it ran")
    page.get_by_test_id("own-graph").click()
    page.wait_for_url(f"**graph={graph[first]}**")
    expect(notice).to_have_count(0)
    page.goto(f"{workers.url}#run={run}&view=graph&worker={first}&graph={graph[second]}")
    page.get_by_role("button", name="Show all workers").click()
    expect(notice).to_have_count(0)
