"""`tensortap prune`: removes old values of runs; summaries stay."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tensortap.core.errors import InvalidValueError, NotARunError
from tensortap.core.text import bytes_text, counted
from tensortap.dump.maintenance.pruning import Pruned, prune_run
from tensortap.dump.read.runs import find_runs
from tensortap.dump.write.retention import Retention

from ..argument_types import on_disk, size
from ..console import cell, console, print_json

HELP = "delete old values of runs; statistics and histograms stay"
EXAMPLE = "tensortap prune logs/digits --keep-last 10 --max-bytes 2G --dry-run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=on_disk("remote runs cannot be pruned; use the retention rules of your store"),
        metavar="LOGDIR|RUN",
        help="a directory of runs, or one run",
    )
    parser.add_argument("--keep-last", type=int, metavar="N", help="keep the values of the last N steps")
    parser.add_argument(
        "--max-bytes",
        type=size,
        metavar="SIZE",
        help="keep at most this many bytes of values per run, e.g. 500M or 2G",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    retention = Retention(arguments.keep_last, arguments.max_bytes)
    if retention.everything:
        raise InvalidValueError("No retention limit given.", "Add --keep-last N or --max-bytes SIZE.")
    runs = find_runs(arguments.path) if arguments.path.is_dir() else []
    if not runs:
        raise NotARunError(
            f"No run found in {str(arguments.path)!r}.",
            "Pass a directory; archives are never changed.",
        )
    found = {name: prune_run(path, retention, dry_run=arguments.dry_run) for name, path in runs}
    if arguments.json:
        print_json({"dry_run": arguments.dry_run, "runs": {name: asdict(p) for name, p in found.items()}})
        return 0
    for name, pruned in found.items():
        for line in _sentences(name, pruned, retention, arguments.dry_run):
            console().print(cell(line))
    return 0


def _sentences(name: str, pruned: Pruned, retention: Retention, dry_run: bool) -> list[str]:
    """Sentences on the values that a run lost, and why it keeps more than requested."""
    verb = "would lose" if dry_run else "lost"
    values, files = counted(pruned.values, "value"), counted(pruned.files, "file")
    summary = (
        f"{verb} {values} in {files}, {bytes_text(pruned.bytes)}" if pruned.files else "keeps all values"
    )
    lines = [f"{name} {summary}"]
    if pruned.moved:
        kept = "would be kept" if dry_run else "were kept" if pruned.moved > 1 else "was kept"
        lines.append(f"  {counted(pruned.moved, 'value')} from the same files {kept}, in a new file")
    if pruned.newest:
        lines.append(
            "  this includes values of the last step, which exceed the limit or share a file with older ones"
        )
    lines += [f"  damaged, so not pruned: {sentence}" for sentence in pruned.damaged]
    limit, steps = retention.max_bytes, retention.keep_last
    if (limit and pruned.left_bytes > limit) or (steps and pruned.left_steps > steps):
        left = f"{bytes_text(pruned.left_bytes)} in {counted(pruned.left_files, 'file')}"
        reasons = []
        if pruned.writing:
            reasons.append(f"{counted(pruned.writing, 'file')} may still be open for writing")
        if pruned.left_files > pruned.writing:
            reasons.append("workers that are open or damaged are pruned in whole files only")
        lines.append(f"  {left} of {counted(pruned.left_steps, 'step')} remain: {'; '.join(reasons)}")
    return lines
