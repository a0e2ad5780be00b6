"""`tensortap nan`: where NaN and infinities were born."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ..argument_types import natural
from ..console import console, print_json
from ..select_run import add_path, only_run
from ..views.nan import print_report

HELP = "find where NaN and infinities were born, why, and how they reached the loss"
EXAMPLE = "tensortap nan logs/digits-nan; tensortap nan logs/digits-nan --step 27 --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument(
        "--step", type=natural, metavar="N", help="default: the first step at which some are born"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.analysis.nonfinite.nan_report import nan_report
    from tensortap.index.unknown_counts import snapshots_not_counted

    found = only_run(arguments.path)
    report, unknown = nan_report(found, arguments.step), snapshots_not_counted(found.catalog)
    if arguments.json:
        print_json(asdict(report) | {"snapshots_not_counted": unknown})
    else:
        print_report(report, console(), unknown, captured=found.catalog.rows > 0)
    return 0
