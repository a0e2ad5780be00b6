"""The recordings of one tap: decides which calls are recorded, and writes them in a thread of its own."""

from __future__ import annotations

import os
import shutil
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensortap.dump import (
    Graph,
    Way,
    ensure_run,
    find_recordings,
    remove_unused_blobs,
    write_graph,
    write_recording,
)

from .naming import short_function_name
from .record import Record
from .recorded import RecordedFunction
from .recorder import CallRecorder, PendingCall, RecordedCall, UnrecordableError
from .trouble import Trouble

_MOST_WAITING = 2  # recordings; each holds a copy of the variables


class Pending:
    """A call that is being recorded; see `intercept.PendingRecording`."""

    def __init__(self, owner: Recordings, call: PendingCall, recorded: RecordedFunction, step: int) -> None:
        self._owner, self._call, self._recorded, self._step = owner, call, recorded, step
        self.inputs = call.inputs

    def end(self, outputs: Sequence[Any] | None, failure: BaseException | None = None) -> None:
        self._owner.end(self._call, self._recorded, self._step, outputs, failure)


class Recordings:
    """Recordings of a tap. None of its methods raises.

    Args:
        record: which steps.
        info: facts for the run, if it is not there yet.
        way: how the tap captures; the graph is written as of that way.
    """

    def __init__(
        self, run_dir: Path, record: Record, trouble: Trouble, *, way: Way, info: Mapping[str, Any]
    ) -> None:
        self._run_dir, self._record, self._trouble = run_dir, record, trouble
        self._way: Way = way
        self._info = dict(info)
        self._recorders: dict[str, CallRecorder | None] = {}
        self._calls: dict[int, int] = {}  # step -> calls recorded so far
        self._waiting: deque[tuple[RecordedCall, Graph, int, int]] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._graphs: dict[int, str] = {}  # id() of a graph, which lives as long as its function does

    def wants(self, steps: range) -> bool:
        """Whether one of these steps is recorded."""
        try:
            return self._pid == os.getpid() and any(self._record.wants_step(step) for step in steps)
        except Exception as error:
            self._trouble.tell("record steps", "record= failed", "Correct it; nothing is recorded.", error)
            return False

    def begin(self, recorded: RecordedFunction, inputs: Sequence[Any], step: int) -> Pending | None:
        """Starts to record a call; None if it cannot be, or too many recordings wait to be written."""
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING:
                self._tell("record full", "is not recorded at some steps: the disk is too slow", recorded)
                return None
        try:
            if recorded.root not in self._recorders:
                self._recorders[recorded.root] = None
                self._recorders[recorded.root] = CallRecorder(recorded)
            recorder = self._recorders[recorded.root]
            return Pending(self, recorder.begin(inputs), recorded, step) if recorder is not None else None
        except UnrecordableError as error:
            self._recorders[recorded.root] = None
            self._tell(f"record {recorded.root}", f"cannot be recorded: {error}", recorded)
        except Exception as error:
            self._tell(f"record {recorded.root}", "could not be recorded", recorded, error)
        return None

    def end(
        self,
        pending: PendingCall,
        recorded: RecordedFunction,
        step: int,
        outputs: Sequence[Any] | None,
        failure: BaseException | None = None,
    ) -> None:
        """Hands a recorded call to the writer's thread."""
        try:
            call = pending.end(outputs, failure)
            if call is None:
                return
            number = self._calls.get(step, 0)
            self._calls = {step: number + 1}
            with self._changed:
                self._waiting.append((call, recorded.graph, step, number))
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._write_all, name="tensortap-recordings", daemon=True
                    )
                    self._thread.start()
                self._changed.notify_all()
        except Exception as error:
            self._tell(f"record {recorded.root}", "could not be recorded", recorded, error)

    def flush(self, timeout: float) -> bool:
        """Waits until all is written; False if that takes longer than `timeout` seconds."""
        if self._pid != os.getpid():
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                item = self._waiting.popleft()
                self._busy = True
            try:
                self._write(*item)
            except Exception as error:
                self._trouble.tell(
                    "record disk", "a recording could not be written", "Training goes on without it.", error
                )
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _write(self, call: RecordedCall, graph: Graph, step: int, number: int) -> None:
        ensure_run(self._run_dir, self._run_dir.name, self._info)
        graph_id = self._graphs.get(id(graph))
        if graph_id is None:
            graph_id = self._graphs[id(graph)] = write_graph(
                self._run_dir, replace(graph, way=self._way), "zstd"
            )
        recording = replace(
            call.finished(), step=step, call=number, graph=graph_id, reason=f"steps={self._record.steps!r}"
        )
        write_recording(self._run_dir, recording)
        self._forget_old()

    def _forget_old(self) -> None:
        if self._record.keep_last is not None:
            for place in find_recordings(self._run_dir)[: -self._record.keep_last]:
                shutil.rmtree(place.path, ignore_errors=True)
            remove_unused_blobs(self._run_dir)

    def _tell(
        self, kind: str, what: str, recorded: RecordedFunction, error: BaseException | None = None
    ) -> None:
        name = short_function_name(recorded.root)
        self._trouble.tell(
            kind, f"the function {name} {what}", "It runs, and is captured, all the same.", error
        )
