"""Memory of `tensortap serve` while many large runs are listed, and opened one after the other.

    python benchmarks/memory.py [--runs 100] [--snapshots 1000000] [--memory 1] [--dir DIR]

One run is written and indexed; the others are hard links to its files and to those of its saved index, so
that a hundred runs of a million snapshots take 200 MB of disk. Of each run the page's questions are asked:
steps, a page of tensors, sorted and by a condition, the timeline, a tensor's history and all its workers.
Printed: the resident memory of the server every ten runs, and its peak, of samples every 20 ms; that of the
processes that analyse runs beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from _table import print_table
from cluster import write_job

from tensortap.index.cache.cache_folders import RUN_NAME, run_folder
from tensortap.index.cache.saved_run import VERSION
from tensortap.index.logdir_index import LogIndex

PORT = 6198
QUESTIONS = (
    "",
    "/graphs/{graph}",
    "/graphs/{graph}/steps/{step}",
    "/graphs/{graph}/range?statistic=abs_max",
    "/graphs/{graph}/timeline?statistic=abs_max",
    "/snapshots?graph={graph}&step={step}&sort=flow",
    "/snapshots?sort=-abs_max",
    "/snapshots?sort=mean&offset=5000",
    "/snapshots?where=abs_max%3E0.5",
    "/history?tensor=dense_1/relu:0",
    "/histograms?tensor=dense_1/relu:0",
    "/workers?tensor=dense_4/weight:0",
)


def make_runs(folder: Path, cache: Path, runs: int, snapshots: int) -> None:
    """`runs` runs of `snapshots` snapshots in `folder`, with their saved indices."""
    first = folder / "job"
    if not first.exists():
        write_job(folder, max(1, snapshots // 40_000), snapshots)
    index = LogIndex(folder, cache=cache)
    while index.refresh():
        pass
    saved = run_folder(cache, first, VERSION)
    for number in range(1, runs):
        run = folder / f"run-{number:04}"
        for source, target in ((first, run), (saved, run_folder(cache, run, VERSION))):
            if not target.exists():
                subprocess.run(["cp", "-al", str(source), str(target)], check=True)
        name = run_folder(cache, run, VERSION) / RUN_NAME
        name.unlink()
        name.write_text(json.dumps(str(run.resolve())), encoding="utf-8")


class Sampler(threading.Thread):
    """Resident memory of a process, and of its children together, in MB, every 20 ms."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.now, self.peak, self.children = pid, 0.0, 0.0, 0.0

    def run(self) -> None:
        while (found := resident(self.pid)) > 0:
            self.now, self.peak = found, max(self.peak, found)
            self.children = max(self.children, sum(map(resident, children(self.pid))))
            time.sleep(0.02)


def resident(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    try:
        return [int(child) for path in found for child in path.read_text(encoding="ascii").split()]
    except OSError:
        return []


def ask(path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/{path}", timeout=120) as answer:
        return answer.read()


def open_run(run: str) -> list[float]:
    """Asks the questions of the page; seconds of each."""
    detail = json.loads(ask(f"runs/{run}"))
    places = {"graph": detail["graphs"][0]["id"], "step": detail["steps"]["step"][-1]}
    seconds = []
    for question in QUESTIONS:
        start = time.perf_counter()
        ask(f"runs/{run}{question.format(**places)}")
        seconds.append(time.perf_counter() - start)
    ask(f"runs/{run}/findings")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--snapshots", type=int, default=1_000_000)
    parser.add_argument("--memory", default="1", help="of the server, in GB")
    parser.add_argument("--dir", type=Path, help="where the runs are, or are written (default: nowhere)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.dir or Path(temporary)
        logs, cache = folder / "logs", folder / "cache"
        logs.mkdir(parents=True, exist_ok=True)
        make_runs(logs, cache, options.runs, options.snapshots)
        command = [sys.executable, "-m", "tensortap", "serve", str(logs), "--port", str(PORT), "--no-token"]
        command += ["--memory", options.memory]
        environment = {**os.environ, "TENSORTAP_CACHE": str(cache)}
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as server:
            try:
                print_table(*measured(server.pid, options))
            finally:
                server.kill()


def measured(pid: int, options: argparse.Namespace) -> tuple[str, list[str], list[list[str]]]:
    """Title, head and rows of a table."""
    sampler, listed = Sampler(pid), []
    sampler.start()
    start = time.perf_counter()
    while len(listed) < options.runs or any(not run["snapshots"] for run in listed):
        time.sleep(0.1)
        try:
            listed = json.loads(ask("runs"))["runs"]
        except (urllib.error.URLError, ConnectionError):
            continue
    rows = [["listed", f"{sampler.now:.0f}", f"{sampler.peak:.0f}", f"{time.perf_counter() - start:.1f}"]]
    slowest = 0.0
    for number, run in enumerate(listed, 1):
        slowest = max(slowest, *open_run(quote(run["id"])))
        if number % 10 == 0 or number == len(listed):
            rows.append([f"{number} opened", f"{sampler.now:.0f}", f"{sampler.peak:.0f}", f"{slowest:.2f}"])
    rows.append(["processes that analyse", "", f"{sampler.children:.0f}", ""])
    title = f"{len(listed)} runs of {options.snapshots:,} snapshots, --memory {options.memory}"
    return title, ["", "MB now", "MB peak", "slowest, s"], rows


if __name__ == "__main__":
    main()
