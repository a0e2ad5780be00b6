"""How the store grows: bytes per snapshot, opening (cold, warm), every query of the HTTP API, memory.

    python benchmarks/store.py [--sizes 20000x200,200000x200,200000x2000,1000000x2000] [--runs 1,10]
                               [--tensorboard 200000x200] [--calls 60] [--compacted [--repeat 10] [--dir DIR]]

A size is SNAPSHOTSxTENSORS. Each is written, opened without a saved index (cold) and with it (warm), and
asked about tensors and steps drawn at random, each time in a separate process. `--runs` splits the first
size over several runs. `--tensorboard` loads one size's statistics as histogram summaries too, with
TensorBoard's own reader. `--repeat` writes a part of each size, and repeats its compacted files with later
steps. `--dir` keeps what was written for the next call. Read the ratios: times depend on the machine and on
what else it does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _table import print_table
from query import Measured, ask_tensorboard, opened, resident, rows, write_dump, write_events

MAX_BYTES = 200  # per snapshot
GOALS = {  # snapshots: seconds to open; p99 in ms of default pages, of one tensor or step, of all rows; MB
    1_000_000: (0.1, 30, 30, 50, 300),
    10_000_000: (0.2, 50, 50, 250, 600),
    100_000_000: (1.0, 100, 200, 1500, 1000),
}
ONE = ("one step", "history", "histograms", "histograms, 500 rows", "snapshots of a tensor")
ALL_ROWS = ("snapshots by pattern", "snapshots, sorted", "snapshots, condition", "non-finite")


def tensor_name(number: int) -> str:
    """As `query.rows` names them."""
    return f"model/block_{number // 8}/layer_{number % 8}/Relu:0"


def questions(tensors: int, steps: int, seed: int) -> dict[str, Callable[[], str]]:
    """Addresses of each kind below a run, with parameters drawn at random."""
    draw = random.Random(seed)
    some = lambda: tensor_name(draw.randrange(tensors))  # noqa: E731
    return {
        "run": lambda: "",
        "graph": lambda: "/graphs/-",
        "one step": lambda: f"/graphs/-/steps/{draw.randrange(steps)}",
        "node": lambda: f"/nodes?graph=-&node={some().removesuffix(':0')}",
        "history": lambda: f"/history?tensor={some()}",
        "histograms": lambda: f"/histograms?tensor={some()}",
        "histograms, 500 rows": lambda: f"/histograms?tensor={some()}&limit=500",
        "snapshots, first page": lambda: "/snapshots",
        "snapshots of a tensor": lambda: f"/snapshots?tensor={some()}&sort=-step",
        "snapshots by pattern": lambda: f"/snapshots?match=block_{draw.randrange(9)}/.*Relu&sort=-abs_max",
        "snapshots, sorted": lambda: f"/snapshots?sort=-{draw.choice(['abs_max', 'std', 'l2', 'time'])}",
        "snapshots, condition": lambda: f"/snapshots?where=abs_max+>+{draw.uniform(0, 10):.3f}",
        "non-finite": lambda: "/snapshots?nonfinite=1",
        "problems": lambda: "/problems",
    }


def ask(folder: Path, tensors: int, steps: int, calls: int) -> Measured:
    """Opens the log directory and asks its API; milliseconds at the median and at the 99th of 100 calls."""
    from tensortap.server.serve import Server
    from tensortap.system.pandas_guard import hide_pandas

    hide_pandas()  # as `tensortap serve` does
    server = Server([folder], port=0, use_token=False, own_process=True)
    client, at = server.app.test_client(), server.url.rstrip("/")
    found = opened(server.app.extensions["tensortap"].log.refresh)
    start = time.perf_counter()
    overview = client.get(f"{at}/api/runs").get_json()["runs"][0]
    found["first page, ms"] = (time.perf_counter() - start) * 1e3
    times: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}  # what a query takes itself, whatever else the machine does
    for name, address in questions(tensors, steps, 0).items():
        for _ in range(calls):
            url = f"{at}/api/runs/{overview['id']}{address()}"
            begun, used = time.perf_counter(), time.process_time()
            answer = client.get(url)
            cpu.setdefault(name, []).append((time.process_time() - used) * 1e3)
            times.setdefault(name, []).append((time.perf_counter() - begun) * 1e3)
            assert answer.status_code == 200, (url, answer.get_data(as_text=True)[:300])
    for name, taken in times.items():
        found[f"{name}, p50"], found[f"{name}, p99"] = np.percentile(taken, [50, 99]).tolist()
        found[f"{name}, CPU p99"] = float(np.percentile(cpu[name], 99))
    found["memory after all, MB"] = resident()
    found["of which own, MB"] = status("RssAnon")
    found["of which mapped files, MB"] = status("RssFile")  # the system takes them back when it needs memory
    found["peak, MB"] = peak()
    return found


def peak() -> float:
    """The most memory this program had, MB (`ru_maxrss` counts that of the process which started it)."""
    return status("VmHWM")


def status(name: str) -> float:
    """A figure of this process, MB, as Linux reports it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return int(line.split()[1]) / 1e3


