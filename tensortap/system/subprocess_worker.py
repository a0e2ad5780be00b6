"""Run requests in processes of tensortap's own: one protocol, limits and an end for all of them.

A message is a line of JSON with as many raw bytes behind it as its field `bytes` says. A worker answers each
request on its standard input with any number of `{"progress": …}`, then one of `{"answer": …}`,
`{"error": sentence, "hint": …}` and `{"failure": name of an exception}`. Nothing is unpickled here: a worker
may read hostile files.

`concurrent.futures.ProcessPoolExecutor` does not fit: it unpickles what workers send, cannot end one task,
runs the caller's `__main__` again, and its processes outlive a killed parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from tensortap.core.errors import TensortapError
from tensortap.core.progress import Advance

from . import child_bootstrap

Message = tuple[dict[str, Any], bytes]
SendProgress = Callable[[Any], object]
"""Sends a message about progress to the process that asked."""
_PAUSE = 0.1  # s between two messages about progress
MAX_BYTES = 4 << 30  # of a line, and of the bytes after it


class ChildEndedError(Exception):
    """The worker ended before it had answered.

    Attributes:
        status: its exit status, negative for a signal. late: it was ended because it took too long.
        last_line: last line on standard error since the request; empty if not captured.
    """

    def __init__(self, status: int, late: bool, last_line: str) -> None:
        super().__init__(f"its process ended with {status}: {last_line}".rstrip(": "))
        self.status, self.late, self.last_line = status, late, last_line


class ChildFailedError(Exception):
    """The worker raised an unexpected error with this name. It continues with the next request."""


class Cancellation:
    """Ends a piece of work from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end: Callable[[], None] | None = None
        self.cancelled = False

    def cancel(self) -> None:
        """Cancels the work immediately, or as soon as possible."""
        with self._lock:  # held while it ends: by then the process may work on another request
            self.cancelled = True
            if self._end is not None:
                self._end()

    @contextlib.contextmanager
    def calling(self, end: Callable[[], None]) -> Iterator[None]:
        """Has `end` called if the work is cancelled in here, or was before."""
        with self._lock:
            self._end = end
            if self.cancelled:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._end = None


