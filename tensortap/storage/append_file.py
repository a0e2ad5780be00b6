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
_SLOW, _ENOUGH = (
    200e6,
    64 << 20,
)  # bytes per second below which a disk needs the cache; bytes measured before that decision


class AppendFile:
    """Appends to one file after another. Not thread safe: the caller holds a lock.

    Appended bytes survive a kill of the process once `flush` has returned. Bytes are written once. After an
    OSError, `cut` must follow, to at most `written`, or `close`.

    Args:
        folder: where the files will be.

    Attributes:
        is_direct: whether large pieces go past the page cache.
        size: where the next byte goes.
        written: number of preceding bytes in the file.
    """

    def __init__(self, folder: Path) -> None:
        self.is_direct = bypasses_page_cache(folder)
        self._fd = self._direct_fd = -1
        self._path = folder
        self.size = self.written = 0
        self._begin = 0  # of the buffer's content
        self._buffer: Any = None  # uint8[CHUNK]; the first byte is that of the block in which `_begin` lies
        self._free: list[Any] = []
        self._made = 0
        self._thread = _WriteThread()

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

    def flush(self) -> None:
        """Writes all that was appended. Raises OSError."""
        if self._buffer is not None:
            is_long = self._thread.running or self.size - self._begin >= DIRECT_FROM
            self._empty(self.is_direct and bool(is_long))
        while self._thread.running:
            self._await_write()
        if self._thread.is_slow:
            self.is_direct = False

    @property
    def writes_ahead(self) -> bool:
        """Whether buffers are written beside this thread; a `flush` now would make it wait for the disk."""
        return bool(self._thread.running)

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
        self._thread.end()
        self._free, self._made = [], 0

    @property
    def _used(self) -> int:
        return self.size - self._begin // BLOCK * BLOCK

    def _take_buffer(self) -> Any:
        if not self._free and self._made < BUFFERS:
            self._made += 1
            return np.frombuffer(mmap.mmap(-1, CHUNK), np.uint8)  # the system aligns it to a page
        while not self._free:
            self._await_write()
        return self._free.pop()

    def _drop_unwritten(self) -> None:
        while self._thread.running:  # a descriptor must not be closed during a write
            self._free.append(self._thread.wait().buffer)
        self._drop_buffer()

    def _drop_buffer(self) -> None:
        if self._buffer is not None:
            self._free.append(self._buffer)
        self._buffer = None

    def _empty(self, is_direct: bool) -> None:
        """Writes the buffer; whole blocks go to the thread."""
        buffer, used, first = self._buffer, self._used, self._begin % BLOCK
        head = -(-first // BLOCK) * BLOCK  # where whole blocks begin
        whole = used // BLOCK * BLOCK if is_direct and self._open_directly() else 0
        if whole <= head:
            while self._thread.running:
                self._await_write()
            self._write(buffer[first:used])
            self._drop_buffer()
            return
        if first:
            self._write(buffer[first:head])
        self._thread.start(self._direct_fd, self._fd, buffer, head, whole, self._begin // BLOCK * BLOCK)
        self._buffer = None
        if whole < used:
            while self._thread.running:
                self._await_write()
            self._write(buffer[whole:used])

    def _write(self, octets: Any) -> None:
        """Writes through the page cache. Raises OSError."""
        view = memoryview(octets)
        os.lseek(self._fd, self.written, os.SEEK_SET)
        while view.nbytes:
            count = os.write(self._fd, view)
            view = view[count:]
            self.written += count

    def _await_write(self) -> None:
        """Takes a buffer back. Raises OSError."""
        done = self._thread.wait()
        self._free.append(done.buffer)
        if done.error is not None:
            raise done.error
        self.written = done.end

    def _open_directly(self) -> bool:
        """Whether there is a descriptor for direct writes of the file."""
        if self._direct_fd < 0:
            try:
                self._direct_fd = os.open(self._path, os.O_WRONLY | os.O_DIRECT)
                self.is_direct = os.path.samestat(os.fstat(self._direct_fd), os.fstat(self._fd))
            except OSError:
                self.is_direct = False
        return self.is_direct


class _Done(NamedTuple):
    """A write: its buffer, the end of its bytes in the file, and why it failed."""

    buffer: Any
    end: int
    error: Exception | None


class _WriteThread:
    """Writes pieces of one file, in order, beside the thread that fills the next buffer."""

    def __init__(self) -> None:
        self._start_afresh()

    def _start_afresh(self) -> None:
        """The state of a process that has written nothing yet."""
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._results: SimpleQueue[_Done] = SimpleQueue()
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

    def start(self, fd: int, cached_fd: int, buffer: Any, begin: int, end: int, offset: int) -> None:
        """Has `buffer[begin:end]` written at `offset + begin`: by `fd`, or `cached_fd` where that refuses."""
        if self._pid != os.getpid():
            self._start_afresh()
        self._running += 1
        task = fd, cached_fd, buffer, begin, end, offset
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="tensortap-disk", daemon=True)
            try:
                thread.start()
                self._thread = thread
            except RuntimeError:  # no more threads, or the interpreter ends
                self._results.put(self._write(*task))
                return
        self._tasks.put(task)

    def wait(self) -> _Done:
        """The oldest write, once it is done."""
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
            self._results.put(self._write(*task))

    def _write(self, fd: int, cached_fd: int, buffer: Any, begin: int, end: int, offset: int) -> _Done:
        view, began = memoryview(buffer)[begin:end], time.monotonic()
        at, error = offset + begin, None
        try:
            while view.nbytes:
                try:
                    count = os.pwrite(fd, view, at)
                except OSError as refused:
                    if refused.errno != errno.EINVAL or fd == cached_fd:
                        raise
                    fd = cached_fd  # larger blocks than ours, or a short write before
                    continue
                view, at = view[count:], at + count
        except Exception as caught:  # waiting callers must get an answer
            error = caught
        self._bytes += end - begin
        self._seconds += time.monotonic() - began
        return _Done(buffer, offset + end, error)


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
