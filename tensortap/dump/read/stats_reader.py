"""Follows a worker's statistics files while they grow (FORMAT.md, "Reading while it is written")."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, DeniedError, NotFoundError
from tensortap.core.names import is_worker_name
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import exists

from ..format.frames import (
    EOS,
    Frame,
    Resync,
    TruncatedError,
    WrongChecksumError,
    read_frame,
    read_schema_message,
)
from ..format.layout import foreign_text, is_foreign, stats_path
from ..format.record_batches import (
    KNOWN_STATISTICS,
    Layout,
    decode_statistics,
    statistics_layout,
)

READ_AHEAD = 256 << 10  # a commit takes three reads
GROUP_BYTES = 8 << 20  # decoded at once: some 150 commits of 100 rows, or one of any size


@dataclass(frozen=True, slots=True)
class Commit:
    """One record batch, and where it is: `length` bytes at `offset` of statistics file `file`."""

    worker: str
    file: int
    offset: int
    length: int
    batch: pa.RecordBatch
    status: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TailPosition:
    """How far a worker's statistics were read: up to byte `offset` of file `file`, whose commits have the
    schema checksum `schema` (None: no commit read yet), with the totals so far."""

    file: int
    offset: int
    schema: int | None
    dropped: int
    damage: tuple[str, ...]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> TailPosition:
        """The inverse of `asdict`, from JSON too. Raises TypeError, KeyError: the record is another one."""
        return cls(**{**record, "damage": tuple(map(str, record["damage"]))})


class StatsTail:
    """Reads the commits of one worker, from the first on and as they appear.

    Attributes:
        damage: sentences about what had to be skipped.
        pending: a sentence about a torn tail that may still be completed, or None.
        broken: `pending` is not the beginning of a commit, so no killed worker wrote it.
        denied: a sentence about an unreadable file, which also blocks later files; or None.
        closed: the worker ended its last file in order.
        dropped: snapshots the worker says it lost.
    """

    def __init__(self, run_dir: Path | str, worker: str) -> None:
        if not is_worker_name(worker):
            raise NotFoundError(f"{worker[:120]!r} is not a worker.")
        self.damage: list[str] = []
        self.pending: str | None = None
        self.broken = False
        self.denied: str | None = None
        self.closed = False
        self.dropped = 0
        self.worker = worker
        self._numbers = _Numbers()
        self._foreign_file = -1
        self._dir = Path(run_dir) / worker
        self._decoded = 0  # bytes, in this poll
        self._go_to(0)

    def _go_to(self, number: int) -> None:
        self._file = number
        self._offset = 0
        self._layout: Layout | None = None  # of this file's commits
        self._resync = Resync()
        self.closed = False

    @property
    def position(self) -> TailPosition:
        """How far was read; `resume` continues there, also in another process."""
        schema = None if self._layout is None else self._layout.crc
        return TailPosition(self._file, self._offset, schema, self.dropped, tuple(self.damage))

    def resume(self, position: TailPosition) -> None:
        """Continues at a position. The files before it must be the same as then.

        Raises:
            DamagedError, FileNotFoundError: the schema of the file at that position has changed.
        """
        self._go_to(position.file)
        self._offset = position.offset
        self.dropped, self.damage = position.dropped, list(position.damage)
        if position.schema is None:
            return
        self._layout = KNOWN_STATISTICS.get(position.schema)
        if self._layout is None:
            with FileReader(stats_path(self._dir, self._file)) as file:
                self._layout = statistics_layout(read_schema_message(file))
            if self._layout.crc != position.schema:
                raise DamagedError(f"The schema of {self.worker} has changed.")

    def poll(self, columns: Sequence[str] | None = None, max_bytes: int | None = None) -> list[Commit]:
        """All commits that are new since the last call.

        Args:
            columns: decode only these; `read_commit` fetches the others when they are needed.
            max_bytes: stop at this size of decoded columns; call again until the result is empty.
        """
        commits: list[Commit] = []
        self._decoded = 0
        while True:
            # Looked for first: if the next file exists now, this one is complete.
            has_next = exists(stats_path(self._dir, self._file + 1))
            self.broken = False
            try:
                with FileReader(stats_path(self._dir, self._file), READ_AHEAD) as file:
                    finished = self._read_file(file, commits, columns, has_next, max_bytes)
            except DeniedError as error:  # try again even if others follow: skipped frames stay skipped
                self.pending, self.denied = None, f"{self.worker}/{error}"
                return commits
            except (FileNotFoundError, DamagedError) as error:
                finished = has_next
                self.denied = None
                self.pending = error.message if isinstance(error, DamagedError) else None
                self.broken = self.pending is not None  # as a link
                if has_next:
                    self._report(0, self.pending or "The file is missing.")
            except OSError:
                if not commits:
                    raise
                return commits  # they are counted as read; the next poll meets the failure again
            if not (finished and has_next):
                return commits
            self._go_to(self._file + 1)

    def _read_file(
        self,
        file: FileReader,
        commits: list[Commit],
        columns: Sequence[str] | None,
        final: bool,
        max_bytes: int | None,
    ) -> bool:
        """Reads on in a file; `final`: it has a successor. Returns whether its end was reached."""
        self.pending = self.denied = None
        self.closed = False
        if self._layout is None and not self._read_schema(file, final):
            return final
        finished: bool | None = None
        while finished is None:
            if max_bytes is not None and self._decoded >= max_bytes:
                return False
            frames, finished = self._gather(file, final, min(max_bytes or GROUP_BYTES, GROUP_BYTES))
            self._take(frames, commits, columns)
        return finished

    def _gather(self, file: FileReader, final: bool, limit: int) -> tuple[list[Frame], bool | None]:
        """Commits from the offset on that `Layout.check` accepts, until they decode to `limit` bytes.

        Also returns what `_read_file` does, or None where the file continues behind them.
        """
        assert self._layout is not None
        frames: list[Frame] = []
        decoded = 0
        while self._offset < file.size and decoded < limit:
            try:
                frame = self._next_frame(file, final)
            except OSError:
                if not frames:
                    raise
                return frames, None  # the next call meets it again
            if frame is None:
                return frames, final
            if frame.kind == "eos":  # stays where it is: the next poll looks whether it still ends here
                self._offset = frame.offset
                self.closed = True
                return frames, True
            try:
                decoded += self._layout.check(frame)
                frames.append(frame)
            except DamagedError as error:
                self._report_commit(frame, error)
            self._offset = frame.end
        return frames, None if self._offset < file.size else True

    def _next_frame(self, file: FileReader, final: bool) -> Frame | None:
        """The frame at the offset, or the next one after damage; None if the rest is pending or lost."""
        found = None
        torn = False
        try:
            frame = read_frame(file, self._offset)
            if frame.kind == "batch" or frame.end == file.size:
                return frame
            reason = "The stream ends here, but the file continues."
        except WrongChecksumError as error:
            reason = error.message
            found = _end_mark(file, self._offset + error.length)
        except DamagedError as error:
            reason, torn = error.message, isinstance(error, TruncatedError)
        found = found or self._resync.after(file, self._offset)
        rest = file.size - self._offset
        if found is not None:
            self._report(self._offset, f"{found.offset - self._offset} bytes skipped. {reason}")
        elif final:
            self._report(self._offset, f"{rest} bytes at the end skipped. {reason}")
            self._offset = file.size
        else:
            what = "not committed yet: their write is unfinished, or they are damaged."
            what = what if torn else f"not a valid commit. {reason}"
            self.pending, self.broken = f"{rest} bytes at the end of {file.path.name} are {what}", not torn
        return found

    def _read_schema(self, file: FileReader, final: bool) -> bool:
        """Finds the schema that this file's commits confirm; False while none is confirmed."""
        for known in KNOWN_STATISTICS.values():
            if file.read(0, len(known.message)) == known.message:
                self._layout, self._offset = known, len(known.message)
                return True
        if file.size == 0 and not final:
            return False
        first = self._resync.after(file, 7)
        vouched = first.schema_crc if first is not None and first.kind == "batch" else None
        layout = _layout_at_start(file)
        if layout is not None and layout.crc == vouched:
            self._layout, self._offset = layout, len(layout.message)
        elif first is not None and vouched in KNOWN_STATISTICS:
            self._report(0, "the schema is damaged; a known schema named by the commits is used instead.")
            self._layout, self._offset = KNOWN_STATISTICS[vouched], first.offset
        elif final:
            self._report(0, "no commit confirms the schema; the file is skipped.")
            self._offset = file.size
        else:
            self.pending = f"The schema of {file.path.name} is not committed yet."
        return self._layout is not None

    def _take(self, frames: list[Frame], commits: list[Commit], columns: Sequence[str] | None) -> None:
        """Decodes commits together; one by one if any of them is invalid, to find which."""
        assert self._layout is not None
        if not frames:
            return
        try:
            wanted = columns if columns is None or "seq" in columns else [*columns, "seq"]
            batches = decode_statistics(frames, self._layout, wanted)
        except DamagedError as error:
            if len(frames) == 1:
                self._report_commit(frames[0], error)
            else:
                for frame in frames:
                    self._take([frame], commits, columns)
            return
        self._decoded += sum(batch.get_total_buffer_size() for batch in batches)
        for frame, batch in zip(frames, batches, strict=True):
            status = parse_status(frame)
            if is_foreign(self.worker, status):
                self._report_foreign(frame, status)
                continue
            if not self._numbers.add(batch.column("seq").to_numpy()):
                self._report(frame.offset, "one commit skipped. It repeats snapshots of an earlier one.")
                continue
            self.dropped = max(self.dropped, status["dropped"])
            found = batch if wanted is columns else batch.drop_columns(["seq"])
            commits.append(Commit(self.worker, self._file, frame.offset, len(frame.data), found, status))

    def _report_commit(self, frame: Frame, error: DamagedError) -> None:
        self._report(frame.offset, f"one commit skipped. {error.message}")

    def _report_foreign(self, frame: Frame, status: dict[str, Any]) -> None:
        """Reports the first skipped commit of each file that belongs to another worker."""
        if self._foreign_file != self._file:
            self._foreign_file = self._file
            self._report(frame.offset, f"its commits are skipped. {foreign_text(status)}")

    def _report(self, offset: int, what: str) -> None:
        self.damage.append(f"{self.worker}/{stats_path(self._dir, self._file).name}, byte {offset}: {what}")


