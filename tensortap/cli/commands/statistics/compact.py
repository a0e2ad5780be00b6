"""`tensortap compact`: writes the statistics of runs as Parquet files beside them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from tensortap.core.errors import NotARunError
from tensortap.core.text import bytes_text, counted
from tensortap.dump.read.runs import find_runs

from ...argument_types import add_engine, on_disk
from ...console import cell, console, print_json
from ...progress import part_progress

if TYPE_CHECKING:
    from tensortap.compact.compactor import Compaction

HELP = "write the statistics of runs as sorted and merged Parquet files, for faster reading"
EXAMPLE = "tensortap compact logs/digits"
_SHOWN = 8  # sentences about damage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=on_disk("only local runs can be compacted: compact the original, then copy it"),
        metavar="LOGDIR|RUN",
        help="a directory of runs, or one run",
    )
    add_engine(parser)
    parser.add_argument("--rebuild", action="store_true", help="rewrite all files, not only new ones")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.compact.compactor import compact_run
    from tensortap.scale.registry import open_engine

    runs = find_runs(arguments.path) if arguments.path.is_dir() else []
    if not runs:
        raise NotARunError(f"No run found in {str(arguments.path)!r}.", "Pass a directory with a run.json.")
    found: dict[str, Compaction] = {}
    with open_engine(arguments.engine, arguments.processes) as engine:
        for name, path in runs:
            with part_progress(f"compacting {name}") as advance:
                found[name] = compact_run(
                    path, engine, lambda done, total, doing: advance(done, total), rebuild=arguments.rebuild
                )
    if arguments.json:
        print_json({"runs": {name: asdict(each) for name, each in found.items()}})
        return 0
    for name, each in found.items():
        for line in _sentences(name, each):
            console().print(cell(line))
    return 0


def _sentences(name: str, done: Compaction) -> list[str]:
    held = f"{counted(done.snapshots, 'snapshot')} in {counted(done.parts, 'part')}, {bytes_text(done.bytes)}"
    lines = [f"{name}: {held}; {done.added:,} added, {counted(done.written, 'part')} written"]
    if done.rebuilt:
        lines.append(f"  rebuilt: {done.rebuilt}")
    lines += [f"  skipped: {sentence}" for sentence in done.damage[:_SHOWN]]
    if len(done.damage) > _SHOWN:
        lines.append(f"  … and {len(done.damage) - _SHOWN:,} more (--json lists them)")
    return lines