def in_a_process_of_its_own(what: str, folder: Path, cache: Path, *numbers: int) -> Measured:
    command = [sys.executable, __file__, "--ask", what, str(folder), *map(str, numbers)]
    environment = os.environ | {"TENSORTAP_CACHE": str(cache)}
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    measured: Measured = json.loads(done.stdout)
    return measured


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def repeat_parts(run_dir: Path, times: int) -> None:
    """Makes a compacted run of one worker `times` as long: the same rows, with later steps."""
    from tensortap.compact.manifest import (
        TABLES,
        CompactedPart,
        CompactFile,
        Manifest,
        join_tables,
        publish_manifest,
        read_manifest,
        read_parquet,
    )
    from tensortap.compact.parts import merge_by_tensor, write_table

    known = read_manifest(run_dir)
    assert known is not None
    ((worker, mark),) = known.workers.items()
    steps, rows = known.parts[-1].last + 1, known.snapshots
    day = 86_400_000_000  # microseconds
    shifts = {"step": steps, "first_step": steps, "last_step": steps, "seq": rows, "first_seq": rows}
    shifts |= {"time": day, "first_time": day, "last_time": day}

    def later(part: CompactedPart, number: int) -> CompactedPart:
        first, last = part.first + number * steps, part.last + number * steps
        files = {}
        for name in TABLES:
            table = read_parquet(getattr(part, name).path(run_dir))
            for column in shifts.keys() & {*table.column_names}:
                kind = table.schema.field(column).type
                moved = pc.add(table.column(column).cast(pa.int64()), number * shifts[column]).cast(kind)
                table = table.set_column(table.column_names.index(column), column, moved)
            files[name] = write_table(run_dir, f"{name}-{first}-{last}-repeated", table)
        return CompactedPart(first, last, part.snapshots, part.bytes, **files)

    parts = [later(part, number) for number in range(1, times) for part in known.parts]
    parts = [*known.parts, *parts]
    sources = {"run": str(run_dir), "sources": [asdict(part.by_tensor) for part in parts], "name": "repeated"}
    by_tensor = CompactFile(**merge_by_tensor(sources))
    longer = Manifest({worker: replace(mark, snapshots=rows * times)}, parts, by_tensor)
    longer.tables = join_tables(run_dir, longer, "repeated")
    publish_manifest(run_dir, longer)


def compact_only(run_dir: Path) -> Measured:
    """Compacts a run, and removes its streams; what it took."""
    from tensortap.compact.compactor import compact_run
    from tensortap.scale.local import LocalEngine

    used = time.process_time()
    with LocalEngine(1) as engine:
        compact_run(run_dir, engine)
    found = {"compaction, CPU s": time.process_time() - used}
    for worker in run_dir.glob("*/worker.json"):
        shutil.rmtree(worker.parent)
    return found


