"""The writer's thread: order, bounds, drops, flush, stop. No TensorFlow graph involved."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from polling import until

from tensortap.capture.pipeline.messages import CapturedTensor, GraphHandle, Message, StepEnd, TensorBatch
from tensortap.capture.pipeline.writer_thread import WhenFull, WriterThread
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.watching.selection import Handling


class Recorder:
    """A sink that remembers, and can be held up."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.reported_dropped = 0
        self.flushes = 0
        self.commits = 0
        self.prepared = 0
        self.closed = False
        self.open = threading.Event()
        self.open.set()

    def prepare(self) -> None:
        self.prepared += 1

    def write(self, message: Message) -> int:
        self.open.wait(30)
        assert isinstance(message, TensorBatch)
        self.written.append(message.step)
        return 0

    def commit(self) -> None:
        self.commits += 1

    def flush(self, dropped: int) -> int:
        self.reported_dropped += dropped
        self.flushes += 1
        return 0

    def close(self, dropped: int) -> int:
        self.reported_dropped += dropped
        self.closed = True
        return 0


def background(sink: Recorder, when_full: WhenFull = "wait", wait_seconds: float = 30.0) -> WriterThread:
    return WriterThread(lambda: sink, queue_bytes=100, when_full=when_full, wait_seconds=wait_seconds)


def batch(step: int, nbytes: int = 40) -> TensorBatch:
    candidate = Candidate("n", 0, "Add", "uint8")
    captured = [CapturedTensor(candidate, 0, np.zeros(nbytes, np.uint8), Handling("summary"))]
    return TensorBatch(step, 0.0, GraphHandle(), [captured])


def test_what_was_written_is_committed_in_a_pause() -> None:
    """A page shows a burst of tensors, though none follows."""
    sink = Recorder()
    thread = background(sink)
    thread.put(batch(1))
    until(lambda: sink.commits == 1, "the commit")
    assert (sink.written, sink.flushes) == ([1], 0)
    assert thread.stop(30)
    assert sink.commits == 1


def test_batches_are_written_in_order_and_flush_waits_for_them() -> None:
    sink = Recorder()
    thread = background(sink)
    for step in range(20):
        assert thread.put(batch(step))
    assert thread.flush(30)
    assert sink.written == list(range(20))
    assert sink.flushes == 1
    assert thread.stop(30)
    assert sink.closed


def test_a_full_queue_drops_and_counts() -> None:
    sink = Recorder()
    thread = background(sink, "drop")
    sink.open.clear()
    assert thread.put(batch(0))
    until(lambda: threading.active_count() > 1, "the thread")
    accepted = [thread.put(batch(step)) for step in range(1, 6)]
    sink.open.set()
    assert thread.stop(30)
    assert accepted.count(False) == thread.dropped == sink.reported_dropped > 0
    assert sink.written == [0, *(step for step, fits in enumerate(accepted, 1) if fits)]


def test_a_full_queue_waits_for_room() -> None:
    sink = Recorder()
    thread = background(sink)
    sink.open.clear()
    threading.Timer(0.2, sink.open.set).start()
    assert all(thread.put(batch(step)) for step in range(6))
    assert thread.stop(30)
    assert sink.written == list(range(6))
    assert thread.dropped == 0


def test_waiting_has_an_end() -> None:
    sink = Recorder()
    thread = background(sink, wait_seconds=0.05)
    sink.open.clear()
    accepted = [thread.put(batch(step)) for step in range(4)]
    sink.open.set()
    assert thread.stop(30)
    assert False in accepted
    assert thread.dropped == accepted.count(False)


def test_waiting_is_reported_at_growing_intervals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tensortap.capture.pipeline.writer_thread._FIRST_REPORT", 0.02)
    sink = Recorder()
    thread = background(sink)
    sink.open.clear()
    threading.Timer(0.3, sink.open.set).start()
    assert all(thread.put(batch(step)) for step in range(4))
    assert thread.stop(30)
    said = capsys.readouterr().err.splitlines()
    assert 2 <= len(said) <= 6
    assert all(re.match(r"tensortap: training has waited \d+\.\d s for the writer", line) for line in said)
    assert "Tap(when_full='drop')" in said[0]
    assert thread.waited >= 0.1


def test_nothing_is_said_while_there_is_room(capsys: pytest.CaptureFixture[str]) -> None:
    thread = background(Recorder())
    assert thread.put(batch(0))
    assert thread.stop(30)
    assert thread.waited == 0
    assert capsys.readouterr().err == ""


def test_a_batch_larger_than_the_queue_is_let_in_alone() -> None:
    sink = Recorder()
    thread = background(sink)
    assert thread.put(batch(0, nbytes=1000))
    assert thread.put(batch(1, nbytes=1000))
    assert thread.stop(30)
    assert sink.written == [0, 1]


def test_stopping_is_bounded_and_counts_what_is_left() -> None:
    sink = Recorder()
    thread = background(sink)
    sink.open.clear()
    for step in range(3):
        thread.put(batch(step, nbytes=10))
    threading.Timer(0.5, sink.open.set).start()
    assert not thread.stop(0.1)
    assert thread.dropped in (2, 3)
    assert not thread.put(batch(9))


def test_an_unexpected_error_loses_a_batch_and_not_the_thread(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(Recorder):
        def prepare(self) -> None:
            raise KeyError("prepare")

        def write(self, message: Message) -> int:
            if isinstance(message, StepEnd) or message.step == 1:
                raise ValueError("no such batch")
            return super().write(message)

    sink = Failing()
    thread = background(sink)
    examined = threading.Event()
    assert all(thread.put(batch(step)) for step in range(3))
    assert thread.put(StepEnd(SimpleNamespace(), "", examined))
    assert thread.flush(30)
    assert examined.is_set()
    assert thread.stop(30)
    assert (sink.written, sink.closed) == ([0, 2], True)
    assert thread.dropped == thread.refused == sink.reported_dropped == 1
    assert thread.failure == "the writer failed: KeyError: 'prepare'. Please report this."
    assert capsys.readouterr().err == f"tensortap: {thread.failure}\n"


def test_nothing_put_means_no_thread_and_no_file() -> None:
    sink = Recorder()
    thread = background(sink)
    assert thread.flush(1)
    assert thread.stop(1)
    assert not sink.closed
    assert sink.flushes == 0


def test_it_gets_ready_before_the_first_batch() -> None:
    sink = Recorder()
    thread = background(sink)
    thread.start()
    until(lambda: sink.prepared == 1, "the thread is ready")
    assert thread.put(batch(0))
    assert thread.stop(30)
    assert (sink.prepared, sink.written) == (1, [0])
    thread.start()
    assert sink.prepared == 1


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_without_a_thread_what_fits_is_written_in_the_end(no_threads: None) -> None:
    sink = Recorder()
    thread = background(sink)  # a full queue would wait 30 s: for nobody
    thread.start()
    assert [thread.put(batch(step)) for step in range(4)] == [True, True, False, False]
    assert not thread.flush(30)
    assert thread.stop(30)
    assert (sink.written, sink.closed) == ([0, 1], True)
    assert thread.dropped == sink.reported_dropped == 2
    assert thread.has_no_thread


def test_a_thread_that_can_be_had_later_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Recorder()
    thread = background(sink)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("none")))
        assert thread.put(batch(0))
    assert thread.flush(30)
    assert sink.written == [0]
    assert not thread.has_no_thread
    assert thread.stop(30)
