"""`tensortap ledger`: which gradients are exactly zero and why, and which updates are rounded away."""

from __future__ import annotations

import argparse

from ..console import console, print_json
from ..progress import rules_progress
from ..select_run import add_path, only_run
from ..views.ledger import print_ledger

HELP = "list dead layers: gradients that are exactly zero and why, updates that are rounded away"
EXAMPLE = "tensortap ledger logs/digits; tensortap ledger logs/digits --all --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument("--all", action="store_true", help="variables that learn, too, however many")
    parser.add_argument("--json", action="store_true", help="print JSON, with all variables")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.analysis.dead_layers.ledger import dead_layer_ledger

    found = only_run(arguments.path)
    with rules_progress() as progress:
        entries = dead_layer_ledger(found, advance=progress)
    if arguments.json:
        print_json({"run": found.name, "entries": entries})
    else:
        print_ledger(found.name, entries, console(), every=arguments.all)
    return 0
