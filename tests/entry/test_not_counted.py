"""What a foreign format does not tell is unknown, not zero: no command says that there is no NaN."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.dump import DumpWriter
from tensortap.importers.approximate import partial_summary

Run = Callable[..., tuple[int, str, str]]


def write(logdir: Path, info: dict[str, str]) -> Path:
    """A run with a tensor of 9 elements of which nothing is known, and one that was counted."""
    with DumpWriter(logdir, "r", info=info) as writer:
        writer.log_summary("shape", partial_summary("float32", (3, 3), 9), step=0)
        writer.log("whole", np.ones(4, np.float32), step=0)
    return logdir / "r"


@pytest.fixture
def shapes_only(tmp_path: Path) -> Path:
    return write(tmp_path, {"not counted": "NaN and infinities"})


def test_nan_cannot_tell(run: Run, shapes_only: Path) -> None:
    status, out, _ = run("nan", shapes_only)
    assert status == 0
    assert "Not known: whether 1 snapshot of r hold NaN or infinities" in out
    assert "no NaN and no infinity was counted" in out
    assert json.loads(run("nan", shapes_only, "--json")[1])["snapshots_not_counted"] == 1


def test_lists_and_summaries_say_unknown(run: Run, shapes_only: Path) -> None:
    assert "unknown" in run("ls", shapes_only)[1]
    assert json.loads(run("ls", shapes_only, "--json")[1])[0]["snapshots_not_counted"] == 1
    shape, whole = sorted(run("show", shapes_only, "--sort", "tensor")[1].splitlines()[1:])
    assert shape.split()[5:] == ["unknown"] * 7
    assert "unknown" not in whole
    lines = run("show", shapes_only, "shape:0")[1].splitlines()
    assert [line.split() for line in lines if line.startswith("  nan")] == [["nan", "unknown"]]
    assert any(line.split()[:3] == ["not", "counted", "9"] for line in lines)
    assert [line.split() for line in lines if line.startswith("  mean")] == [["mean", "unknown"]]


def test_what_was_counted_is_said(run: Run, tmp_path: Path) -> None:
    """Modes that count NaN and infinities and nothing else."""
    path = write(tmp_path, {})
    lines = run("show", path, "shape:0")[1].splitlines()
    assert [line.split() for line in lines if line.startswith("  nan")] == [["nan", "0"]]
    assert [line.split() for line in lines if line.startswith("  zero")] == [["zero", "unknown"]]
    assert "no NaN and no infinity in any captured tensor" in run("nan", path)[1]
