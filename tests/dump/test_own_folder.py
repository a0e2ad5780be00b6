"""Folders of a process: those of killed ones go, those in use stay, whoever can see whom."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tensortap.dump import own_folder, remove_left


def test_a_folder_in_use_stays_although_its_process_is_not_to_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a container that has the host's name: processes of the other one look gone."""
    monkeypatch.setattr(sys.modules[own_folder.__module__], "is_gone", lambda host, pid: True)
    with own_folder(tmp_path, "making") as folder:
        remove_left(tmp_path, "making")
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())
    folder.mkdir()
    remove_left(tmp_path, "making")
    assert not folder.exists()
