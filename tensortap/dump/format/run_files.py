"""The JSON files of a run and its workers: `run.json`, `worker.json`, `closed.json` (FORMAT.md)."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from pathlib import Path
from typing import Any

from tensortap.core.errors import (
    DamagedError,
    FormatVersionError,
    NotARunError,
    RemoteReadError,
    TensortapError,
)
from tensortap.core.text import counted
from tensortap.storage.entry import Entry
from tensortap.storage.files import publish, publish_json, read_json
from tensortap.storage.filesystem import exists, stat_path
from tensortap.storage.uri import shown_path
from tensortap.system.locks import is_gone
from tensortap.system.redaction import recorded_command

from .layout import foreign_text, is_foreign, stats_path
from .schema import MINOR, VERSION

RUN_FILE = "run.json"
WORKER_FILE = "worker.json"
CLOSED_FILE = "closed.json"
STARTED = ".started"  # ends the name of an empty file beside a worker's folder
OTHER_RUN = f"{RUN_FILE} belongs to another run. Copy it again."
LIVE_SECONDS = 60.0  # a worker that has not closed and wrote so recently counts as live
# So long a worker of this host counts as live even if no process has its number: it may run in a container.
UNSEEN_SECONDS = 5.0
RANK_BITS = 20  # of the number of a process in its job
UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Content of `run.json`. `created` is 1970-01-01 if it is unreadable.

    Attributes:
        damage: a sentence about damage of `run.json`; the other fields then come from the workers.
        denied: whether the only problem is that this user has no permission to read it.
        id: of the run, which its workers name; empty in format 1.0, and if none names it.
    """

    run: str
    created: datetime
    info: dict[str, Any]
    version: int
    damage: str = ""
    denied: bool = False
    id: str = ""

    @property
    def described(self) -> bool:
        """Whether `run.json` is there and could be read."""
        return not self.damage and self.created > UNKNOWN_TIME


def ensure_run(run_dir: Path, run: str, info: dict[str, Any]) -> None:
    """Makes the run's directory and `run.json`, unless another worker did.

    Raises:
        NotARunError, FormatVersionError: a `run.json` is there that this version cannot add to.
        OSError: the directory cannot be made.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    if not (run_dir / RUN_FILE).exists():
        facts = {
            "host": socket.gethostname(),
            "python": platform.python_version(),
            "command": recorded_command(),
        }
        record = {
            "format": "tensortap",
            "version": VERSION,
            "minor": MINOR,
            "run": run,
            "id": uuid.uuid4().hex[:16],
            "created": _now(),
            "info": facts | info,
        }
        publish_json(run_dir / RUN_FILE, record, replace=False)
    read_run_info(run_dir)


def read_run_info(path: Path) -> RunInfo:
    """Reads `run.json`.

    Raises:
        NotARunError: there is none, or it is not a dump's.
        FormatVersionError: the dump is of a later version. RemoteReadError: its address fails.
    """
    try:
        record = read_json(path / RUN_FILE)
    except RemoteReadError:  # it may be there
        raise
    except (OSError, DamagedError) as error:
        why = error if isinstance(error, DamagedError) else "it has no run.json."
        raise NotARunError(
            f"{shown_path(path)} is not a run: {why}",
            "Pass a directory that a tensortap writer created, or its parent.",
        ) from error
    version = record.get("version")
    if record.get("format") != "tensortap" or not isinstance(version, int) or version < 1:
        raise NotARunError(f"{shown_path(path / RUN_FILE)} does not describe a tensortap run.")
    if version > VERSION:
        where = shown_path(path)
        raise FormatVersionError(
            f"{where} is a dump with version {version}; this tensortap reads version {VERSION} and older.",
            "Upgrade with: pip install --upgrade tensortap",
        )
    name = record.get("run")
    return RunInfo(
        name if isinstance(name, str) else path.name,
        _time(record.get("created")),
        _info(record),
        version,
        id=_run_id(record.get("id")),
    )


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Content of `worker.json`; where it is missing or damaged, facts from the worker's name."""

    worker: str
    host: str
    pid: int
    rank: int | None
    started: datetime
    info: dict[str, Any]
    minor: int = 0  # of the format that it wrote; 0 where that is lost
    damage: str = ""  # a sentence about damage of `worker.json`
    run_id: str = ""  # `RunInfo.id`; empty where that is lost

    @property
    def is_gone(self) -> bool:
        """Whether its process was on this host and has ended. False if unknown."""
        return is_gone(self.host, self.pid)

    def is_live(self, folder: Path, entries: Sequence[Entry]) -> bool:
        """Whether it may still write, if it has not closed: by the age of what is in its folder."""
        limit = UNSEEN_SECONDS if self.is_gone else LIVE_SECONDS
        return time.time() - _last_write(folder, entries) / 1e9 < limit


def _last_write(folder: Path, entries: Sequence[Entry]) -> int:
    """Nanoseconds since 1970; 0 if unknown. Listings of web servers have no folder times, so the newest file
    counts."""
    dated = [entry.mtime_ns for entry in entries if entry.is_dated]
    undated = [entry.name for entry in entries if not entry.is_dated and entry.name.startswith("stats-")]
    if undated:
        with contextlib.suppress(OSError, DamagedError):  # it is just being removed
            newest = stat_path(folder / max(undated))
            dated += [newest.mtime_ns] if newest.is_dated else []
    return max(dated, default=0)


