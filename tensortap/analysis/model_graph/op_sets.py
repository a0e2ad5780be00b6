"""Sets of op types, and how they are written."""

from __future__ import annotations


def ops(text: str) -> frozenset[str]:
    """`"Log Exp"` -> `{"Log", "Exp"}`."""
    return frozenset(text.split())


# Ops that call functions of the graph.
CALLS = ops("While StatelessWhile If StatelessIf Case StatelessCase PartitionedCall StatefulPartitionedCall")
