"""`tensortap ledger`: gradients that are exactly zero and why, and updates that are lost to rounding."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from tensortap.core.text import counted

from ...argument_types import add_engine
from ...console import cell, console, plain_table, print_json
from ...progress import rules_progress
from ...select_run import add_path, only_run, report_damage

if TYPE_CHECKING:
    from tensortap.analysis.dead_layers.ledger import LedgerEntry

HELP = "list zero gradients with their cause, and updates lost to rounding"
EXAMPLE = "tensortap ledger logs/digits; tensortap ledger logs/digits --all --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument("--all", action="store_true", help="also list the variables that train")
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print JSON with all variables")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.analysis.dead_layers.ledger import dead_layer_ledger

    found = only_run(arguments.path, arguments)
    with rules_progress() as progress:
        entries = dead_layer_ledger(found, advance=progress)
    report_damage(found)
    if arguments.json:
        print_json({"run": found.name, "entries": entries, "damage": found.missing_data})
    else:
        taped = any(graph.name.endswith("_backward") for graph in found.graphs)
        print_ledger(found.name, entries, console(), every=arguments.all, taped=taped)
    return 0


_MAX_LISTED = 40  # variables to list by default
_LEAST = 0.005  # share of lost updates up to which none is reported: it is shown as 0 %
_WORDS = {"": "learns", "unknown": "zero, cause not captured"}


def print_ledger(
    run: str, entries: Sequence[LedgerEntry], out: Console, *, every: bool, taped: bool = False
) -> None:
    """Prints the ledger, the deadest first.

    Args:
        every: those that learn, too, however many.
        taped: whether gradients were taken between captured functions, by an eager tape.
    """
    if not entries and taped:
        out.print(cell(f"{run}: the gradients of its variables are unknown.", "yellow"))
        out.print("They were computed by an eager GradientTape: put tape and optimizer into one tf.function.")
        return
    if not entries:
        out.print(cell(f"{run}: no gradients were captured.", "yellow"))
        out.print("Capture gradients and weights: Watch(), or Watch(kinds=('gradient', 'weight')).")
        return
    dead = [entry for entry in entries if entry.reason or (entry.absorbed or 0) > _LEAST]
    colour = "bold green" if not dead else "bold"
    apart = sum(_has_none(entry) for entry in dead)
    names = f"{counted(len(entries), 'variable')}, {len(dead) - apart:,} with zeros or lost updates"
    names += f", {apart:,} without a gradient" if apart else ""
    out.print(cell(f"{run}: {names}", colour))
    shown = entries if every else dead[:_MAX_LISTED]
    if shown:
        out.print(_table(shown))
    for entry in shown:
        if entry.why:
            out.print(cell(f"{entry.variable}: {entry.why}."))
    if not every and len(dead) > len(shown):
        out.print(f"… {len(dead) - len(shown):,} more (use --all)")


def _has_none(entry: LedgerEntry) -> bool:
    """Whether the run has no gradients at all."""
    return entry.reason == "disconnected" and not entry.zero_steps


def _table(entries: Sequence[LedgerEntry]) -> object:
    table = plain_table(
        *("variable", "reason", "zero at", "of steps", "since step", "zeros", "updates lost"),
        numeric=("zero at", "of steps", "since step", "zeros", "updates lost"),
    )
    for entry in entries:
        table.add_row(
            cell(entry.variable, "bold" if entry.reason else ""),
            cell(_WORDS.get(entry.reason, entry.reason)),
            f"{entry.zero_steps:,}",
            f"{entry.steps:,}",
            "" if entry.first_zero_step is None else str(entry.first_zero_step),
            "" if _has_none(entry) else f"{entry.zero_share:.0%}",
            _lost(entry),
        )
    return table


def _lost(entry: LedgerEntry) -> str:
    """The share of updates that are lost, and of how many pairs of steps where not all were compared."""
    if entry.absorbed is None:
        return "unknown"
    chosen = entry.absorbed_steps < entry.absorbed_of
    pairs = f" ({entry.absorbed_steps:,} of {entry.absorbed_of:,} pairs)" if chosen else ""
    return f"{entry.absorbed:.0%}{pairs}"
