"""Sets of op types, written as one text."""

from __future__ import annotations


def ops(text: str) -> frozenset[str]:
    """`"Log Exp"` -> `{"Log", "Exp"}`."""
    return frozenset(text.split())
