"""Whether a tensor that was computed again is the one that was captured in the recorded step, in a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensortap.core.errors import TensortapError

from ..console import number_text
from ..runs import only_run

if TYPE_CHECKING:
    from tensortap.index.run_index import RunIndex
    from tensortap.index.snapshot import Snapshot

    from .tensor import TensorView


class Proof(NamedTuple):
    """A line, and its colour on a terminal."""

    text: str
    colour: str = ""


def proof_of(answer: Any, view: TensorView, source: Path) -> Proof | None:
    """By the hash that the recording has of the tensor; None if tensors were changed.

    Args:
        source: the recorded run, or a bundle: where a value was kept, the difference is told.
    """
    if answer.identical is None:
        return None
    proven = answer.proofs.get(view.snapshot.tensor)
    if proven is None:
        return Proof("recomputed: it was not captured in the recorded step, whose results are compared below")
    if proven:
        return Proof("proven equal, by its hash, to what was captured in the recorded step", "green")
    return Proof(f"not bit by bit what was captured in the recorded step{_difference(view, source)}", "red")


def _difference(view: TensorView, source: Path) -> str:
    kept = None if source.is_file() else _kept(only_run(source), view.snapshot)
    if kept is None or view.values is None or kept.shape != view.values.shape or kept.dtype.kind not in "fiu":
        return ""  # there is no value of the run, or a sample, or text
    difference = np.abs(kept.astype(np.float64) - view.values.astype(np.float64))
    finite = difference[np.isfinite(difference)]
    return f": numbers differ by at most {number_text(float(finite.max(initial=0.0)))}"


def _kept(run: RunIndex, wanted: Snapshot) -> np.ndarray[Any, Any] | None:
    """The value that the run kept of the same tensor, step and visit; None if it kept none."""
    from tensortap.index.snapshot import locate
    from tensortap.index.values import read_slice

    graph = wanted.graph if wanted.graph != "-" else None
    try:
        found = locate(run, wanted.tensor, step=wanted.step, visit=wanted.visit, worker=None, graph=graph)
        return read_slice(run, found, "", limit=None) if found.kept else None
    except TensortapError:
        return None
