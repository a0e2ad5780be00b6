"""A job of many workers: written, compacted by a Dask cluster, opened from S3, and its drift found.

    python benchmarks/cluster.py [--workers 256] [--snapshots 10000000] [--dir DIR]

One worker's copy of one weight leaves the others at 0.7 of the steps. The cluster has two processes, of which
one is killed midway. What was compacted is put on moto's S3 server, next to the run's own files, and opened
from there by processes with an empty cache. `--dir` stays, and is used again by the next call.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from _browser import chromium
from _table import print_table

from tensortap.compact.compactor import compact_run
from tensortap.compact.manifest import read_manifest
from tensortap.core.records import Function, Graph, Node, Summary
from tensortap.dump.write.writer import DumpWriter
from tensortap.scale.registry import open_engine
from tensortap.stats.summarize import summarize
from tensortap.storage.arrow_filesystem import arrow_bucket

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/support"))

from s3_server import s3_server

STEPS, LAYERS = 1000, 10
OF_LAYER = ("weight", "product", "relu", "gradient")  # captured tensors of a layer
VARIANTS = 200  # different summaries of an activation
DRIFT_STEP, DRIFT_RANK, DRIFT_LAYER = STEPS * 7 // 10, 0.53, 4
BUCKET = "bench"


def network() -> Graph:
    """Layers of a weight that all workers hold alike, and of activations that are their own."""
    nodes = [Node("x", "Placeholder", attributes={"tensortap.kind": "input"}, **_typed([None]))]
    for layer in range(LAYERS):
        marks = {"tensortap.variable": f"dense_{layer}/kernel"}
        before = f"dense_{layer - 1}/relu:0" if layer else "x:0"
        name = f"dense_{layer}"
        operands = [before, f"{name}/weight:0"]
        weight, gradient = marks | _kind("weight"), marks | _kind("gradient")
        nodes += [
            Node(f"{name}/weight", "ReadVariableOp", attributes=weight, **_typed([500])),
            Node(f"{name}/product", "MatMul", operands, layer=name, **_typed([None])),
            Node(f"{name}/relu", "Relu", [f"{name}/product:0"], layer=name, **_typed([None])),
            Node(f"{name}/gradient", "MatMul", ["x:0"], attributes=gradient, **_typed([500])),
        ]
    nodes.append(Node("loss", "Sum", [f"dense_{LAYERS - 1}/relu:0"], **_typed([])))
    return Graph("train_step", nodes, functions={"": Function(outputs=["loss:0"])})


def _kind(kind: str) -> dict[str, str]:
    return {"tensortap.kind": kind}


def _typed(shape: list[int | None]) -> dict[str, Any]:
    return {"output_dtypes": ["float32"], "output_shapes": [shape]}


def write_workers(folder: Path, ranks: list[int], drifting: int, each: int) -> None:
    """Writes some workers of the run `job`, with `each` tensors at every step."""
    rng = np.random.default_rng(0)
    some = lambda scale: rng.standard_normal(500).astype(np.float32) * np.float32(scale)  # noqa: E731
    weights = [_trained(rng) for _ in range(LAYERS)]
    drifted = [replace(summary, mean=summary.mean * 1.0001) for summary in weights[DRIFT_LAYER]]
    products = [[summarize(some(1.5)) for _ in range(VARIANTS)] for _ in range(LAYERS)]
    relus = [[summarize(np.maximum(some(1.5), 0)) for _ in range(VARIANTS)] for _ in range(LAYERS)]
    gradients = [[summarize(some(0.01)) for _ in range(VARIANTS)] for _ in range(LAYERS)]
    began = time.time() - STEPS
    for rank in ranks:
        with DumpWriter(folder, run="job", rank=rank) as writer:
            graph = writer.graph(network())
            for step in range(STEPS):
                variant, written = (step * 7 + rank * 13) % VARIANTS, 0
                for layer in range(LAYERS):
                    own = rank == drifting and layer == DRIFT_LAYER and step >= DRIFT_STEP
                    found = (
                        drifted[step] if own else weights[layer][step],
                        *(kind[layer][variant] for kind in (products, relus, gradients)),
                    )
                    for name, summary in zip(OF_LAYER, found, strict=True):
                        written += 1
                        if written > each:
                            break
                        writer.log_summary(
                            f"dense_{layer}/{name}:0", summary, step=step, graph=graph, time=began + step,
                            device="/device:GPU:0",
                        )  # fmt: skip


def _trained(rng: np.random.Generator) -> list[Summary]:
    """A weight at each step."""
    weight, found = rng.standard_normal(500).astype(np.float32), []
    for _ in range(STEPS):
        weight = weight - np.float32(0.01) * rng.standard_normal(500).astype(np.float32)
        found.append(summarize(weight))
    return found


def write_job(folder: Path, workers: int, snapshots: int) -> None:
    each = min(LAYERS * len(OF_LAYER), max(1, snapshots // workers // STEPS))
    drifting = int(workers * DRIFT_RANK)
    with ProcessPoolExecutor(2) as pool:
        shares = [list(range(number, workers, 16)) for number in range(min(16, workers))]
        for done in [pool.submit(write_workers, folder, ranks, drifting, each) for ranks in shares]:
            done.result()


def shown(name: str, seconds: float, cpu: float) -> list[str]:
    """A row of figures, printed now, too: the whole takes minutes."""
    print(f"{name}: {seconds:.1f} s, {cpu:.1f} s of CPU", flush=True)
    return [name, f"{seconds:.1f}", f"{cpu:.1f}"]


def child_cpu() -> float:
    """CPU seconds of processes that have ended, and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compact_by_cluster(run_dir: Path) -> list[str]:
    """Compacts on a cluster of two processes, of which one is killed at the third part; a row of figures."""
    distributed = import_module("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    start, before, killed = time.perf_counter(), child_cpu(), 0
    with distributed.LocalCluster(**options, host="127.0.0.1") as cluster:
        victim = next(iter(cluster.workers.values())).process.pid

        def advance(done: int, total: int, what: str) -> None:
            nonlocal killed
            if what == "writing" and done == 3 and not killed:
                os.kill(victim, signal.SIGKILL)
                killed = victim

        with open_engine(f"dask://{cluster.scheduler_address.removeprefix('tcp://')}") as engine:
            done = compact_run(run_dir, engine, advance, rebuild=True)
    assert killed
    seconds = time.perf_counter() - start
    return shown(f"compacted, {done.parts} parts, a process killed", seconds, child_cpu() - before)


def compact_here(run_dir: Path) -> list[str]:
    """Compacts again by one process, and compares the files with those of the cluster; a row of figures."""
    by_cluster = checksums(run_dir)
    start, before = time.perf_counter(), time.process_time()
    with open_engine(processes=1) as engine:
        compact_run(run_dir, engine, rebuild=True)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    assert checksums(run_dir) == by_cluster
    return shown("compacted by one process, the same bytes", seconds, cpu)


def checksums(run_dir: Path) -> list[tuple[int, int]]:
    """Sizes and checksums of all compacted files."""
    manifest = read_manifest(run_dir)
    assert manifest is not None
    return [(file.size, file.crc32c) for file in manifest.files()]


def put_compacted(run_dir: Path) -> None:
    """Puts what was compacted, the graphs and the run's description into the bucket."""
    bucket, place = arrow_bucket(f"s3://{BUCKET}/logs/{run_dir.name}") or (None, "")
    assert bucket is not None
    files = [run_dir / "run.json", *(run_dir / "graphs").iterdir(), *(run_dir / "compact").iterdir()]
    for path in files:
        if path.name != "lock":
            bucket.put_file(str(path), f"{place}/{path.relative_to(run_dir).as_posix()}")


def ask_rules(environment: dict[str, str], name: str, *options: str) -> list[str]:
    """`tensortap rules` on the bucket; a row of figures."""
    command = [sys.executable, "-m", "tensortap", "rules", f"s3://{BUCKET}/logs", "--json", *options]
    start, before = time.perf_counter(), child_cpu()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    texts = [
        found["text"] for found in json.loads(done.stdout)["findings"] if found["rule"] == "ReplicaDrift"
    ]
    assert len(texts) == 1, texts
    assert f"dense_{DRIFT_LAYER}/kernel" in texts[0], texts
    assert f"from step {DRIFT_STEP} on" in texts[0], texts
    return shown(name, seconds, child_cpu() - before)


def ask_page(environment: dict[str, str]) -> list[str]:
    """`tensortap serve` on the bucket, and Chromium: when the page names the drift; a row of figures."""
    command = [
        sys.executable,
        "-m",
        "tensortap",
        "serve",
        f"s3://{BUCKET}/logs",
        "--port",
        "6199",
        "--no-token",
    ]
    with chromium() as browser:
        page = browser.new_page()
        start, before = time.perf_counter(), child_cpu()
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as server:
            try:
                _awaited(lambda: _opens(page))
                page.get_by_text(f"from step {DRIFT_STEP} on").first.wait_for(timeout=120_000)
                seconds = time.perf_counter() - start
            finally:
                server.kill()
        return shown("page, nothing cached", seconds, child_cpu() - before)


def _opens(page: Any) -> bool:
    try:
        page.goto("http://127.0.0.1:6199")
    except Exception:  # the server is not there yet
        return False
    return True


def _awaited(ask: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if found := ask():
            return found
        time.sleep(0.1)
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--workers", type=int, default=256)
    parser.add_argument("--snapshots", type=int, default=10_240_000)
    parser.add_argument("--dir", type=Path, help="where the job is, or is written (default: nowhere)")
    parser.add_argument("--no-compact", action="store_true", help="take what was compacted before")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, s3_server() as server:
        folder = options.dir or Path(temporary)
        run_dir = folder / "job"
        if not run_dir.exists():
            write_job(folder, options.workers, options.snapshots)
        rows = [] if options.no_compact else [compact_by_cluster(run_dir), compact_here(run_dir)]
        os.environ.update(server)
        make_bucket = f"import s3fs; s3fs.S3FileSystem().mkdir({BUCKET!r})"
        subprocess.run([sys.executable, "-c", make_bucket], check=True)
        put_compacted(run_dir)
        caches = [os.environ | {"TENSORTAP_CACHE": f"{temporary}/cache-{name}"} for name in "abc"]
        rows.append(ask_rules(caches[0], "rules, nothing cached, 2 processes", "--processes", "2"))
        rows.append(ask_rules(caches[0], "rules, again"))
        rows.append(ask_rules(caches[1], "rules, nothing cached, no options"))
        rows.append(ask_page(caches[2]))
    print_table(f"A job of {options.workers} workers, from S3", ["", "s", "CPU s"], rows)


if __name__ == "__main__":
    main()
