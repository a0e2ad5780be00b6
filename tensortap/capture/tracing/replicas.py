"""Which replica of a distribution strategy a node belongs to."""

from __future__ import annotations

import re
from collections.abc import Collection

# MirroredStrategy traces the replicas one after another; the first keeps the plain names.
_REPLICA = re.compile(r"(?:(?<=/)|\A)replica_(\d+)/")


def replica_numbers(names: Collection[str]) -> dict[str, int]:
    """Node name -> replica; empty without several of them. Nodes that all share have none."""
    found = {name: int(match.group(1)) for name in names if (match := _REPLICA.search(name))}
    first = {_REPLICA.sub("", name) for name in found}
    return found | {name: 0 for name in names if name in first and name not in found}
