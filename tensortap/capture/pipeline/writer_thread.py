"""The writer thread: measures and writes the tensors from training, through a queue bounded in bytes."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal, Protocol

from ..capture_warnings import first_line, print_line
from .messages import Message, StepEnd, size_of

WhenFull = Literal["wait", "drop"]

_PAUSE = 0.5  # seconds without a message after which written rows are committed
_FIRST_REPORT = 1.0  # seconds that training has waited in all; then at 2, 4, 8, …


class Sink(Protocol):
    """Destination of the writer thread. Its methods should not raise; most return how many snapshots they
    lost."""

    def prepare(self) -> None: ...

    def write(self, message: Message) -> int: ...

    def commit(self) -> None: ...

    def flush(self, dropped: int) -> int: ...

    def close(self, dropped: int) -> int: ...


class WriterThread:
    """Writes messages in the order they are put, in one daemon thread that starts with the first one,
    or before it (`start`).

    Args:
        make_sink: called once in each process that captures.
        queue_bytes: maximum bytes of queued tensors, including those being written. A larger batch is
            accepted if the queue is empty.
        when_full: `"wait"` up to `wait_seconds` for room, then drop; or `"drop"` at once. Drops are counted.
            When training has waited 1, 2, 4, 8, … s in all, a line on stderr says so.
    """

    def __init__(
        self,
        make_sink: Callable[[], Sink],
        *,
        queue_bytes: int,
        when_full: WhenFull,
        wait_seconds: float,
    ) -> None:
        self._make_sink = make_sink
        self._queue_bytes = queue_bytes
        self._wait_seconds = wait_seconds if when_full == "wait" else 0.0
        self._start_afresh()

    def _start_afresh(self) -> None:
        """The state of a process that has not captured anything yet."""
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._messages: deque[Message] = deque()
        self._waiting_bytes = 0
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._sink = self._make_sink()
        self._is_committed = True
        self._flushes_wanted = 0
        self._flushes_done = 0
        self.dropped = 0
        self.refused = 0  # of these, how many the sink lost
        self.has_no_thread = False  # no thread could be started when last tried
        self._dropped_known = 0  # of all, how many the sink has noted
        self.failure = ""  # the first error of the sink, a sentence
        self.busy = 0.0  # processor seconds that writing has taken
        self.waited = 0.0  # seconds that `put` has waited for room
        self._next_report = _FIRST_REPORT

    def start(self) -> None:
        """Starts the thread before the first batch comes, so that it gets ready while that is computed."""
        self._notice_fork()
        with self._changed:
            if not self._stopping:
                self._ensure_thread()

    def put(self, message: Message) -> bool:
        """Queues a message; False if it was dropped. Blocks on a full queue if configured."""
        self._notice_fork()
        count, nbytes = size_of(message)
        with self._changed:
            if self._stopping:
                return False
            self._ensure_thread()
            if not self._wait_for_room(nbytes):
                self.drop(count)
                return False
            self._messages.append(message)
            self._waiting_bytes += nbytes
            self._changed.notify_all()
            return True

    def drop(self, count: int) -> None:
        """Counts snapshots that were lost before they reached the queue."""
        with self._changed:
            self.dropped += count

    def note_lost(self, count: int) -> None:
        """Counts snapshots lost elsewhere and records the number in the run, even if no message follows."""
        with self._changed:
            self.dropped += count
            self.refused += count
            if not self._stopping:
                self._ensure_thread()

    def flush(self, timeout: float) -> bool:
        """Waits until all that was put is committed; False if that took longer than `timeout` seconds."""
        self._notice_fork()
        with self._changed:
            if self._messages:
                self._ensure_thread()
            if self._thread is None:
                return not self._messages
            self._flushes_wanted += 1
            wanted = self._flushes_wanted
            self._changed.notify_all()
            return self._changed.wait_for(
                lambda: self._flushes_done >= wanted or self._thread is None, timeout=timeout
            )

    def stop(self, timeout: float) -> bool:
        """Writes the queued messages, closes the files and ends the thread. After `timeout` seconds it drops
        the rest."""
        self._notice_fork()
        with self._changed:
            self._stopping = True
            if self._messages:
                self._ensure_thread()
            thread = self._thread
            self._changed.notify_all()
        if thread is None:
            if self._messages:
                self._run()  # in this thread: there is no other
            return True
        thread.join(timeout)
        if not thread.is_alive():
            return True
        with self._changed:
            self.drop(sum(size_of(message)[0] for message in self._messages))
            self._messages.clear()
            self._changed.notify_all()
        # At most one batch is being written.
        thread.join(timeout)
        return False

    def _ensure_thread(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="tensortap-writer", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads: queued items wait until there is one, or for the end
                self.has_no_thread = True
            else:
                self.has_no_thread, self._thread = False, thread

    def _wait_for_room(self, nbytes: int) -> bool:
        """Whether a batch of this size may be queued; waits for that, if this is the policy."""
        last, deadline = time.monotonic(), time.monotonic() + self._wait_seconds
        while not self._has_room(nbytes):
            if last >= deadline or self._thread is None:
                return False
            self._changed.wait(min(deadline - last, self._next_report - self.waited))
            now = time.monotonic()
            self.waited += now - last
            last = now
            if self.waited >= self._next_report:
                self._report_waiting()
        return True

    def _report_waiting(self) -> None:
        self._next_report = 2 * self.waited
        print_line(
            f"training has waited {self.waited:.1f} s for the writer so far;"
            f" {self._waiting_bytes / 2**20:,.0f} MiB of tensors are queued"
            f" (queue_bytes={self._queue_bytes / 2**20:,.0f} MiB)."
            " Watch fewer steps or tensors, or use Tap(when_full='drop')."
        )

    def _has_room(self, nbytes: int) -> bool:
        return self._waiting_bytes == 0 or self._waiting_bytes + nbytes <= self._queue_bytes

    def _notice_fork(self) -> None:
        """Handles a fork: the child has neither thread nor files, so it starts its own and leaves the
        parent's batches."""
        if self._pid != os.getpid():
            self._start_afresh()

    def _run(self) -> None:
        self._safely(self._sink.prepare)
        while self._work():
            pass
        self._with_drop_count(self._sink.close)
        with self._changed:
            self._thread = None
            self._changed.notify_all()

    def _work(self) -> bool:
        """Processes one message, or one flush if the queue is empty; commits in a pause. False at the end."""
        with self._changed:
            is_needed = self._changed.wait_for(
                lambda: bool(self._messages) or self._stopping or self._flushes_wanted > self._flushes_done,
                timeout=None if self._is_committed else _PAUSE,
            )
            message = self._messages.popleft() if self._messages else None
            flushes = self._flushes_wanted
        if not is_needed:
            self._safely(self._sink.commit)
            self._is_committed = True
            return True
        if message is not None:
            count, nbytes = size_of(message)
            began = time.thread_time()
            lost = self._safely(lambda: self._sink.write(message), count)
            if isinstance(message, StepEnd):
                message.examined.set()
            self._is_committed = False
            with self._changed:
                self.busy += time.thread_time() - began
                self.dropped += lost
                self.refused += lost
                self._waiting_bytes -= nbytes
                self._changed.notify_all()
            return True
        self._with_drop_count(self._sink.flush)
        self._is_committed = True
        with self._changed:
            self._flushes_done = flushes
            self._changed.notify_all()
            return not self._stopping or bool(self._messages)

    def _with_drop_count(self, call: Callable[[int], int]) -> None:
        """Flushes or closes the sink, which records the number of snapshots dropped since the last call."""
        with self._changed:
            fresh, self._dropped_known = self.dropped - self._dropped_known, self.dropped
        lost = self._safely(lambda: call(fresh))
        with self._changed:
            self.dropped += lost
            self.refused += lost

    def _safely(self, call: Callable[[], int | None], lost: int = 0) -> int:
        """Returns how many snapshots a call lost; `lost` if it raised, which does not end the thread."""
        try:
            return call() or 0
        except Exception as error:
            if not self.failure:
                self.failure = (
                    f"the writer failed: {type(error).__name__}: {first_line(error)}. Please report this."
                )
                print_line(self.failure)
            return lost
