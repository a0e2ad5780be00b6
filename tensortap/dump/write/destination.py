"""The destination of a writer: a folder on disk, or a spool that is uploaded to an address."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from tensortap.core.errors import InvalidValueError
from tensortap.storage.files import MAX_JSON, publish
from tensortap.storage.uri import is_remote, new_remote_of, shown_path

from ..format.run_files import RUN_FILE, ensure_run
from .retention import Retention
from .spool import LEAST, Spool, SpooledFile
from .upload import Uploader, Uploads
from .worker_files import WorkerFiles


class Destination:
    """The place of a run that is being written, by this process.

    Args:
        logdir: the log directory; an address is written through a spool.
        spool_bytes: most bytes that wait there. upload_seconds: how long `finish` waits for uploads.

    Raises:
        InvalidValueError: an argument is not possible, or not at an address.
    """

    def __init__(
        self, logdir: Path, run: str, retention: Retention, spool_bytes: int, upload_seconds: float
    ) -> None:
        self._logdir, self.run_dir = logdir, logdir / run
        self._run, self._retention = run, retention
        self._spool_bytes, self._upload_seconds = spool_bytes, upload_seconds
        self._is_remote = is_remote(logdir)
        if self._is_remote and not retention.everything:
            raise InvalidValueError(
                f"keep_last and max_bytes do not work with {shown_path(logdir)}: remote values are "
                "never deleted.",
                "Remove them, store fewer values, or write to a local disk.",
            )
        if self._is_remote and spool_bytes < LEAST:
            raise InvalidValueError(
                f"spool_bytes={spool_bytes!r} is too small.",
                f"Use at least {LEAST:,} bytes; the default is 1 GiB.",
            )
        self._spool: Spool | None = None
        self._uploader: Uploader | None = None
        self._was_there: tuple[str, ...] = ()

    @property
    def uploads(self) -> Uploads:
        """Number of uploads so far; none for a disk."""
        return Uploads() if self._uploader is None else self._uploader.uploads

    def open(
        self, info: dict[str, Any], rank: int | None, compression: str | None, fsync: bool
    ) -> WorkerFiles:
        """A new worker of the run.

        Raises:
            NotARunError, FormatVersionError, OSError: see `ensure_run`. OSError: an address does not answer.
        """
        if not self._is_remote:
            return WorkerFiles(self.run_dir, info, rank, compression, fsync, self._retention)
        self._spool = Spool(self._run, self._spool_bytes)
        try:
            self.run_dir = self._spool.run_dir
            self.run_dir.mkdir(parents=True)
            self._was_there = call_with_timeout(self._fetch_run_file, self._logdir / self._run)
            ensure_run(self.run_dir, self._run, info)
            return WorkerFiles(self.run_dir, info, rank, compression, fsync, self._retention, self._spool)
        except BaseException:
            self._spool.clear()
            raise

    def start(self, take_parts: Callable[[], list[SpooledFile]]) -> None:
        """Begins to upload, at an address.

        Args:
            take_parts: commits, and says what there is to upload.

        Raises:
            OSError: the address refuses or does not answer; nothing stays behind here.
        """
        if self._spool is None:
            return
        uploader = Uploader(
            self._logdir, self._run, self._spool, take_parts, self._upload_seconds, self._was_there
        )
        try:
            parts = take_parts()  # here: a writer that opens after a fork holds its lock
            call_with_timeout(lambda: uploader.send_first(parts), self._logdir / self._run)
            uploader.start()
        except BaseException:
            uploader.give_up()
            self._spool.clear()
            raise
        self._uploader = uploader

    def parts(self, open_files: Collection[Path | None]) -> list[SpooledFile]:
        """Files in the spool; `open_files` are still being written."""
        return [] if self._spool is None else self._spool.parts(open_files)

    def wake(self) -> None:
        """Uploads soon. Raises OSError if the last upload failed."""
        if self._uploader is not None:
            self._uploader.wake()

    def finish(self) -> None:
        """Uploads the rest after the files are closed. Raises OSError if that takes too long."""
        if self._uploader is not None:
            self._uploader.finish()

    def detach(self) -> None:
        """For a forked child: spool and thread are its parent's."""
        self._spool = self._uploader = None

    def _fetch_run_file(self) -> tuple[str, ...]:
        """Takes over a `run.json` that another worker uploaded; returns its name if there is one."""
        remote, folder = new_remote_of(self._logdir / self._run)
        try:
            file, size = remote.open(f"{folder}/{RUN_FILE}")
        except FileNotFoundError:
            return ()
        publish(self.run_dir / RUN_FILE, file.read(min(size, MAX_JSON + 1)))
        return (RUN_FILE,)


ANSWER_SECONDS = 30.0  # s that opening a run waits; a store's library tries for minutes
T = TypeVar("T")


def call_with_timeout(work: Callable[[], T], place: Path) -> T:
    """Calls `work` in a thread, for at most `ANSWER_SECONDS`; returns and raises as it does.

    Raises:
        TimeoutError: it took longer than `ANSWER_SECONDS`; it continues in a background thread.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="tensortap-address", daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if errors:
        raise errors[0]
    if results:
        return results[0]
    raise OSError(errno.ETIMEDOUT, f"no answer within {ANSWER_SECONDS:g} s", shown_path(place))
