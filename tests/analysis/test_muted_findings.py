"""What is muted: a file that is spoilt is not overwritten, and hides nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import X, synthetic_run

from tensortap.analysis.rules.muted_findings import MutedFindingsError, mute, mutes_of, unmute
from tensortap.index.run_index import RunIndex
from tensortap.system.user_dirs import config_folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunIndex:
    monkeypatch.setenv("TENSORTAP_CONFIG_DIR", str(tmp_path / "config"))
    return synthetic_run(tmp_path / "log", (X,), [("x", np.zeros(2, np.float32), 0)])


@pytest.mark.parametrize("text", ['{"other@1": ["AllZero"', "[]", '{"other@1": 3}', " " * ((1 << 20) + 1)])
def test_a_damaged_file_is_left_as_it_is(run: RunIndex, tmp_path: Path, text: str) -> None:
    file = tmp_path / "config" / "muted.json"
    file.parent.mkdir()
    file.write_text(text)
    assert mutes_of(run) == []
    for change in (mute, unmute):
        with pytest.raises(MutedFindingsError, match=r"muted\.json") as caught:
            change(run, "LargeWeights")
        assert "move the file" in caught.value.hint
    assert file.read_text() == text


def test_what_other_runs_muted_stays(run: RunIndex, tmp_path: Path) -> None:
    mute(run, "LargeWeights")
    other = synthetic_run(tmp_path / "other", (X,), [("x", np.zeros(2, np.float32), 0)], name="other")
    mute(other, "AllZero: x")
    unmute(run, "LargeWeights")
    assert (mutes_of(run), mutes_of(other)) == ([], ["AllZero: x"])


def test_nobodys_entry_is_lost(run: RunIndex) -> None:
    entries = [f"AllZero: x{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda entry: mute(run, entry), entries)) == [None] * 40
    assert sorted(mutes_of(run)) == sorted(entries)


def test_a_disk_that_fails_leaves_nothing_behind(
    run: RunIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mute(run, "LargeWeights")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        mute(run, "AllZero")
    assert mutes_of(run) == ["LargeWeights"]
    assert not list((tmp_path / "config").glob("*.tmp"))


def test_no_more_is_written_than_is_read(run: RunIndex) -> None:
    mute(run, "LargeWeights")
    with pytest.raises(MutedFindingsError, match="larger than"):
        for number in range(1000):
            mute(run, f"AllZero: {number}{'x' * 400_000}")
    assert "LargeWeights" in mutes_of(run)


def test_a_relative_folder_of_the_environment_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORTAP_CONFIG_DIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "here")
    assert config_folder() == Path.home() / ".config" / "tensortap"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_folder() == tmp_path / "tensortap"
