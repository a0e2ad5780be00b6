"""Which earlier recording is named where a step was given NaN."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensortap.core.errors import DamagedError
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.dump.recording.recording_files import RecordingPlace
from tensortap.replay.analyses import minimal_repair


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("FFDFD", 3),  # data of NaN that come and go
        ("DFDFVV", 3),
        ("FFFVVV", 2),
        ("FDFDDD", 2),
        ("DDVV", None),
        ("VVV", None),
        ("FFXXV", 1),  # what is damaged is passed over
        ("FXFDXX", 2),
        ("XX", None),
        ("", None),
    ],
)
def test_the_nearest_of_finite_variables_and_data_is_found(
    before: str, found: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN recordings of finite numbers (F), of data (D) or variables (V) that are NaN, or damaged (X)."""
    folder = Path("run") / "recordings"
    places = [RecordingPlace(step, 0, folder / str(step)) for step in range(len(before) + 1)]
    monkeypatch.setattr(minimal_repair, "find_recordings", lambda run: places)
    monkeypatch.setattr(minimal_repair, "open_recording", lambda path: recording(before[int(path.name)]))
    assert minimal_repair.last_finite_recording(places[-1].path) == (None if found is None else (found, 0))


def recording(given: str) -> Recording:
    if given == "X":
        raise DamagedError("A part of a recording fails its checksum.")
    arrays = {name: np.float32([np.nan if name == given else 1]) for name in "DV"}
    data = Argument("tensor", "x", (arrays["D"],))
    return Recording("f", b"", (data, Argument("variable", "w", (arrays["V"],))), step=0)
