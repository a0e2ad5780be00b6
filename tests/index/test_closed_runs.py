"""A run that was closed, and whose last commit or event is damaged or cut, says so wherever it is listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.cli.main import dispatch
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

EOS = 8


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(3):
            writer.log("a", np.arange(5.0), step=step)
            writer.event("spike", step=step)
            writer.flush()
    return tmp_path


def flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "last commit damaged": ("stats-*", lambda data: flipped(data, -EOS - 20), "damage|skipped|can be read"),
    "last commit's length damaged": ("stats-*", lambda data: flipped(data, -EOS - 1200), ""),
    "last commit cut": ("stats-*", lambda data: data[: -EOS - 100], "2 snapshots of 3 can be read"),
    "last commit gone": ("stats-*", lambda data: data[: len(data) // 2], "of 3 can be read"),
    "end mark damaged": ("stats-*", lambda data: flipped(data, -1), "was closed, but"),
    "last event damaged": ("events-*", lambda data: flipped(data, -5), "does not match its checksum"),
    "last event cut": ("events-*", lambda data: data[:-3], "2 events of 3 can be read"),
    "last event gone": (
        "events-*",
        lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
        "2 events of 3 can be",
    ),
    "closed.json damaged": ("closed.json", lambda data: flipped(data, 30), "closed.json"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_at_the_end_is_said(logdir: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    pattern, change, words = DAMAGE[kind]
    log = LogIndex(logdir, use_cache=False)
    log.refresh()
    assert log.runs[0].damage == []
    (file,) = logdir.rglob(pattern)
    file.write_bytes(change(file.read_bytes()))
    log = LogIndex(logdir, use_cache=False)
    log.refresh()
    sentences = log.runs[0].damage
    assert any(word in sentence for word in words.split("|") for sentence in sentences)
    assert dispatch(["ls", str(logdir), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["damaged"]
    assert dispatch(["info", str(logdir)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(sentence in shown for sentence in sentences)


def test_a_run_that_is_being_written_is_not_damaged(logdir: Path) -> None:
    log = LogIndex(logdir, use_cache=False)
    with DumpWriter(logdir, "live") as writer:
        for step in range(3):
            writer.log("a", np.arange(5.0), step=step)
            writer.event("spike", step=step)
            writer.flush()
            log.refresh()
            assert [run.damage for run in log.runs] == [[], []]
    log.refresh()
    assert [run.damage for run in log.runs] == [[], []]
