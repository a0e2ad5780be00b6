"""Reading on while requests come: often enough, never twice at once, never in a request's way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from polling import until

from tensortap.dump import DumpWriter
from tensortap.index import LogIndex, RunIndex
from tensortap.server import live
from tensortap.server.live import LiveLog


class SlowLog(LogIndex):
    """A log that takes as long to read as the test says."""

    def __init__(self, logdir: Path) -> None:
        super().__init__(logdir)
        self.may_end = threading.Event()
        self.reads = 0
        self.readers: set[str] = set()
        self.at_once = 0
        self.most_at_once = 0

    def refresh(self, advance: Callable[[RunIndex], object] | None = None) -> bool:
        self.reads += 1
        self.readers.add(threading.current_thread().name)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.may_end.wait(30)
        self.at_once -= 1
        return True


def test_a_large_dump_does_not_hold_up_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    log = SlowLog(tmp_path)
    reading = LiveLog(log)
    begun = time.monotonic()
    for _ in range(10):
        reading.read_on()
    assert time.monotonic() - begun < 5
    assert log.reads == 1
    log.may_end.set()


def test_one_reader_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REFRESH_INTERVAL", 0.0)
    log = SlowLog(tmp_path)
    log.may_end.set()
    reading = LiveLog(log)
    threads = [threading.Thread(target=reading.read_on) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.most_at_once == 1
    assert log.reads >= 1
    assert log.readers == {"tensortap-read"}, "no request reads itself"


def test_requests_within_the_interval_share_a_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "REFRESH_INTERVAL", 60.0)
    log = SlowLog(tmp_path)
    log.may_end.set()
    reading = LiveLog(log)
    for _ in range(5):
        reading.read_on()
    assert log.reads == 1


def test_a_failure_is_logged_and_does_not_end_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live, "REFRESH_INTERVAL", 0.0)
    failures = iter([OSError("disk"), None])

    class Failing(LogIndex):
        def refresh(self, advance: Callable[[RunIndex], object] | None = None) -> bool:
            error = next(failures, None)
            if error is not None:
                raise error
            return super().refresh()

    reading = LiveLog(Failing(tmp_path))
    with caplog.at_level(logging.ERROR):
        reading.read_on()
    assert "reading the log directory failed" in caplog.text
    until(lambda: reading.read_on() or next(failures, "read") == "read", "the next reading", 5)


def test_closing_ends_the_reading_after_the_part_it_is_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that is in native code when the interpreter ends would abort the process."""
    with DumpWriter(tmp_path, run="endless") as writer:
        writer.log("x:0", np.ones(3), step=0)
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    monkeypatch.setattr(RunIndex, "poll", lambda run: True)
    reading = LiveLog(LogIndex(tmp_path))
    reading.read_on()
    [reader] = [thread for thread in threading.enumerate() if thread.name == "tensortap-read"]
    reading.close()
    assert not reader.is_alive()
    reading.read_on()
    assert "tensortap-read" not in {thread.name for thread in threading.enumerate()}