class _Numbers:
    """The numbers (`seq`) of the snapshots that were read, as ranges: mostly one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, numbers: Array) -> bool:
        """Notes those of a commit, from its first to its last; returns False if one was there before."""
        if not len(numbers):
            return True
        start, end = int(numbers.min()), int(numbers.max()) + 1
        at = bisect_left(self._starts, start)
        if (at and self._ends[at - 1] > start) or (at < len(self._starts) and self._starts[at] < end):
            return False
        if at and self._ends[at - 1] == start:
            self._ends[at - 1] = end
        else:
            self._starts.insert(at, start)
            self._ends.insert(at, end)
        return True


def _end_mark(file: FileReader, offset: int) -> Frame | None:
    """The EOS, if the file ends with one at `offset`."""
    return Frame("eos", offset, EOS) if file.read(offset, 9) == EOS else None


def _layout_at_start(file: FileReader) -> Layout | None:
    try:
        return statistics_layout(read_schema_message(file))
    except DamagedError:
        return None


def parse_status(frame: Frame) -> dict[str, Any]:
    """The `status` object of a commit; `dropped` is always there."""
    text = frame.message.custom.get(b"status", b"{}") if frame.message is not None else b"{}"
    try:
        status = json.loads(text)
    except (ValueError, RecursionError):
        status = {}
    if not isinstance(status, dict):
        status = {}
    dropped = status.get("dropped")
    status["dropped"] = dropped if isinstance(dropped, int) and dropped >= 0 else 0
    return status


def read_commit(
    run_dir: Path | str,
    worker: str,
    file: int,
    offset: int,
    length: int,
    columns: Sequence[str] | None = None,
) -> pa.RecordBatch:
    """Reads one commit again, with all its columns, or those in `columns`.

    Raises:
        DamagedError: it is not there any more, or fails its checks.
    """
    if not is_worker_name(worker) or not 0 <= file < 1_000_000:
        raise DamagedError(f"Worker {worker[:80]!r} or statistics file {file} is not a valid name.")
    path = stats_path(Path(run_dir) / worker, file)
    try:
        with FileReader(path) as source:
            frame = read_frame(source, offset)
            if frame.kind != "batch" or len(frame.data) != length:
                raise DamagedError(f"There is no commit of {length} bytes at byte {offset} of {path.name}.")
            layout = KNOWN_STATISTICS.get(frame.schema_crc) or statistics_layout(read_schema_message(source))
    except FileNotFoundError as error:
        raise DamagedError(f"{path.name} is missing.", "Copy the run again, with all its files.") from error
    layout.check(frame)
    if is_foreign(worker, status := parse_status(frame)):
        raise DamagedError(f"{path.name}: {foreign_text(status)}")
    return decode_statistics([frame], layout, columns)[0]
