"""What to say where values would have told more: why they are not there, and what helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tensortap.index.missing_values import no_value
from tensortap.index.query.search import snapshots
from tensortap.index.run_index import RunIndex


def without_elements(run: RunIndex, tensor: str, graph: str, step: int) -> str | None:
    """Why the offending elements of a tensor at a step cannot be shown; None where its value is there."""
    missing = snapshots(run, tensor=tensor, graph=graph, steps=step, kept=False, limit=1).rows
    if not missing:
        return None
    if missing[0].no_value == "summary":
        return 'Only summaries were kept: with Watch(keep="value") the offending elements are shown too.'
    happened, why, way_out = no_value(missing[0].no_value, run.catalog.source)
    text = f"The offending elements cannot be shown: the value of {tensor} is {happened}, as {why}."
    return f"{text} {way_out}".rstrip()


def without_values(a: Sequence[str], b: Sequence[str]) -> str:
    """Of tensors that were compared by their summaries: why, and what would tell more.

    Args:
        a, b: `Snapshot.no_value` of both sides, empty where the value is there.
    """
    sides = {name: Counter(filter(None, codes)) for name, codes in (("A", a), ("B", b))}
    others = [f"{_told(codes)} in {name}" for name, codes in sides.items() if codes.keys() - {"summary"}]
    asked = [name for name, codes in sides.items() if "summary" in codes]
    told = f"Values are missing: {'; '.join(others)}." if others else ""
    if asked:
        where = "both runs" if len(asked) == 2 else asked[0]
        told += f' Watch(keep="value") in {where} tells {"more" if others else "all"}.'
    return told.strip()


def _told(codes: Counter[str]) -> str:
    """`3 pruned, 1 not in the source of the import`."""
    words = Counter[str]()
    for code, count in codes.items():
        words["not in the source of the import" if code == "source" else no_value(code, "").happened] += count
    return ", ".join(f"{count:,} {word}" for word, count in words.most_common())
