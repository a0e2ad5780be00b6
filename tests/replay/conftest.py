"""Recordings that the tests of this folder share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_folder import shared_folder

from tensortap.core.progress import Notice, ignore_notice
from tensortap.replay.locate import locate
from tensortap.replay.protocol import Answer, Request

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the runs of `recorded_programs.record_all`."""
    import recorded_programs  # imports TensorFlow

    return shared_folder(tmp_path_factory, "studied", recorded_programs.record_all)


@pytest.fixture(scope="session")
def ask(recordings: Path) -> Ask:
    """What an analysis finds out about step 1 of one of these runs."""
    from tensortap.replay.replayer import replay

    def analysis(name: str | Path, kind: str, *, nodes: str = "", step: int = 1, **options: Any) -> Any:
        source = str(locate(recordings / name, step, None))
        return replay(Request(source, nodes=nodes, analysis=kind, options=options))["analysis"]

    return analysis


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands replay in the process of the tests: starting TensorFlow takes longer than the replay."""
    from tensortap.replay.replayer import replay

    def run_replay(request: Request, limits: object = None, progress: Notice = ignore_notice) -> Answer:
        return Answer.of(json.loads(json.dumps(replay(request, progress))))

    monkeypatch.setattr("tensortap.replay.client.run_replay", run_replay)