class ChildProcess:
    """One process. One thread at a time sends and receives; any thread may `kill`.

    Args:
        program: a module of the package, as `replay`, or a file. arguments: of the program.
        capture_errors: whether its standard error goes to `ChildEndedError` only.
        bound: whether it is ended when this process ends.

    Raises OSError: it cannot be started.
    """

    def __init__(
        self, program: str | Path, *arguments: str, capture_errors: bool = False, bound: bool = True
    ) -> None:
        self._errors = tempfile.TemporaryFile() if capture_errors else None  # noqa: SIM115
        self._asked_at = 0  # bytes of standard error before the request
        self._late = False
        self._process = start_process(
            own_command(program, *arguments),
            bound=bound,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self,
        request: Mapping[str, Any],
        *,
        progress: SendProgress | None = None,
        seconds: float | None = None,
    ) -> tuple[Any, bytes]:
        """The answer to a request, and the bytes after it.

        Raises:
            ChildEndedError: it died, was killed, or took longer than `seconds`.
            TensortapError: the request cannot be answered. ChildFailedError: something unexpected happened.
        """
        with self.limited(seconds):
            self.send(request)
            while True:
                answer, data = self.receive()
                if "answer" in answer:
                    return answer["answer"], data
                if "error" in answer:
                    raise TensortapError(str(answer["error"]), str(answer.get("hint", "")))
                if "failure" in answer:
                    raise ChildFailedError(str(answer["failure"]))
                if progress is not None:
                    progress(answer.get("progress"))

    def send(self, request: Mapping[str, Any]) -> None:
        """Sends a request; if the worker has ended, `receive` raises."""
        assert self._process.stdin is not None
        if self._errors is not None:
            self._asked_at = os.fstat(self._errors.fileno()).st_size
        with contextlib.suppress(OSError):
            _write(self._process.stdin, request)

    def receive(self) -> Message:
        """The next message. Raises ChildEndedError: there is none, or an incomplete one."""
        assert self._process.stdout is not None
        message = _read(self._process.stdout)
        if message is None:
            if self.wait(1.0) is None:  # it continues, but is invalid
                self.kill()
            raise ChildEndedError(self._process.returncode, self._late, self._last_line())
        return message

    @contextlib.contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Kills the worker when it takes longer."""
        if seconds is None:
            yield
            return

        def end() -> None:
            self._late = True
            self.kill()

        watchdog = threading.Timer(seconds, end)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()

    def wait(self, seconds: float) -> int | None:
        """Waits for the process to end: its exit status, or None after the timeout. Starts no thread."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def kill(self) -> None:
        """Ends it immediately; a thread that waits for its answer gets a ChildEndedError."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Ends it and closes its pipes. Only where no other thread waits for its answer."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                with contextlib.suppress(OSError):  # the last request was not read
                    pipe.close()

    def _last_line(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(self._asked_at)
        lines = self._errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class ChildPool:
    """Workers of one kind: started on demand, ended after some idle time.

    Any number of threads may ask; they wait for each other.

    Args:
        program, arguments, capture_errors: as `ChildProcess` has them.
        most: workers at a time. idle: seconds after which one without work is ended; None: never.
    """

    def __init__(
        self,
        program: str | Path,
        *arguments: str,
        most: int = 1,
        idle: float | None = None,
        capture_errors: bool = False,
    ) -> None:
        self._idle = idle
        self._start = partial(ChildProcess, program, *arguments, capture_errors=capture_errors)
        self._free = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._resting: list[tuple[ChildProcess, threading.Timer | None]] = []

    def ask(
        self,
        request: Mapping[str, Any],
        *,
        progress: SendProgress | None = None,
        seconds: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> tuple[Any, bytes]:
        """As `ChildProcess.ask`, with any process of the pool. It is killed by `cancellation`, and if
        `progress` or an interrupt raises, because it could still answer this request."""
        with self._free:
            worker = self._rested() or self._start()
            try:
                with (cancellation or Cancellation()).calling(worker.kill):
                    answer = worker.ask(request, progress=progress, seconds=seconds)
            except (TensortapError, ChildFailedError):
                self._rest(worker)
                raise
            except BaseException:
                worker.close()
                raise
            self._rest(worker)
            return answer

    def close(self) -> None:
        """Ends idle workers."""
        while worker := self._rested():
            worker.close()

    def _rested(self) -> ChildProcess | None:
        with self._lock:
            while self._resting:
                worker, timer = self._resting.pop()
                if timer is not None:
                    timer.cancel()
                if worker.alive:
                    return worker
                worker.close()
        return None

    def _rest(self, worker: ChildProcess) -> None:
        timer = None if self._idle is None else threading.Timer(self._idle, self._end_idle, (worker,))
        with self._lock:
            self._resting.append((worker, timer))
            if timer is not None:
                timer.daemon = True
                timer.start()

    def _end_idle(self, worker: ChildProcess) -> None:
        timer = threading.current_thread()
        with self._lock:
            if (worker, timer) not in self._resting:  # it was lent meanwhile
                return
            self._resting.remove((worker, timer))  # type: ignore[arg-type]
        worker.close()


def spaced(progress: SendProgress) -> Advance:
    """Sends how far work is, not more often than is useful."""
    last = float("-inf")

    def advance(done: int, total: int, doing: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _PAUSE:
            last = time.monotonic()
            progress((done, total, doing))

    return advance


Handler = Callable[[dict[str, Any], SendProgress], tuple[Any, bytes]]
"""Takes a request and what takes its progress; returns the answer, and bytes to stand behind it."""


class Channel:
    """The worker's end. It keeps standard input and output for messages; all other output goes to standard
    error."""

    def __init__(self) -> None:
        self._source, self._out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def send(self, record: Mapping[str, Any], data: bytes | memoryview = b"") -> None:
        """Raises BrokenPipeError: the reader is gone."""
        _write(self._out, record, data)

    def requests(self) -> Iterator[dict[str, Any]]:
        """Requests until the input ends."""
        while message := _read(self._source):
            yield message[0]


def serve(handle: Handler) -> None:
    """A worker's main function: answers requests until the input ends.

    A MemoryError ends the process, because its state is no longer useful.
    """
    channel = Channel()
    try:
        for request in channel.requests():
            try:
                answer, data = handle(request, lambda what: channel.send({"progress": what}))
                channel.send({"answer": answer}, data)
            except TensortapError as error:
                channel.send({"error": error.message, "hint": error.hint})
            except (MemoryError, BrokenPipeError):
                raise
            except Exception as error:
                channel.send({"failure": type(error).__name__})
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)


def _write(out: IO[bytes], record: Mapping[str, Any], data: bytes | memoryview = b"") -> None:
    out.write(json.dumps({**record, "bytes": len(data)} if data else record).encode() + b"\n")
    out.write(data)
    out.flush()


def _read(source: IO[bytes]) -> Message | None:
    """The next message; None at the end, or if it is incomplete."""
    try:
        record = json.loads(source.readline(MAX_BYTES))
        size = record.get("bytes", 0) if isinstance(record, dict) else -1
        if not isinstance(size, int) or not 0 <= size <= MAX_BYTES:
            return None
        data = source.read(size)
    except (ValueError, RecursionError, OSError):
        return None
    return (record, data) if len(data) == size else None


_ROOT = Path(__file__).absolute().parents[2]  # the package lies there, or an editable install elsewhere
_pipe_ends: dict[object, int] = {}  # closing one ends the process that holds the other end


def own_command(program: str | Path, *arguments: str) -> list[str]:
    """A command that runs a module of the package, e.g. `replay`, or a file, in a separate process.

    The current folder may contain untrusted dumps: its files are not modules (`-P`). Where tensortap itself
    was found there, beside a script, the folder comes last, behind all that is installed.
    """
    found = any(Path(place).absolute() == _ROOT for place in sys.path)
    bootstrap = str(Path(child_bootstrap.__file__).absolute())
    target = str(program) if isinstance(program, Path) else f"tensortap.{program}"
    return [sys.executable, "-P", bootstrap, str(_ROOT) if found else "", target, *arguments]


def start_process(command: list[str], *, bound: bool = True, **options: Any) -> subprocess.Popen[Any]:
    """Start one of these commands, for as long as this process is there.

    When this process ends, by SIGKILL too, the other one is killed at once; on Windows it is not, and ends
    only when it reads or writes the next time. Ctrl-C reaches only this process, which then ends the other.

    Args:
        bound: False: it continues when this process has ended.
        options: as `subprocess.Popen` has them.

    Raises OSError.
    """
    if os.name == "posix":
        options["process_group"] = 0  # a terminal's Ctrl-C goes to a group: its traceback would show
    if not bound or os.name != "posix":
        return subprocess.Popen(command, **options)
    pipe, own_end = os.pipe()
    key = object()  # a number may be that of another pipe, once this one is closed
    _pipe_ends[key] = own_end
    environment = {**(options.pop("env", None) or os.environ), child_bootstrap.PARENT_PIPE: str(pipe)}
    try:
        process = subprocess.Popen(command, pass_fds=[pipe], env=environment, **options)
    except BaseException:
        _close_end(key)
        raise
    finally:
        os.close(pipe)
    weakref.finalize(process, _close_end, key).atexit = False  # other exit handlers may need it
    return process


def _close_end(key: object) -> None:
    own_end = _pipe_ends.pop(key, None)
    if own_end is not None:
        os.close(own_end)


def _close_all_ends() -> None:
    """A fork of this process did not start the others."""
    for key in list(_pipe_ends):
        with contextlib.suppress(OSError):  # closed by the program, which forks to be a daemon
            _close_end(key)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_ends)
