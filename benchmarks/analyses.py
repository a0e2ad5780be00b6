"""The analyses of a long run, and what a request waits for meanwhile; comparing two steps with all values.

    python benchmarks/analyses.py [--snapshots 1000000] [--layers 222] [--tensors 2768] [--summaries 100000]

Writes a training run of `--layers` layers (nine tensors each) whose last quarter holds NaN, asks a server for
findings, origins and ledger, and another viewer's requests meanwhile. `cold` starts the analysing process and
has no saved index. Then the run grows by a hundredth of its steps, and is looked at again. At last two runs
of `--summaries` snapshots are compared, equal ones and such as differ by rounding in every tensor. Read the
ratios: times depend on the machine and what else it does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import summarize

BATCH, WIDTH = 32, 64


def training_graph(layers: int) -> Graph:
    """A stack of dense layers with ReLU, the loss, and their gradients, marked as a tap marks them."""
    nodes: list[Node] = []

    def add(name: str, op_type: str, *inputs: str, kind: str = "", variable: str = "") -> str:
        marks = {"tensortap.kind": kind, "tensortap.variable": variable}
        shape = (BATCH, WIDTH) if name != "loss/Mean" else ()
        facts = {
            "output_dtypes": ("float32",),
            "output_shapes": (shape,),
            "layer": variable.rpartition("/")[0],
        }
        nodes.append(Node(name, op_type, inputs, attributes={k: v for k, v in marks.items() if v}, **facts))
        return f"{name}:0"

    hidden, forward = add("x", "Placeholder", kind="input"), []
    for number in range(layers):
        scope = f"model/dense_{number}"
        weight = add(f"{scope}/Read", "ReadVariableOp", kind="weight", variable=f"{scope}/kernel")
        bias = add(f"{scope}/BiasRead", "ReadVariableOp", kind="weight", variable=f"{scope}/bias")
        product = add(f"{scope}/MatMul", "MatMul", hidden, weight)
        hidden = add(
            f"{scope}/Relu", "Relu", add(f"{scope}/BiasAdd", "BiasAdd", product, bias), kind="output"
        )
        forward.append((scope, product, weight, hidden))
    gradient = add("loss/Mean", "Mean", hidden)
    for scope, product, weight, output in reversed(forward):
        back = f"gradient_tape/{scope}"
        through = add(f"{back}/ReluGrad", "ReluGrad", gradient, output)
        add(f"{back}/BiasAddGrad", "BiasAddGrad", through, kind="gradient", variable=f"{scope}/bias")
        add(f"{back}/MatMul_1", "MatMul", product, through, kind="gradient", variable=f"{scope}/kernel")
        gradient = add(f"{back}/MatMul", "MatMul", through, weight)
    return Graph("train_step", nodes)


def write_run(folder: Path, snapshots: int, layers: int) -> None:
    graph = training_graph(layers)
    names = [f"{node.name}:0" for node in graph.nodes]
    rng = np.random.default_rng(0)
    some = [
        summarize(rng.normal(size=2048).astype(np.float32) * scale)
        for scale in 10.0 ** rng.uniform(-3, 0, 64)
    ]
    losses = [summarize(np.float32(loss)) for loss in np.linspace(2, 1, 64)]
    steps = max(snapshots // len(names), 1)
    with DumpWriter(folder) as writer:
        place = writer.graph(graph)
        for step in range(steps):
            for number, name in enumerate(names):
                summary = (
                    losses[step * 64 // steps] if name == "loss/Mean:0" else some[(step * 7 + number) % 64]
                )
                if step > steps * 3 // 4 and number > len(names) // 2:
                    summary = replace(summary, nan=3)
                writer.log_summary(name, summary, step=step, graph=place)


def write_more(folder: Path, run: str, layers: int, first: int, steps: int) -> None:
    """Some more steps of the run, by another worker."""
    graph = training_graph(layers)
    summary = summarize(np.random.default_rng(1).normal(size=2048).astype(np.float32))
    with DumpWriter(folder, run) as writer:
        place = writer.graph(graph)
        for step in range(first, first + steps):
            for node in graph.nodes:
                writer.log_summary(f"{node.name}:0", summary, step=step, graph=place)


def write_values(folder: Path, tensors: int, changed: bool) -> None:
    """One step of tensors with values, some 45 kB each; the last tenth of them differs if `changed`."""
    nodes = [Node("t0", "Placeholder", output_dtypes=("float32",), output_shapes=((96, 118),))]
    for number in range(1, tensors):
        shape = {"output_dtypes": ("float32",), "output_shapes": ((96, 118),)}
        nodes.append(Node(f"t{number}", "Tanh", (f"t{number - 1}:0",), **shape))
    rng = np.random.default_rng(0)
    with DumpWriter(folder) as writer:
        graph = writer.graph(Graph("step", nodes))
        for number in range(tensors):
            value = rng.standard_normal((96, 118)).astype(np.float32)
            if changed and number > tensors * 9 // 10:
                value *= 1 + 1e-3 * rng.standard_normal(value.shape).astype(np.float32)
            writer.log(f"t{number}:0", value, step=0, graph=graph, keep="value")


def worked_out(client: Any, address: str) -> float:
    """Seconds until an analysis is through."""
    begun = time.perf_counter()
    while client.get(address).get_json()["working"]:
        time.sleep(0.02)
    return time.perf_counter() - begun


def measure_server(folder: Path, layers: int) -> None:
    from tensortap.server.app import create_app

    app = create_app(folder)
    client = app.test_client()
    begun = time.perf_counter()
    app.extensions["tensortap"].log.refresh()
    print(f"server reads the dump, no saved index   {time.perf_counter() - begun:8.2f} s")
    (run,) = client.get("/api/runs").get_json()["runs"]
    base = f"/api/runs/{run['id']}"
    print(f"snapshots                               {run['snapshots']:10,}")
    waits, stop = list[float](), threading.Event()
    addresses = (base, f"{base}/history?tensor=model/dense_{layers // 2}/Relu:0", "/api/changes")

    def view() -> None:
        viewer = app.test_client()
        while not stop.wait(0.01):
            for address in addresses:
                begun = time.perf_counter()
                assert viewer.get(address).status_code == 200
                waits.append((time.perf_counter() - begun) * 1e3)

    before = _waits(view, stop, waits, lambda: time.sleep(2))
    during = _waits(view, stop, waits, lambda: _analyses(client, base))
    for name, found in (("alone", before), ("during the analyses", during)):
        p50, p99 = np.percentile(found, [50, 99])
        print(f"request, {name:<21} p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   worst {max(found):6.1f} ms")


def _waits(
    view: Callable[[], None], stop: threading.Event, waits: list[float], meanwhile: Callable[[], None]
) -> list[float]:
    stop.clear()
    waits.clear()
    viewer = threading.Thread(target=view)
    viewer.start()
    meanwhile()
    stop.set()
    viewer.join()
    return list(waits)


def _analyses(client: Any, base: str) -> None:
    for name, what in (("findings, cold", "findings"), ("origins", "nan"), ("ledger", "ledger")):
        print(f"{name:<40}{worked_out(client, f'{base}/{what}'):8.2f} s")


def measure_here(folder: Path, layers: int) -> None:
    from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
    from tensortap.analysis.nonfinite.nan_report import nan_report
    from tensortap.analysis.rules.runner import check_rules
    from tensortap.index.logdir_index import LogIndex

    log = LogIndex(folder)
    begun, cpu = time.perf_counter(), time.process_time()
    log.refresh()
    check_rules(log.runs[0])
    print(f"open (saved index) and rules, in one process {time.perf_counter() - begun:.2f} s, "
          f"{time.process_time() - cpu:.2f} s of CPU")  # fmt: skip
    for name, analyse in (
        ("origins", nan_report),
        ("origins again", nan_report),
        ("ledger", dead_layer_ledger),
    ):
        cpu = time.process_time()
        analyse(log.runs[0])
        print(f"{name:<40}{time.process_time() - cpu:8.2f} s of CPU")
    steps = log.runs[0].steps.step
    more = max(len(steps) // 100, 1)
    again = ("rules again, as it was", lambda: check_rules(log.runs[0]))
    write_more(folder, log.runs[0].name, layers, int(steps[-1]) + 1, more)
    for name, grow in (
        again,
        (f"reading {more} more steps", log.refresh),
        ("rules again, grown by 1 %", lambda: check_rules(log.runs[0])),
        ("ledger again", lambda: dead_layer_ledger(log.runs[0])),
        again,
    ):
        cpu = time.process_time()
        grow()
        print(f"{name:<40}{time.process_time() - cpu:8.2f} s of CPU")


def measure_difference(folder: Path, tensors: int) -> None:
    from tensortap.analysis.compare.compare import compare
    from tensortap.analysis.compare.side import Side
    from tensortap.index.logdir_index import LogIndex

    for name, changed in (("a", False), ("b", True)):
        write_values(folder / name, tensors, changed)
    log = LogIndex(folder)
    log.refresh()
    a, b = sorted(log.runs, key=lambda run: run.name)
    cpu = time.process_time()
    found = compare(Side(a), Side(b))
    print(
        f"diff of {len(found.tensors):,} tensors with values       {time.process_time() - cpu:8.2f} s of CPU"
    )


def write_summaries(folder: Path, snapshots: int, layers: int, rounding: float) -> None:
    """Steps of a training, of which every element is off by rounding, a part of it."""
    graph = training_graph(layers)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=2048).astype(np.float32) * scale for scale in 10.0 ** rng.uniform(-3, 0, 64)]
    some = [summarize((v * (1 + rounding * rng.normal(size=2048))).astype(np.float32)) for v in values]
    with DumpWriter(folder) as writer:
        place = writer.graph(graph)
        for step in range(max(snapshots // len(graph.nodes), 1)):
            for number, node in enumerate(graph.nodes):
                writer.log_summary(f"{node.name}:0", some[(step * 7 + number) % 64], step=step, graph=place)


def measure_summaries(folder: Path, snapshots: int, layers: int) -> None:
    from tensortap.analysis.compare.compare import compare
    from tensortap.analysis.compare.side import Side
    from tensortap.index.logdir_index import LogIndex

    for name, rounding in (("a", 0.0), ("equal", 0.0), ("rounded", 1e-7)):
        write_summaries(folder / name, snapshots, layers, rounding)
    log = LogIndex(folder)
    log.refresh()
    runs = {run.name.partition("/")[0]: run for run in log.runs}
    for name in ("equal", "rounded"):
        cpu = time.process_time()
        found = compare(Side(runs["a"]), Side(runs[name]))
        assert not found.differ
        used, rows = time.process_time() - cpu, runs["a"].catalog.rows
        print(f"diff of {rows:,} summaries, {name:<18}{used:8.2f} s of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--snapshots", type=int, default=1_000_000)
    parser.add_argument("--layers", type=int, default=222)
    parser.add_argument("--tensors", type=int, default=2768)
    parser.add_argument("--summaries", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENSORTAP_CACHE"] = str(Path(folder, "cache"))
        write_run(Path(folder, "long", "run"), arguments.snapshots, arguments.layers)
        measure_server(Path(folder, "long"), arguments.layers)
        measure_here(Path(folder, "long"), arguments.layers)
        measure_difference(Path(folder, "pair"), arguments.tensors)
        measure_summaries(Path(folder, "summaries"), arguments.summaries, arguments.layers)


if __name__ == "__main__":
    main()
