"""Events of a run: one JSON object per line, checksummed, written and read (FORMAT.md, "Events")."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google_crc32c

from tensortap.core.errors import DamagedError, DeniedError, InvalidValueError, NotFoundError
from tensortap.core.names import is_worker_name
from tensortap.core.text import counted
from tensortap.storage.files import (
    FileReader,
    check_not_removed,
    create,
    sync_folder,
    truncate,
    write_all,
)
from tensortap.storage.filesystem import exists

from .layout import foreign_text, is_foreign

ROTATE = 64 << 20  # bytes of one file
MAX_LINE = 1 << 20  # bytes; longer ones are neither written nor read
_MAX_FILE = 4 * ROTATE  # bytes; what comes after is not read
_POLL = 8 << 20  # bytes read at a time
_SURROGATE = re.compile("[\ud800-\udfff]")
_HEAD = b'{"crc32c": "'
_START = len(_HEAD) + 8 + len(b'", ')  # of the checksummed bytes


def events_path(worker_dir: Path, number: int) -> Path:
    """Path of events file `number` of a worker."""
    return worker_dir / f"events-{number:06d}.jsonl"


def encode_event(record: Mapping[str, Any]) -> bytes:
    """One line.

    Raises:
        InvalidValueError: the record is empty, no JSON, or longer than a line may be.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"An event is not valid JSON: {error}.") from error
    # What no UTF-8 can hold becomes the text of its escape, as everywhere in a dump.
    rest = _SURROGATE.sub(_escape, text[1:]).encode()
    if not record or len(rest) + _START >= MAX_LINE:
        raise InvalidValueError(
            f"An event of {len(rest)} bytes is not valid.", f"The limit is {MAX_LINE} bytes."
        )
    return _HEAD + b"%08x" % google_crc32c.value(rest) + b'", ' + rest + b"\n"


def incomplete_line(pending: int) -> str:
    """A sentence about `EventsTail.pending` bytes."""
    return f"its events end in an incomplete line of {pending:,} bytes: unfinished, or damaged."


def _escape(lone: re.Match[str]) -> str:
    return f"\\\\u{ord(lone[0]):04x}"


def decode_event(line: bytes) -> dict[str, Any]:
    """A line without its end.

    Raises:
        DamagedError: its checksum does not fit, or it holds no object.
    """
    rest = line[_START:]
    if line[:_START] != b'%s%08x", ' % (_HEAD, google_crc32c.value(rest)):
        raise DamagedError("A line does not match its checksum.")
    try:
        found = json.loads(b"{" + rest)
    except (ValueError, RecursionError) as error:
        raise DamagedError("A line is not JSON.") from error
    if not isinstance(found, dict):
        raise DamagedError("A line is not a JSON object.")
    return found


