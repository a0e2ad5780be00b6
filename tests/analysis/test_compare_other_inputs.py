"""A node that takes another input: `diff` doesn't say that its inputs are equal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from synthetic_runs import node, synthetic_run

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.side import Side
from tensortap.index.run_index import RunIndex


def run(folder: Path, name: str, output: str, difference: list[float]) -> RunIndex:
    """A model of two outputs; the loss takes one of them."""
    nodes = [
        node("x", "Placeholder", kind="input"),
        node("price", "Neg", "x"),
        node("score", "Square", "x"),
        node("difference", "Sub", "x", output),
        node("error", "Square", "difference"),
    ]
    x, apart = np.float32([2, 3]), np.float32(difference)
    values = (x, -x, x**2, apart, apart**2)
    fed = [(each.name, value, 0) for each, value in zip(nodes, values, strict=True)]
    return synthetic_run(folder, nodes, fed, keep="value", name=name)


def test_another_input_is_named(tmp_path: Path) -> None:
    a = run(tmp_path / "a", "a", "score", [-2, -6])
    b = run(tmp_path / "b", "b", "price", [4, 6])
    first = compare(Side(a), Side(b)).first
    assert first is not None
    assert first.difference.tensor == "difference:0"
    assert "Its input is score (Square) in A, and price (Neg) in B." in first.text
    assert "All its inputs" not in first.text
