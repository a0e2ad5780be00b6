"""What is muted: a file that is spoilt is not overwritten, and hides nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_runs import X, made_run

from tensortap.analysis import SettingsError, mute, mutes_of, unmute
from tensortap.index import RunIndex


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunIndex:
    monkeypatch.setenv("TENSORTAP_CONFIG_DIR", str(tmp_path / "config"))
    return made_run(tmp_path / "log", (X,), [("x", np.zeros(2, np.float32), 0)])


@pytest.mark.parametrize("text", ['{"other@1": ["AllZero"', "[]", '{"other@1": 3}', " " * ((1 << 20) + 1)])
def test_a_spoilt_file_is_left_as_it_is(run: RunIndex, tmp_path: Path, text: str) -> None:
    file = tmp_path / "config" / "muted.json"
    file.parent.mkdir()
    file.write_text(text)
    assert mutes_of(run) == []
    for change in (mute, unmute):
        with pytest.raises(SettingsError, match=r"muted\.json") as caught:
            change(run, "LargeWeights")
        assert "move it away" in caught.value.hint
    assert file.read_text() == text


def test_what_other_runs_muted_stays(run: RunIndex, tmp_path: Path) -> None:
    mute(run, "LargeWeights")
    other = made_run(tmp_path / "other", (X,), [("x", np.zeros(2, np.float32), 0)], name="other")
    mute(other, "AllZero: x")
    unmute(run, "LargeWeights")
    assert (mutes_of(run), mutes_of(other)) == ([], ["AllZero: x"])
