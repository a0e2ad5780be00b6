"""What a worker says when it is closed, so that what is lost later is missed (FORMAT.md, "Workers")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tensortap.core.errors import DamagedError
from tensortap.storage.files import publish_json, read_json

CLOSED_FILE = "closed.json"


@dataclass(frozen=True, slots=True)
class Closing:
    """How many snapshots a worker had committed when it was closed, and how many it had lost."""

    snapshots: int
    dropped: int


def write_closing(worker_dir: Path, closing: Closing) -> None:
    """Writes `closed.json`, behind everything that it counts. Raises OSError."""
    record = {
        "closed": datetime.now(UTC).isoformat(),
        "snapshots": closing.snapshots,
        "dropped": closing.dropped,
    }
    publish_json(worker_dir / CLOSED_FILE, record)


def read_closing(worker_dir: Path) -> Closing | None:
    """What a worker said when it was closed; None where it was not, or written before there was such a file.

    Raises:
        DamagedError: the file makes no sense.
    """
    try:
        record = read_json(worker_dir / CLOSED_FILE)
    except FileNotFoundError:
        return None
    counts = [record.get(name) for name in ("snapshots", "dropped")]
    snapshots, dropped = (
        count if isinstance(count, int) and not isinstance(count, bool) else -1 for count in counts
    )
    if min(snapshots, dropped) < 0:
        raise DamagedError(f"{CLOSED_FILE} does not say how many snapshots there are.")
    return Closing(snapshots, dropped)
