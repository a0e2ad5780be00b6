"""Reading on while requests come: often enough, never twice at once, never in a request's way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from compacted import compact, copied, write_worker
from polling import until

from tensortap.dump.write.writer import DumpWriter
from tensortap.index.engine_reading import EngineReading
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.server import log_reader
from tensortap.server.log_reader import LogNotReadyError, LogReader


class SlowLog(LogIndex):
    """A log that takes as long to read as the test says."""

    def __init__(self, logdir: Path) -> None:
        super().__init__(logdir)
        self.may_end = threading.Event()
        self.reads = 0
        self.readers: set[threading.Thread | None] = set()
        self.at_once = 0
        self.most_at_once = 0

    def refresh(
        self, advance: Callable[[RunIndex], object] | None = None, *, reading: EngineReading | None = None
    ) -> bool:
        self.reads += 1
        self.readers.add(threading.current_thread())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.may_end.wait()
        self.at_once -= 1
        self.runs_known = True
        self._searched.set()
        return True


Reading = Callable[[LogIndex], LogReader]


@pytest.fixture
def reading_of() -> Iterator[Reading]:
    """Makes a `LogReader`, none of whose readers outlives the test."""
    made: list[LogReader] = []

    def make(log: LogIndex) -> LogReader:
        made.append(LogReader(log))
        return made[-1]

    yield make
    for reading in made:
        if isinstance(reading.log, SlowLog):
            reading.log.may_end.set()
        reading.close()
        until(lambda each=reading: each._thread is None, "the end of the reader")


def test_a_large_dump_does_not_hold_up_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 0.05)
    log = SlowLog(tmp_path)
    log.runs_known = True
    reading = reading_of(log)
    answered = threading.Semaphore(0)

    def ask() -> None:
        reading.refresh()
        answered.release()

    for _ in range(10):
        threading.Thread(target=ask, daemon=True).start()
    for _ in range(10):
        assert answered.acquire(timeout=30), "a request waits until all is read"
    until(lambda: log.reads == 1, "the reader")
    assert reading._thread is not None and reading._thread.is_alive()


def test_no_request_is_reported_that_there_are_no_runs_before_they_were_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 0.0)
    log = SlowLog(tmp_path)
    reading = reading_of(log)
    asked = threading.Thread(target=reading.refresh, daemon=True)
    asked.start()
    until(lambda: log.reads == 1, "the reader")
    assert asked.is_alive()
    log.may_end.set()
    asked.join(30)
    assert not asked.is_alive()


def test_who_comes_while_all_is_read_for_the_first_time_waits_for_it_too(
    tmp_path: Path, reading_of: Reading
) -> None:
    log = SlowLog(tmp_path)
    log.runs_known = True
    reading = reading_of(log)
    asked = [threading.Thread(target=reading.refresh, daemon=True) for _ in range(3)]
    for each in asked:
        each.start()
    until(lambda: log.reads == 1, "the reader")
    assert all(each.is_alive() for each in asked)
    log.may_end.set()
    for each in asked:
        each.join(30)
    assert not any(each.is_alive() for each in asked)


def test_not_all_threads_wait_for_runs_that_a_disk_keeps_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 0.0)
    reading = reading_of(SlowLog(tmp_path))
    waiting = [threading.Thread(target=reading.refresh, daemon=True) for _ in range(log_reader._MAX_WAITING)]
    for each in waiting:
        each.start()
    until(lambda: not reading._waiters._value, "those that wait")
    with pytest.raises(LogNotReadyError):
        reading.refresh()
    assert all(each.is_alive() for each in waiting)


def test_one_reader_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading) -> None:
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 0.0)
    log = SlowLog(tmp_path)
    log.may_end.set()
    reading = reading_of(log)
    threads = [threading.Thread(target=reading.refresh) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: log.reads, "a reader")
    assert log.most_at_once == 1
    assert log.readers == {reading._thread}, "no request reads itself, and the reader stays the same"


def test_requests_within_the_interval_share_a_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 1e9)
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 30.0)
    log = SlowLog(tmp_path)
    log.may_end.set()
    reading = reading_of(log)
    for _ in range(5):
        reading.refresh()
    assert log.reads == 1


def test_who_asks_a_little_early_starts_a_reading_and_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 1e3)
    log = SlowLog(tmp_path)
    log.runs_known = True
    reading = reading_of(log)
    reading._has_refreshed = True
    reading._started = time.monotonic() - log_reader.REFRESH_INTERVAL + log_reader.REFRESH_EARLY
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", log_reader.REFRESH_INTERVAL + 1e3)
    monkeypatch.setattr(log_reader, "REFRESH_EARLY", log_reader.REFRESH_EARLY + 1e3)
    reading.refresh()
    until(lambda: log.reads == 1, "the reader")
    assert reading._thread is not None and reading._thread.is_alive()


def test_a_failure_is_logged_and_does_not_end_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 0.0)
    readings: list[str] = []

    class Failing(LogIndex):
        def refresh(
            self, advance: Callable[[RunIndex], object] | None = None, *, reading: EngineReading | None = None
        ) -> bool:
            readings.append("begun")
            if len(readings) == 1:
                self._searched.set()
                raise OSError("disk")
            changed = super().refresh()
            readings.append("done")
            return changed

    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 30.0)
    reading = reading_of(Failing(tmp_path))
    with caplog.at_level(logging.ERROR), pytest.raises(LogNotReadyError, match="terminal"):
        reading.refresh()
    assert "reading the log directory failed" in caplog.text
    reading.refresh()
    assert readings == ["begun", "begun", "done"]


def test_closing_ends_the_reading_after_the_part_it_is_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    """A thread that is in native code when the interpreter ends would abort the process."""
    with DumpWriter(tmp_path, run="endless") as writer:
        writer.log("x:0", np.ones(3), step=0)
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 0.05)
    monkeypatch.setattr(log_reader, "CLOSE_TIMEOUT", 30.0)
    monkeypatch.setattr(RunIndex, "poll", lambda run: True)
    reading = reading_of(LogIndex(tmp_path))
    reading.refresh()
    reader = reading._thread
    assert reader is not None and reader.is_alive()
    reading.close()
    assert not reader.is_alive()
    reading.refresh()
    assert reading._thread is None, "nothing is read any more"


def test_a_compacted_run_is_listed_before_its_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    """GIVEN a page that takes long WHEN it asks for the runs THEN no process reads rows meanwhile."""
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 30.0)
    monkeypatch.setattr(log_reader, "_PAGE_FIRST", 1e6)
    read: list[object] = []
    monkeypatch.setattr(EngineReading, "read_parts", lambda *asked: read.append(asked))
    write_worker(tmp_path / "whole", range(3))
    compact(tmp_path / "whole/r")
    reading = reading_of(LogIndex(copied(tmp_path / "whole", tmp_path / "copy"), use_cache=False))
    reading.refresh()
    (run,) = reading.log.runs
    assert run.overview().snapshots == 3 * 8
    until(lambda: reading._changed._waiters or read, "the reader's next step")
    assert not read
    reading.close()
    until(lambda: reading._thread is None, "the end of the reader")
    assert not read, "nor are they read once nobody waits for them"


def test_a_reader_that_nobody_needs_ends_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 0.0)
    monkeypatch.setattr(log_reader, "NEWS_TIMEOUT", 30.0)
    monkeypatch.setattr(log_reader, "_IDLE_TIMEOUT", 0.01)
    log = SlowLog(tmp_path)
    log.may_end.set()
    reading = reading_of(log)
    for reads in (1, 2):
        reading.refresh()
        assert log.reads == reads
        until(lambda: reading._thread is None, "the end of the reader")


def test_where_no_thread_is_to_be_had_the_next_request_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading_of: Reading
) -> None:
    log = SlowLog(tmp_path)
    log.may_end.set()
    log.runs_known = True
    reading = reading_of(log)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        reading.refresh()
    assert log.reads == 0
    reading.refresh()
    assert log.reads == 1
    reading.close()


def test_something_is_done_after_each_reading(tmp_path: Path, reading_of: Reading) -> None:
    log = SlowLog(tmp_path)
    log.may_end.set()
    done = threading.Event()
    reading = reading_of(log)
    reading.after_refresh = done.set
    reading.refresh()
    assert done.wait(30)


class QuietLog(LogIndex):
    """A log that counts how often it is read, and never changes."""

    reads = 0

    def refresh(
        self, advance: Callable[[RunIndex], object] | None = None, *, reading: EngineReading | None = None
    ) -> bool:
        self.reads += 1
        self.runs_known = True
        return False


@pytest.mark.parametrize(
    ("address", "quiet", "pause"),
    [
        ("memory://bucket/quiet", 1, log_reader.REFRESH_INTERVAL),
        ("memory://bucket/quiet", 100, 10),
        ("memory://bucket/quiet", 10_000, log_reader.QUIET_MOST),
        ("/nowhere", 10_000, log_reader.REFRESH_INTERVAL),
    ],
)
def test_an_address_where_nothing_changes_is_asked_ever_more_rarely(
    address: str, quiet: float, pause: float, reading_of: Reading
) -> None:
    """GIVEN nothing changed for a while WHEN requests come THEN they are answered from what is known, until a
    tenth of that time has passed."""
    log = QuietLog(address)
    reading = reading_of(log)
    reading.refresh()
    until(lambda: not reading._refreshing, "the first look")
    reading._changed_at = time.monotonic() - quiet
    assert reading._pause() == pytest.approx(pause, rel=0.1)
    reading._started = time.monotonic() - pause * 0.5
    reading.refresh()
    assert log.reads == 1
    reading._started = time.monotonic() - pause * 1.5
    reading.refresh()
    until(lambda: not reading._refreshing, "the next look")
    assert log.reads == 2
