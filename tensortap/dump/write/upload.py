"""Uploads a run to its address while it is written, in a separate thread (docs/remote.md, "Writing")."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from tensortap.storage.files import FileReader
from tensortap.storage.uri import address_of, new_remote_of, shown_path
from tensortap.system.subprocess_worker import ChildProcess

from .spool import Spool, SpooledFile

UPLOAD_SECONDS = 2.0  # between uploads
_LONGEST_PAUSE = 30.0  # s, after failures
_MAX_BYTES_IN_MEMORY = 32 << 20  # bytes that are held in memory; a larger file is sent from the disk
_BULKY = (".pb", ".arrows", ".safetensors", ".jsonl")  # deleted once uploaded
TakeParts = Callable[[], list[SpooledFile]]


@dataclass(frozen=True, slots=True)
class Uploads:
    """State of a run's uploads: files and bytes that were sent, bytes that wait, uploads that failed
    (they are tried again), and the last failure while there is one."""

    files: int = 0
    bytes: int = 0
    waiting_bytes: int = 0
    failures: int = 0
    error: str = ""


class Uploader:
    """Uploads the content of a spool to an address.

    Files that are complete are removed from the spool when they are there; others are sent again when they
    have grown. Values go before the statistics that name them.

    Args:
        place: the path that represents the log directory's address. run: name of the run.
        spool: where the run is written.
        take_parts: commits, and returns the files to upload.
        timeout: seconds that `finish` waits.
        was_there: names of files that the address has already.
    """

    def __init__(
        self,
        place: Path,
        run: str,
        spool: Spool,
        take_parts: TakeParts,
        timeout: float,
        was_there: Collection[str] = (),
    ) -> None:
        self._place, self._run_name, self._spool = place, run, spool
        self._take_parts, self._timeout = take_parts, timeout
        self._remote, self._folder = new_remote_of(place / run)
        self._was_there = was_there
        self._sent: dict[str, tuple[int, bool]] = {}
        self._done = Uploads()
        self._changed = threading.Condition()
        self._wanted = self._ending = self._given_up = self._finished = False
        self._failed_in_a_row = 0
        self._thread: threading.Thread | None = None

    @property
    def uploads(self) -> Uploads:
        """State so far."""
        return replace(self._done, waiting_bytes=self._spool.waiting_bytes)

    def send_first(self, parts: list[SpooledFile]) -> None:
        """Uploads these. Raises OSError if the address refuses."""
        self._send_all(lambda: parts)

    def give_up(self) -> None:
        """Starts no more uploads."""
        self._given_up = True

    def start(self) -> None:
        """Uploads in a thread from now on."""
        self._thread = threading.Thread(target=self._run, name="tensortap-upload", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Uploads soon. Raises OSError if the last upload failed; it is tried again all the same."""
        with self._changed:
            self._wanted = True
            self._changed.notify_all()
        if self._done.error:
            raise OSError(errno.EIO, self._done.error, shown_path(self._place / self._run_name))

    def finish(self) -> None:
        """Uploads the rest, and removes the spool.

        Raises:
            OSError: that did not succeed in time; the spool stays.
        """
        deadline = time.monotonic() + self._timeout
        with self._changed:
            self._ending = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._finished or self._has_failed(), self._timeout)
            self._given_up = not self._finished
        if self._given_up and not (self._has_failed() and self._finish_outside(deadline - time.monotonic())):
            raise OSError(
                errno.EIO,
                f"{self._spool.waiting_bytes:,} bytes were not uploaded in {self._timeout:g} "
                f"s{': ' if self._done.error else ''}{self._done.error}. They are stored in "
                f"{self._spool.base}: copy its contents to the log directory",
                shown_path(self._place / self._run_name),
            )
        self._spool.clear()

    def _has_failed(self) -> bool:
        """Whether an upload fails because this process is exiting: resolving a name takes a thread, which can
        no longer start."""
        return bool(self._done.error) and not threading.main_thread().is_alive()

    def _finish_outside(self, seconds: float) -> bool:
        """Uploads the rest in a separate process; returns whether that succeeded."""
        job = {
            "address": address_of(self._place),
            "run": self._run_name,
            "spool": str(self._spool.base),
            "there": list(self._was_there),
            "seconds": seconds,
        }
        try:
            with ChildProcess("dump.write.upload_child", bound=False) as child:
                child.send(job)
                return child.wait(max(seconds, 0.0)) == 0
        except OSError:
            return False

    def _run(self) -> None:
        while not self._given_up:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._ending, self._pause())
                ending, self._wanted = self._ending, False
            try:
                self._send_all(self._take_parts)
            except OSError:
                with self._changed:
                    self._changed.notify_all()  # then a pause: a retry at once would fail again
                    self._changed.wait_for(lambda: self._given_up, min(1.0, self._pause()))
            else:
                if ending:
                    with self._changed:
                        self._finished = True
                        self._changed.notify_all()
                    return

    def _pause(self) -> float:
        return min(UPLOAD_SECONDS * 2.0**self._failed_in_a_row, _LONGEST_PAUSE)

    def _send_all(self, take_parts: TakeParts) -> None:
        """One round of uploads. Raises OSError; failed files are tried again in the next round."""
        try:
            for part in take_parts():
                if self._given_up:
                    return
                if self._sent.get(part.name) != _state(part) and part.name not in self._was_there:
                    self._send(part)
                if part.final and part.path.suffix in _BULKY:
                    self._spool.remove(part)
        except Exception as error:  # the thread survives errors of a store's library
            self._failed_in_a_row = min(self._failed_in_a_row + 1, 10)
            reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            self._spool.failure = reason
            self._done = replace(self._done, failures=self._done.failures + 1, error=reason)
            raise OSError(errno.EIO, reason, shown_path(self._place / self._run_name)) from error
        self._failed_in_a_row = 0
        self._spool.failure = ""
        self._done = replace(self._done, error="")

    def _send(self, part: SpooledFile) -> None:
        name = f"{self._folder}/{part.name}" if self._folder else part.name
        if part.size > _MAX_BYTES_IN_MEMORY:
            self._remote.write_file(name, part.path)  # bytes that came since are those of values
        else:
            self._remote.write(name, _first_bytes(part))
        self._sent[part.name] = _state(part)
        done = self._done
        self._done = replace(done, files=done.files + 1, bytes=done.bytes + part.size)


def _state(part: SpooledFile) -> tuple[int, bool]:
    """Differs when a file's bytes do: it has grown, or its reserved header was filled in."""
    return part.size, part.final and part.path.suffix == ".safetensors"


def _first_bytes(part: SpooledFile) -> bytes:
    with FileReader(part.path) as file:
        return file.read_exactly(0, part.size)
