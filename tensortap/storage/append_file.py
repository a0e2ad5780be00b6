"""A file that is appended to: in large pieces past the page cache where that pays, else through it.

The page cache takes a fresh page of memory for each 4 KiB, and pushes the pages of other files out. Past it
(`O_DIRECT`) the disk reads from the writer's own buffers; docs/decisions.md has the figures.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

BLOCK = 4096  # offsets, lengths and addresses of direct writes are multiples of it
CHUNK = 4 << 20  # bytes of a buffer
BUFFERS = 6  # one is filled, others are written or wait: so the disk has work while tensors are measured
DIRECT_FROM = 1 << 20  # bytes between two flushes from which they go past the page cache
_FILE_SYSTEMS = ("ext4", "xfs")  # others, as NFS or tmpfs, are slower that way, or cannot
# Bytes per second below which a disk needs the cache; bytes measured before that decision.
_SLOW, _ENOUGH = 200e6, 64 << 20


class AppendFile:
    """Appends to one file after another. Not thread safe: the caller holds a lock.

    Appended bytes survive a kill of the process once `flush` has returned. Bytes are written once. After an
    OSError, `cut` must follow, to at most `written`, or `close`.

    Args:
        folder: where the files will be.
        before: a file of the same folder, whose buffers and thread this one uses, too.

    Attributes:
        size: where the next byte goes.
        written: number of preceding bytes in the file.
    """

    def __init__(self, folder: Path, before: AppendFile | None = None) -> None:
        self._shared: _Shared = _Shared(bypasses_page_cache(folder)) if before is None else before._shared
        self._fd = self._direct_fd = -1
        self._path = folder
        self.size = self.written = 0
        self._begin = 0  # of the buffer's content
        self._buffer: Any = None  # uint8[CHUNK]; the first byte is that of the block in which `_begin` lies
        self._writes = 0  # that the thread was given, and that `_await_write` has not returned
        self._error: Exception | None = None  # of one of them

    @property
    def is_direct(self) -> bool:
        """Whether large pieces go past the page cache."""
        return self._shared.is_direct

    def open(self, fd: int, path: Path, size: int) -> None:
        """Continues at the end of an open file of `size` bytes; `close` closes it."""
        self._fd, self._path = fd, path
        self.size = self.written = size

    def append(self, data: Any) -> None:
        """Adds a buffer's bytes. Raises OSError."""
        octets: Any = np.frombuffer(data, np.uint8)
        if octets.size >= DIRECT_FROM and not self.is_direct:
            self.flush()
            self._write(octets)  # from where they lie: a copy would gain nothing
            self.size = self.written
            return
        done = 0
        while done < octets.size:
            if self._buffer is None:
                self._buffer, self._begin = self._take_buffer(), self.size
            at = self._used
            count = min(CHUNK - at, octets.size - done)
            np.copyto(self._buffer[at : at + count], octets[done : done + count])  # lets other threads run
            self.size += count
            done += count
            if at + count == CHUNK:
                self._empty(self.is_direct)

    def start_flush(self) -> None:
        """Begins to write all that was appended, large pieces beside this thread; nothing may be appended
        until `flush` has returned. Raises OSError."""
        if self._buffer is not None:
            is_long = self._shared.thread.running or self.size - self._begin >= DIRECT_FROM
            self._empty(self.is_direct and bool(is_long))

    def flush(self) -> None:
        """Writes all that was appended. Raises OSError."""
        self.start_flush()
        while self._running:
            self._await_write()
        self._raise_error()
        if self._shared.thread.is_slow:
            self._shared.is_direct = False

    @property
    def writes_ahead(self) -> bool:
        """Whether buffers are written beside this thread; a `flush` now would make it wait for the disk."""
        return bool(self._shared.thread.running)

    @property
    def has_writes(self) -> bool:
        """Whether `flush` has writes of this file to wait for, or to learn how they ended."""
        return bool(self._running)

    def cut(self, size: int) -> None:
        """Drops everything after `size`, if the file system allows that."""
        self._drop_unwritten()
        self.size = self.written = size
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, size)

    def close(self) -> None:
        """Closes the file as it is. May be called in a forked child, where it is the parent's."""
        self._drop_unwritten()
        for fd in (self._fd, self._direct_fd):
            if fd >= 0:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self._fd = self._direct_fd = -1
        self.size = self.written = 0

    def end(self) -> None:
        """Closes the file, and gives buffers and thread back until they are needed again."""
        self.close()
        self._shared.thread.end()
        self._shared.free, self._shared.made = [], 0

    @property
    def _used(self) -> int:
        return self.size - self._begin // BLOCK * BLOCK

    @property
    def _running(self) -> int:
        """Writes of this file; none in a forked child, as `_WriteThread.running`."""
        return self._writes if self._shared.thread.running else 0

    def _take_buffer(self) -> Any:
        shared = self._shared
        if not shared.free and shared.made < BUFFERS:
            shared.made += 1
            return np.frombuffer(mmap.mmap(-1, CHUNK), np.uint8)  # the system aligns it to a page
        while not shared.free:
            self._await_write()
            self._raise_error()
        return shared.free.pop()

    def _drop_unwritten(self) -> None:
        while self._running:  # a descriptor must not be closed during a write
            self._await_write()
        self._writes, self._error = 0, None
        self._drop_buffer()

    def _drop_buffer(self) -> None:
        if self._buffer is not None:
            self._shared.free.append(self._buffer)
        self._buffer = None

    def _empty(self, is_direct: bool) -> None:
        """Writes the buffer; from the first whole block on in the thread."""
        buffer, used, first = self._buffer, self._used, self._begin % BLOCK
        head = -(-first // BLOCK) * BLOCK  # where whole blocks begin
        whole = used // BLOCK * BLOCK if is_direct and self._open_directly() else 0
        if whole <= head:
            while self._running:
                self._await_write()
            self._raise_error()
            self._write(buffer[first:used])
            self._drop_buffer()
            return
        if first:
            self._write(buffer[first:head])
        offset = self._begin // BLOCK * BLOCK
        self._writes += 1
        self._shared.thread.start(_Task(self, self._direct_fd, self._fd, buffer, head, whole, used, offset))
        self._buffer = None

    def _write(self, octets: Any) -> None:
        """Writes through the page cache. Raises OSError."""
        view = memoryview(octets)
        os.lseek(self._fd, self.written, os.SEEK_SET)
        while view.nbytes:
            count = os.write(self._fd, view)
            view = view[count:]
            self.written += count

    def _await_write(self) -> None:
        """Takes the buffer of the oldest write back, which may be that of another file."""
        task, error = self._shared.thread.wait()
        self._shared.free.append(task.buffer)
        file = task.file
        file._writes -= 1
        file._error = file._error or error
        if file._error is None:
            file.written = task.offset + task.used

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _open_directly(self) -> bool:
        """Whether there is a descriptor for direct writes of the file."""
        if self._direct_fd < 0:
            try:
                self._direct_fd = os.open(self._path, os.O_WRONLY | os.O_DIRECT)
                same = os.path.samestat(os.fstat(self._direct_fd), os.fstat(self._fd))
                self._shared.is_direct = same
            except OSError:
                self._shared.is_direct = False
        return self.is_direct


class _Shared:
    """What the files of one folder share: free buffers, how many were made, and the thread that writes."""

    def __init__(self, is_direct: bool) -> None:
        self.is_direct = is_direct
        self.free: list[Any] = []
        self.made = 0
        self.thread = _WriteThread()


class _Task(NamedTuple):
    """A write of `buffer[begin:used]` at `offset + begin`: up to `whole` by `fd`, or `cached_fd` where that
    refuses; the rest, less than a block, by `cached_fd`."""

    file: AppendFile
    fd: int
    cached_fd: int
    buffer: Any
    begin: int
    whole: int
    used: int
    offset: int


class _WriteThread:
    """Writes pieces of files, in order, beside the thread that fills the next buffer."""

    def __init__(self) -> None:
        self._start_afresh()

    def _start_afresh(self) -> None:
        """The state of a process that has written nothing yet."""
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[_Task, Exception | None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._running = 0
        self._bytes, self._seconds = 0, 0.0
        self._pid = os.getpid()

    @property
    def running(self) -> int:
        """Writes that `wait` has not returned yet; none in a forked child, which has no such thread."""
        return self._running if self._pid == os.getpid() else 0

    @property
    def is_slow(self) -> bool:
        """Whether the disk has shown that it needs the page cache."""
        return self._bytes >= _ENOUGH and self._bytes < _SLOW * self._seconds

    def start(self, task: _Task) -> None:
        """Has the thread write it."""
        if self._pid != os.getpid():
            self._start_afresh()
        self._running += 1
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="tensortap-disk", daemon=True)
            try:
                thread.start()
                self._thread = thread
            except RuntimeError:  # no more threads, or the interpreter ends
                self._results.put((task, self._write(task)))
                return
        self._tasks.put(task)

    def wait(self) -> tuple[_Task, Exception | None]:
        """The oldest write, once it is done, and why it failed."""
        done = self._results.get()
        self._running -= 1
        return done

    def end(self) -> None:
        """Ends the thread; the next write starts another."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread = None

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._results.put((task, self._write(task)))

    def _write(self, task: _Task) -> Exception | None:
        began, error = time.monotonic(), None
        try:
            self._write_part(task, task.fd, task.begin, task.whole)
            self._write_part(task, task.cached_fd, task.whole, task.used)
        except Exception as caught:  # waiting callers must get an answer
            error = caught
        self._bytes += task.used - task.begin
        self._seconds += time.monotonic() - began
        return error

    @staticmethod
    def _write_part(task: _Task, fd: int, begin: int, end: int) -> None:
        view, at = memoryview(task.buffer)[begin:end], task.offset + begin
        while view.nbytes:
            try:
                count = os.pwrite(fd, view, at)
            except OSError as refused:
                if refused.errno != errno.EINVAL or fd == task.cached_fd:
                    raise
                fd = task.cached_fd  # larger blocks than ours, or a short write before
                continue
            view, at = view[count:], at + count


def bypasses_page_cache(folder: Path) -> bool:
    """Whether large writes to a folder are cheaper past the page cache: on a local disk of Linux."""
    if sys.platform != "linux":
        return False
    try:
        device = folder.stat().st_dev
        mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    number = f" {os.major(device)}:{os.minor(device)} "
    kinds = [line.rpartition(" - ")[2].split(" ")[0] for line in mounts if number in line.partition(" - ")[0]]
    return bool(kinds) and kinds[-1] in _FILE_SYSTEMS