def prepare(
    folder: Path, snapshots: int, tensors: int, runs: int, calls: int, compacted: bool, repeat: int
) -> Measured:
    """Writes one size of dump, and opens it without a saved index, which saves one."""
    dump, cache = folder / "dump", folder / "cache"
    for number in range(runs):
        write_dump(dump / f"run_{number}", snapshots // runs // repeat, tensors)
    found = {"snapshots": snapshots, "tensors": tensors, "steps": snapshots // runs // tensors, "runs": runs}
    if compacted:
        found["streams, bytes per snapshot"] = folder_size(dump) / snapshots * repeat
        for run_dir in [path.parent for path in dump.rglob("run.json")]:
            found |= compact_only(run_dir)
            if repeat > 1:
                repeat_parts(run_dir, repeat)
    cold = in_a_process_of_its_own("open", dump, cache, tensors, int(found["steps"]), calls)
    found |= {f"cold: {name}": cold[name] for name in ("open, s", "open, CPU s", "peak, MB")}
    for name, each in {"dump": dump, "saved index": cache}.items():
        found[f"{name}, bytes per snapshot"] = folder_size(each) / snapshots
    return found


def measure(
    snapshots: int,
    tensors: int,
    runs: int,
    calls: int,
    compacted: bool = False,
    repeat: int = 1,
    kept: Path | None = None,
) -> Measured:
    """One size of dump. `kept`: where it stays, with the figures of writing it; None: it is removed again."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if kept is None else kept / f"{snapshots}x{tensors}"
        figures = folder / "figures.json"
        if not figures.exists():
            found = prepare(folder, snapshots, tensors, runs, calls, compacted, repeat)
            figures.write_text(json.dumps(found), encoding="utf-8")
        found = json.loads(figures.read_text(encoding="utf-8"))
        steps = int(found["steps"])
        warm = in_a_process_of_its_own("ask", folder / "dump", folder / "cache", tensors, steps, calls)
    return found | {f"warm: {name}": value for name, value in warm.items()}


def measure_tensorboard(snapshots: int, tensors: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        write_events(Path(folder), snapshots, tensors)
        size = folder_size(Path(folder)) / snapshots
        found = in_a_process_of_its_own("tensorboard", Path(folder), Path(folder), 0, 0, 0)
    return {"snapshots": snapshots, "tensors": tensors, "bytes per snapshot": size, **found}


def answer(what: str, folder: Path, tensors: int, steps: int, calls: int) -> Measured:
    if what == "tensorboard":
        return ask_tensorboard(folder, next(name for _, name, _ in rows(1, 1)))
    if what == "ask":
        return ask(folder, tensors, steps, calls)
    from tensortap.index.logdir_index import LogIndex

    return opened(lambda: LogIndex(folder).refresh()) | {"peak, MB": peak()}


def verdicts(found: Measured) -> list[str]:
    """What the store promises, and whether it keeps it. Milliseconds are of CPU: the machine may be busy."""
    size = min((size for size in GOALS if size >= found["snapshots"]), default=max(GOALS))
    opened, default, one, rows, memory = GOALS[size]
    took = {
        name.removeprefix("warm: ").removesuffix(", CPU p99"): value
        for name, value in found.items()
        if name.endswith("CPU p99")
    }
    slowest = lambda names: max((took[name], name) for name in names)  # noqa: E731
    kinds = [
        ("default pages", slowest(took.keys() - {*ONE, *ALL_ROWS}), default),
        ("history or one step", slowest(ONE), one),
        ("sorted or by condition", slowest(ALL_ROWS), rows),
    ]
    checks = [
        ("bytes per snapshot", found["dump, bytes per snapshot"], MAX_BYTES),
        ("open, CPU s", found["warm: open, CPU s"], opened),
        *((f"p99 of {kind}, ms ({name})", value, limit) for kind, (value, name), limit in kinds),
        ("memory, MB", max(found["warm: peak, MB"], found["warm: memory after all, MB"]), memory),
    ]
    return [
        f"{'kept ' if value <= limit else 'MISSED'} {what}: {value:.3g} of {limit}"
        for what, value, limit in checks
    ]


def print_columns(title: str, columns: list[Measured]) -> None:
    names = list(columns[0])
    print_table(
        title,
        ["", *map(str, range(1, len(columns) + 1))],
        [[n, *(f"{c[n]:,.3f}".removesuffix(".000") for c in columns)] for n in names],
    )


def size(text: str) -> tuple[int, int]:
    snapshots, _, tensors = text.partition("x")
    return int(snapshots), int(tensors)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="20000x200,200000x200,200000x2000,1000000x2000")
    parser.add_argument("--runs", default="1,10", help="over how many runs the first size is split")
    parser.add_argument("--tensorboard", default="200000x200", help="size for the comparison; empty for none")
    parser.add_argument("--calls", type=int, default=60, help="of each query")
    parser.add_argument("--compacted", action="store_true", help="ask runs of which only compact/ is left")
    parser.add_argument(
        "--repeat", type=int, default=1, help="of a size that is compacted: write this part of it"
    )
    parser.add_argument("--dir", type=Path, help="where sizes are, or are written (default: nowhere)")
    parser.add_argument("--ask", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        what, folder, *numbers = options.ask
        print(json.dumps(answer(what, Path(folder), *map(int, numbers))))
        return
    sizes = [size(text) for text in options.sizes.split(",")]
    grown = [measure(*sizes[0], int(runs), options.calls) for runs in options.runs.split(",") if runs != "1"]
    columns = [
        measure(*each, 1, options.calls, options.compacted, options.repeat, options.dir) for each in sizes
    ]
    print_columns("Growth (milliseconds where nothing else is said)", columns + grown)
    for column in columns:
        print(f"\n{column['snapshots']:,.0f} snapshots of {column['tensors']:,.0f} tensors")
        print(*verdicts(column), sep="\n")
    if options.tensorboard:
        print_columns(
            "TensorBoard, the same as histogram summaries", [measure_tensorboard(*size(options.tensorboard))]
        )


if __name__ == "__main__":
    main()
