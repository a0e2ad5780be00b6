"""What a foreign format does not tell is unknown, not zero: no command says that there is no NaN."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.api.logdir import open_logdir
from tensortap.core.errors import NotFoundError
from tensortap.core.records import COUNTS
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.partial_summary import partial_summary
from tensortap.importers.tfdbg.v2 import (
    CONCISE_HEALTH,
    CURT_HEALTH,
    FULL_HEALTH,
    NOT_COUNTED,
    SHAPE,
    THREE_SLOTS,
    health_summary,
)

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
    assert "Unknown: 1 snapshot of r may contain NaN or infinities" in out
    assert "no NaN or infinity was counted" in out
    assert json.loads(run("nan", shapes_only, "--json")[1])["snapshots_not_counted"] == 1


def test_values_that_an_import_lacks_cannot_be_captured_again(run: Run, tmp_path: Path) -> None:
    imported = write(tmp_path, {"imported from": "events", "format": "tfdbg2"})
    assert (
        "values: not stored: the imported data (tfdbg2) have no value for it."
        in run("show", imported, "shape:0")[1]
    )
    status, _, err = run("show", imported, "shape:0", "--selection", "0")
    assert (status, "(tfdbg2) have no value for it" in err, "keep=" in err) == (1, True, False)


def test_a_notebook_lists_unknown_counts_and_damage(shapes_only: Path) -> None:
    assert "<td>unknown</td>" in open_logdir(shapes_only)._repr_html_().replace(" ", "")
    (shapes_only / "run.json").write_text("{")
    assert "<td>damaged</td>" in open_logdir(shapes_only)._repr_html_().replace(" ", "")


def test_lists_and_summaries_say_unknown(run: Run, shapes_only: Path) -> None:
    assert "unknown" in run("ls", shapes_only)[1]
    listed = json.loads(run("ls", shapes_only, "--json")[1])[0]
    assert (listed["snapshots_not_counted"], listed["nonfinite"]) == (1, None)
    assert [graph["nonfinite"] for graph in json.loads(run("info", shapes_only, "--json")[1])["graphs"]] == [
        None
    ]
    assert run("info", shapes_only)[1].splitlines()[-1].split()[-1] == "unknown"
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
    assert [graph["nonfinite"] for graph in json.loads(run("info", path, "--json")[1])["graphs"]] == [0]
    lines = run("show", path, "shape:0")[1].splitlines()
    assert [line.split() for line in lines if line.startswith("  nan")] == [["nan", "0"]]
    assert [line.split() for line in lines if line.startswith("  zero")] == [["zero", "unknown"]]
    assert "no NaN or infinity in any captured tensor" in run("nan", path)[1]


def imported(tmp_path: Path, mode: int, payload: list[float], names: tuple[str, ...] = ("t",)) -> Path:
    """What the importer makes of payloads of a mode."""
    reported = ", ".join(NOT_COUNTED[mode])
    with DumpWriter(tmp_path, "r", info={"not counted": reported}) as writer:
        for name in names:
            writer.log_summary(name, health_summary(mode, np.array(payload)), step=0)
    return tmp_path / "r"


BAD, SIGNS = {"nan", "pos_inf", "neg_inf"}, {"zero", "negative", "positive", "subnormal"}


@pytest.mark.parametrize(
    ("mode", "payload", "unknown"),
    [
        (SHAPE, [1, 1, 1, 4, 4, 0, 0, 0, 0, 0], BAD | SIGNS),
        (SHAPE, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0], set()),  # no elements
        (CONCISE_HEALTH, [1, 9, 0, 0, 2], SIGNS),
        (CONCISE_HEALTH, [1, 9, 0, 0, 9], set()),  # all of them NaN
        (FULL_HEALTH, [1, 0, 1, 1, 4, 0, 0, 0, 1, 1, 2], {"subnormal"}),
        (CURT_HEALTH, [1, 0], SIGNS | {"size"}),
        (CURT_HEALTH, [1, 1], SIGNS | {"size", "pos_inf", "neg_inf"}),
        (THREE_SLOTS, [0, 0, 1], SIGNS | {"size"}),
    ],
)
def test_each_mode_tells_what_it_counted(
    run: Run, tmp_path: Path, mode: int, payload: list[float], unknown: set[str]
) -> None:
    path = imported(tmp_path, mode, payload)
    (listed,) = json.loads(run("show", path, "--sort", "step", "--json")[1])
    shown = json.loads(run("show", path, "t:0", "--json")[1])
    for row in (listed, shown):
        assert {name for name in ("size", *COUNTS) if row[name] is None} == unknown
        assert "unknown" not in row
    lines = run("show", path, "t:0")[1].splitlines()
    said = {line.split()[0] for line in lines if line.split()[1:2] == ["unknown"]}
    assert said & set(COUNTS) == unknown - {"size"}
    assert (("float32 unknown" in lines[1]) == ("size" in unknown)) and "no elements" not in lines[-1]


def test_a_condition_on_an_unknown_count_is_reported_once(run: Run, tmp_path: Path) -> None:
    path = imported(tmp_path, SHAPE, [1, 1, 1, 4, 4, 0, 0, 0, 0, 0], ("a", "b"))
    for condition in ("nan > 0", "nan == 0", "not nan == 0"):
        status, out, err = run("show", path, "--where", condition)
        assert (status, out.strip()) == (0, "No snapshots match.")
        assert err.count("2 snapshots skipped: the import lacks a count") == 1
    out, err = run("show", path, "--where", "size == 4")[1:]
    assert "a:0" in out and not err


def test_frames_of_the_statistics_have_gaps(tmp_path: Path) -> None:
    imported(tmp_path, SHAPE, [1, 1, 1, 4, 4, 0, 0, 0, 0, 0])
    found = open_logdir(tmp_path).runs["r"].history("t:0")
    assert found.to_arrow()["nan"].to_pylist() == [None]
    assert found[0]["zero"] is None and found[0]["size"] == 4
    assert "unknown" in repr(found)
    with pytest.raises(NotFoundError, match="nothing of 't:0' to plot"):
        found.plot("nan")