def write_worker(folder: Path, rank: int | None, info: dict[str, Any]) -> None:
    """Writes `worker.json` of this process into its folder, and marks beside it that there is this worker.

    Raises OSError.
    """
    run_id = ""
    with contextlib.suppress(TensortapError, OSError):  # a damaged run.json stops no writer that is at work
        run_id = read_run_info(folder.parent).id
    record = {
        "worker": folder.name,
        "run_id": run_id,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "rank": rank,
        "started": _now(),
        "minor": MINOR,
        "info": info,
    }
    publish_json(folder / WORKER_FILE, record)
    publish(folder.with_name(folder.name + STARTED), b"")


def read_worker(run_dir: Path, name: str) -> WorkerInfo:
    """Reads the `worker.json` of a worker; without one, uses the parts of its name."""
    reason, record = "", dict[str, Any]()
    try:
        record = read_worker_file(run_dir / name)
    except FileNotFoundError:  # in a folder without statistics a process was stopped as it began
        reason = f"{WORKER_FILE} is missing." if exists(stats_path(run_dir / name, 0)) else ""
    except RemoteReadError:
        pass
    except DamagedError as error:
        reason = error.message
    except OSError as error:
        reason = f"{WORKER_FILE} cannot be read: {error.strerror}."
    damage = f"{name}: {reason} Host and pid are taken from the folder name." if reason else ""
    return worker_info(name, record, damage)


def read_worker_file(folder: Path) -> dict[str, Any]:
    """Read the content of `worker.json`.

    Raises:
        OSError: it cannot be read. DamagedError: it is damaged, or another worker's.
    """
    record = read_json(folder / WORKER_FILE)
    if is_foreign(folder.name, record):
        raise DamagedError(f"{WORKER_FILE}: {foreign_text(record)}")
    if "worker" not in record:  # as of a run.json in its place, whose checksum is right
        raise DamagedError(f"{WORKER_FILE} names no worker. Copy the run again.")
    return record


def is_rank(rank: Any) -> bool:
    """Whether it is the number of a process in a job; readers make a list of all below it."""
    return isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << RANK_BITS


def worker_info(name: str, record: dict[str, Any], damage: str = "") -> WorkerInfo:
    """A worker from the content of its `worker.json`."""
    host, pid, _ = name.rsplit("-", 2)
    rank, minor = record.get("rank"), record.get("minor")
    return WorkerInfo(
        worker=name,
        host=str(record.get("host", host)),
        pid=int(pid),
        rank=rank if is_rank(rank) else None,
        started=_time(record.get("started")),
        info=_info(record),
        minor=minor if isinstance(minor, int) else 0,
        damage=damage,
        run_id=_run_id(record.get("run_id")),
    )


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """How many snapshots and events a worker had written when it was closed, and how many it had lost.

    `events` is None where it does not say: version 1.0.
    """

    snapshots: int
    dropped: int
    events: int | None = None


def write_closing(worker_dir: Path, closing: WorkerSummary) -> None:
    """Writes `closed.json`, after all the files that it counts. Raises OSError."""
    record: dict[str, Any] = {
        "worker": worker_dir.name,
        "closed": _now(),
        "snapshots": closing.snapshots,
        "dropped": closing.dropped,
    }
    if closing.events is not None:
        record["events"] = closing.events
    publish_json(worker_dir / CLOSED_FILE, record)


def read_closing(worker_dir: Path) -> WorkerSummary | None:
    """Reads the `closed.json` of a worker; None without one: not closed, or by an older version.

    Raises:
        DamagedError: the file is invalid, or another worker's.
    """
    try:
        record = read_json(worker_dir / CLOSED_FILE)
    except FileNotFoundError:
        return None
    if is_foreign(worker_dir.name, record):
        raise DamagedError(f"{CLOSED_FILE}: {foreign_text(record)}")
    counts = [record.get(name) for name in ("snapshots", "dropped")]
    counts.append(record.get("events", 0))
    snapshots, dropped, events = (
        count if isinstance(count, int) and not isinstance(count, bool) else -1 for count in counts
    )
    if min(snapshots, dropped, events) < 0:
        raise DamagedError(f"{CLOSED_FILE} does not say how many snapshots there are.")
    return WorkerSummary(snapshots, dropped, events if "events" in record else None)


def wrong_count(worker: str, what: str, there: int, said: int) -> str:
    """A sentence if other than the `said` number of snapshots or events of a closed worker can be read, or
    empty."""
    if there == said:
        return ""
    can = f"{counted(there, what)} of {said:,} can be read"
    why = "damaged or truncated" if there < said else "damaged: some appear twice"
    return f"{worker}: {can}: its files are {why}. Copy them again."


def wrong_total(worker_dir: Path, there: int) -> list[str]:
    """Sentences if a worker that ended its statistics did not write the `there` snapshots that can be
    read."""
    try:
        closing = read_closing(worker_dir)
    except DamagedError as error:
        return [f"{worker_dir.name}: {error}"]
    except OSError:
        return []
    found = "" if closing is None else wrong_count(worker_dir.name, "snapshot", there, closing.snapshots)
    return [found] if found else []


def _time(text: Any) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return UNKNOWN_TIME
    if not UNKNOWN_TIME.year < found.year < MAXYEAR:  # in local time it must be a date too
        return UNKNOWN_TIME
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _run_id(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _info(record: dict[str, Any]) -> dict[str, Any]:
    info = record.get("info")
    return info if isinstance(info, dict) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat()
