"""How much host memory a step takes."""

from __future__ import annotations

from tensortap.capture.instrument import tapped_function
from tensortap.capture.tracing.candidate import Candidate


def test_known_shapes_are_added_up() -> None:
    candidates = [
        Candidate("a", 0, "Add", "float32", (2, 3)),
        Candidate("b", 0, "Add", "bfloat16", ()),
        Candidate("c", 0, "Add", "float64", (None, 5)),
        Candidate("d", 0, "Add", "float64", None),
    ]
    assert tapped_function.estimated_bytes(candidates) == 24 + 2