class EventsWriter:
    """Appends events of one worker; the file is made with the first. Not thread safe: the caller locks."""

    def __init__(self, worker_dir: Path, fsync: bool) -> None:
        self._dir = worker_dir
        self._fsync = fsync
        self._number = 0
        self._fd: int | None = None
        self._size = 0
        self.written = 0  # events

    def append(self, record: Mapping[str, Any]) -> None:
        """Writes one event, at once.

        Raises:
            InvalidValueError: it cannot be a line. OSError: the disk refused; the event is lost.
        """
        line = encode_event({**record, "number": self.written, "worker": self._dir.name})
        self._leave_removed()
        if self._fd is None:
            self._fd = create(events_path(self._dir, self._number))
            self._size = 0
            if self._fsync:
                sync_folder(self._dir)
        try:
            write_all(self._fd, line, self._size)
            if self._fsync:
                os.fsync(self._fd)
        except OSError:
            truncate(self._fd, self._size)
            raise
        self._size += len(line)
        self.written += 1
        self.end_segment(ROTATE)

    def _leave_removed(self) -> None:
        """Continues in a new file if this one was removed; fails while its folder is missing."""
        if self._fd is not None:
            try:
                check_not_removed(self._fd, events_path(self._dir, self._number))
            except FileNotFoundError:
                self.abandon()
                self._number += 1

    def end_segment(self, least: int) -> None:
        """Continues in a new file if this one has `least` bytes."""
        if self._fd is not None and self._size >= least:
            self.abandon()
            self._number += 1

    @property
    def path(self) -> Path | None:
        """The file that is being written, if there is one."""
        return None if self._fd is None else events_path(self._dir, self._number)

    def abandon(self) -> None:
        """Closes the file without an end mark."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
        self._fd = None


class EventsTail:
    """Reads the events of one worker, from the first on and as they appear.

    Attributes:
        damage: sentences about lines that had to be skipped.
        denied: a sentence about an unreadable file, which also blocks later files; or None.
        pending: bytes of a last line that may still be completed.
    """

    def __init__(self, run_dir: Path | str, worker: str) -> None:
        if not is_worker_name(worker):
            raise NotFoundError(f"{worker[:120]!r} is not a worker.")
        self.pending = 0
        self.damage: list[str] = []
        self.denied: str | None = None
        self._worker = worker
        self._dir = Path(run_dir) / worker
        self._number = 0
        self._offset = 0
        self._next = 0  # number of the next event
        self._skipped = False  # a line before it

    @property
    def problems(self) -> list[str]:
        """`damage` and `denied`."""
        return [*self.damage, *([] if self.denied is None else [self.denied])]

    def poll(self) -> list[dict[str, Any]]:
        """New events since the last call, at most about 8 MB; call again until the result is empty."""
        while True:
            has_next = exists(events_path(self._dir, self._number + 1))
            denied = None
            try:
                with FileReader(events_path(self._dir, self._number)) as file:
                    found = self._read(file, has_next)
            except DeniedError as error:  # tried again
                found, has_next, denied = [], False, f"{self._worker}/{error}"
            except (FileNotFoundError, DamagedError) as error:
                found = []
                if isinstance(error, DamagedError) and not self.damage:
                    self._report(error.message)
            self.denied = denied
            if found or not has_next:
                return found
            self._number, self._offset = self._number + 1, 0

    def _read(self, file: FileReader, final: bool) -> list[dict[str, Any]]:
        """Whole lines from the offset on; an incomplete last line is left for the next poll."""
        found: list[dict[str, Any]] = []
        self.pending = 0
        while not found and self._offset < file.size:
            if self._offset >= _MAX_FILE:  # a file with holes can be of any length
                self._report(f"{file.size - self._offset} bytes skipped: the events file is too long.")
                self._offset = file.size
                break
            data = file.read(self._offset, _POLL)
            end = data.rfind(b"\n") + 1
            if not end:
                if not final and len(data) < MAX_LINE:
                    self.pending = len(data)  # a line that is still being written
                    break
                self._report(f"{len(data)} bytes skipped. A line is too long or has no line break.")
                self._skipped = True
                self._offset += len(data)
                continue
            for line in data[: end - 1].split(b"\n"):
                found += self._decoded(line)
            self._offset += end
        return found

    def _decoded(self, line: bytes) -> list[dict[str, Any]]:
        try:
            if len(line) >= MAX_LINE:
                raise DamagedError("A line is too long.")
            event = decode_event(line)
        except DamagedError as error:
            self._report(f"{len(line)} bytes skipped. {error.message}")
            self._skipped = True
            return []
        owner = {"worker": event.pop("worker", None)}
        if is_foreign(self._worker, owner):
            self._skipped = True
            text = f"Lines are skipped. {foreign_text(owner)}"
            if not any(text in sentence for sentence in self.damage):
                self._report(text)
            return []
        return [event] if self._follows(event.pop("number", None)) else []

    def _follows(self, number: Any) -> bool:
        """Whether an event is new, by its number; those of version 1.0 have none. Reports missing ones."""
        if not isinstance(number, int):
            return True
        if number < self._next:
            self._report("A line that repeats an earlier one is skipped.")
            return False
        if number > self._next and not self._skipped:
            self._report(f"{counted(number - self._next, 'event')} missing before this line.")
        self._next, self._skipped = number + 1, False
        return True

    def _report(self, what: str) -> None:
        name = events_path(self._dir, self._number).name
        self.damage.append(f"{self._worker}/{name}, from byte {self._offset}: {what}")
