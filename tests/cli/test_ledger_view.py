"""What `tensortap ledger` prints of variables whose updates are lost."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console

from tensortap.analysis.dead_layers.ledger import LedgerEntry
from tensortap.cli.commands.analysis.ledger import print_ledger

LOST = LedgerEntry(
    *("dense/kernel", "g:0", "g", "step", "dense", 84, 0, None, 0.0, "", "", ""),
    absorbed=0.56,
    absorbed_steps=11,
    absorbed_of=11,
)


def printed(entry: LedgerEntry) -> str:
    out = StringIO()
    print_ledger("digits", [entry], Console(file=out, width=200), every=False)
    return out.getvalue()


def test_a_share_of_lost_updates_that_rounds_to_none_is_not_listed() -> None:
    assert "digits: 1 variable, 0 with zeros or lost updates" in printed(replace(LOST, absorbed=0.0008))
    assert "dense/kernel" not in printed(replace(LOST, absorbed=0.0008))
    assert "digits: 1 variable, 1 with zeros or lost updates" in printed(LOST)


def test_a_share_of_lost_updates_says_of_how_many_pairs_it_is_unless_it_is_of_all() -> None:
    assert "56%" in printed(LOST) and "pairs" not in printed(LOST)
    assert "56% (32 of 1,500 pairs)" in printed(replace(LOST, absorbed_steps=32, absorbed_of=1500))
