"""What a stepper holds of many what-ifs, keeps when a change fails, and saves. Nothing is replayed here."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tensortap.core.errors import InvalidValueError, TensortapError
from tensortap.core.progress import Advance, ignore_advance
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.replay.analyses.nonfinite_origins import count_nonfinite, largest_magnitude
from tensortap.replay.client import ReplayProcess
from tensortap.replay.protocol import StepperAnswer, StepperRequest
from tensortap.replay.stepper import session as stepper_session
from tensortap.replay.stepper import what_ifs as what_if_file
from tensortap.replay.stepper.session import StepperSession
from tensortap.replay.stepper.what_ifs import WhatIfs, write_what_ifs
from tensortap.system.subprocess_worker import Cancellation


class Written(ReplayProcess):
    """Writes a run for each request; an expression `no` cannot be computed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def compute(
        self,
        request: StepperRequest,
        cancellation: Cancellation | None = None,
        advance: Advance = ignore_advance,
    ) -> StepperAnswer:
        texts = [text for _, text in request.changes]
        self.asked.append(texts)
        if "no" in texts:
            raise TensortapError("That cannot be computed.")
        with DumpWriter(request.logdir, request.run) as writer:
            writer.graph(Graph("f", [Node("x", "Relu")]))
        return StepperAnswer(step=1, identical=True, outputs=0, variables=0)


def session_in(folder: Path) -> tuple[StepperSession, Written]:
    process = Written()
    return StepperSession(folder / "recordings" / "1-0-0", process, folder / "computed"), process


def test_what_was_looked_at_last_is_held(tmp_path: Path) -> None:
    session, process = session_in(tmp_path)
    for number in range(20):
        session.what_ifs.choose("")
        session.change("x:0", f"x + {number}")
    runs = sorted(path.name for path in (tmp_path / "computed").iterdir())
    assert len(runs) == 16 and "recorded-0" in runs
    count = len(process.asked)
    session.what_ifs.choose("what-if 20")
    assert session.run().is_dir() and session.run("").is_dir() and len(process.asked) == count
    assert session.run("what-if 1").is_dir() and process.asked[count:] == [["x + 0"]]
    assert len(list((tmp_path / "computed").iterdir())) == 16


def test_large_ones_are_held_as_far_as_they_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepper_session, "_MOST_BYTES", 1)
    session, _ = session_in(tmp_path)
    for number in range(3):
        session.change("x:0", f"x + {number}")
    assert sorted(path.name for path in (tmp_path / "computed").iterdir()) == ["changed-3", "recorded-0"]


def test_a_change_that_fails_leaves_what_can_be_made_again(tmp_path: Path) -> None:
    session, _ = session_in(tmp_path)
    for text in ("x + 1", "x + 2"):
        session.change("x:0", text)
    session.what_ifs.undo()
    with pytest.raises(TensortapError):
        session.change("x:0", "no")
    assert session.what_ifs.redo().expression == "x + 2"
    assert [change.expression for change in session.what_ifs.changes()] == ["x + 1", "x + 2"]


def test_more_than_is_read_again_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if_file, "MAX_BYTES", 1000)
    source = tmp_path / "recordings" / "1-0-0"
    source.mkdir(parents=True)
    few, many = WhatIfs(), WhatIfs()
    few.change("x:0", "x + 1")
    file = write_what_ifs(source, few)
    for number in range(30):
        many.change("x:0", f"x + {number} - {'1' * 30}")
    with pytest.raises(InvalidValueError, match=r"more than 1,000 bytes.*Delete some"):
        write_what_ifs(source, many)
    assert file.stat().st_size < 1000
    assert what_if_file.read_what_ifs(source).as_record() == few.as_record()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_small_floats_may_be_nan(name: str) -> None:
    array = np.array([np.nan, 2.0, -3.0]).astype(getattr(ml_dtypes, name, name))
    assert count_nonfinite(array) == 1 and largest_magnitude(array) == 3.0
    assert count_nonfinite(np.array([7])) == 0 and largest_magnitude(np.array([7])) == 0.0
